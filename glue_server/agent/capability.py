"""What an agent says that it cannot do, before it is asked to."""

from __future__ import annotations

from reglue.errors import BadReply
from reglue.messages.agent_messages import AgentHello
from reglue.spec import TaskSpec

ADAPTING_AGENT = (
    "one that says that it adapts, as this benchmark adapts agents before it judges "
    "them (C++: adapts of traits(); C: REGLUE_ADAPTS; Julia and TypeScript: adapts; "
    "Python: adapts = True; an agent that learns nothing may say so, and is judged "
    "as it is; of Meta-World's agents init(), adapt_action(), step() and adapt())"
)
"""What is wanted of an agent that cannot adapt."""


def incapability(hello: AgentHello, spec: TaskSpec, *, adapts: bool = False) -> BadReply | None:
    """Why an agent cannot play a task by its hello; None: nothing is known against it.

    `adapts` says that it is to adapt, as meta-learning benchmarks ask it to.
    """
    if not (spec.continuing or hello.episodic):
        return _lacks("an agent that takes no end of an episode", "one that does, for this task")
    if hello.max_slots and spec.slots > hello.max_slots:
        most = hello.max_slots
        return _lacks(f"at most {most} slots", f"{spec.slots}: run it in fewer")
    if adapts and not hello.adapts:
        return _lacks("an agent that cannot adapt", ADAPTING_AGENT)
    return None


def _lacks(got: str, wanted: str) -> BadReply:
    return BadReply("NOT_CAPABLE", got=got, wanted=wanted)
