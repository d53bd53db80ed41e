"""Accepts agents: an Agent, a function of a batch, or another library's object."""

from __future__ import annotations

from reglue.agents.agent import Agent, Policy
from reglue.agents.metaworld import MetaWorldAgent
from reglue.agents.model_agent import ModelAgent, is_model
from reglue.agents.torch_policy import TorchPolicy, is_module
from reglue.errors import NotAnAgent
from reglue.signatures import check_routines


def agent_of(candidate: object) -> Agent:
    """The `reglue.Agent` that plays `candidate`.

    Args:
        candidate: an Agent; a function of a batch of observations, as Policy takes; a model or
            policy of Stable-Baselines3, which plays deterministically; its method `predict`, which
            samples; a `torch.nn.Module` whose outputs are actions; or an object with Meta-World's
            `eval_action` and `reset`.

    Raises NotAnAgent, which says what is missing.
    """
    if isinstance(candidate, Agent):
        check_agent(candidate)
        return candidate
    if isinstance(candidate, type):
        raise NotAnAgent(got=f"the class {candidate.__name__}", wanted="an object of it")
    if callable(getattr(candidate, "eval_action", None)):
        if not callable(getattr(candidate, "reset", None)):
            name = type(candidate).__name__
            raise NotAnAgent(f"{name} lacks reset(); Meta-World's agents have it, if only empty")
        return MetaWorldAgent(candidate)
    if is_model(candidate):
        return ModelAgent(candidate)
    model = getattr(candidate, "__self__", None)
    if is_model(model) and candidate == model.predict:  # type: ignore[union-attr]
        return ModelAgent(model, deterministic=False)
    if is_module(candidate):
        return TorchPolicy(candidate)
    if callable(candidate):
        return Policy(candidate)
    raise NotAnAgent(
        f"{type(candidate).__name__} is no agent: derive it from reglue.Agent, or give a function "
        "of a batch of observations, a model with Stable-Baselines3's predict(), a "
        "torch.nn.Module, or an object with Meta-World's eval_action() and reset()"
    )


_STEPS = ("agent_start", "agent_step", "agent_end")
"""The methods that `Agent.turn` calls; an agent with a `turn` of its own needs none."""

_ROUTINES = (
    "agent_init agent_freeze agent_message agent_cleanup adapt_begin adapt turn check_task".split()
)


def check_agent(agent: Agent) -> None:
    """Raise NotAnAgent, naming the method, if `agent` cannot be called."""
    cls = type(agent)
    steps = _STEPS if cls.turn is Agent.turn else ()
    for name in steps[:2]:
        if getattr(cls, name) is getattr(Agent, name):
            raise NotAnAgent(
                f"{cls.__name__} lacks {name}(); write agent_start() and agent_step(), or turn()"
            )
    check_routines(agent, Agent, [*steps, *_ROUTINES], NotAnAgent)
