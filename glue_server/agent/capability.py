"""Limits of an agent's abilities, as it declares them before it is asked to play."""

from __future__ import annotations

from collections.abc import Mapping

from reglue.errors import BadReply, MissingExtra, NotAnAgent, NotCapable
from reglue.messages.agent_messages import AgentHello
from reglue.spec import TaskSpec

_ADAPTS: Mapping[str, str] = {
    "cpp": "C++: adapts of traits()",
    "c": "C: REGLUE_ADAPTS",
    "julia": "Julia: adapts",
    "typescript": "TypeScript: adapts",
    "python": "Python: adapts = True, or the methods adapt_begin() or adapt(); of Meta-World's "
    "agents init(), adapt_action(), step() and adapt()",
}
"""The declaration that an agent adapts, by its SDK."""

_REFUSALS = tuple(f"{each.__name__}: " for each in (NotCapable, NotAnAgent, MissingExtra))


def refusal(fault: object) -> str | None:
    """The agent's reason why it cannot play the task; None if it failed otherwise.

    `fault` is what went wrong in its `agent_init`, whose text begins with the error's class.
    """
    text = str(fault)
    found = next((each for each in _REFUSALS if text.startswith(each)), None)
    return text.removeprefix(found) if found else None


def adapting_agent(hello: AgentHello) -> str:
    """The agent wanted in place of one that cannot adapt, in the words of its language if its SDK
    is one of ours.
    """
    ways = [f" ({way})" for name, way in _ADAPTS.items() if hello.sdk.startswith(f"reglue-{name} ")]
    return (
        "one that says that it adapts, as this benchmark adapts agents before it judges them"
        f"{''.join(ways)}; an agent that learns nothing may say so, and is judged as it is"
    )


def incapability(hello: AgentHello, spec: TaskSpec, *, adapts: bool = False) -> BadReply | None:
    """The reason in its hello why an agent cannot play a task; None: there is none.

    `adapts` says that it is to adapt, as meta-learning benchmarks ask it to.
    """
    if not (spec.continuing or hello.episodic):
        return _lacks("an agent that takes no end of an episode", "one that does, for this task")
    if hello.max_slots and spec.slots > hello.max_slots:
        most = hello.max_slots
        return _lacks(f"at most {most} slots", f"{spec.slots}: run it in fewer")
    if adapts and not hello.adapts:
        return _lacks("an agent that cannot adapt", adapting_agent(hello))
    return None


def _lacks(got: str, wanted: str) -> BadReply:
    return BadReply("NOT_CAPABLE", got=got, wanted=wanted)
