"""Carries out a call on an agent: which routine answers which message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agent import Agent
from reglue.calls import (
    Actions,
    Adapt,
    AdaptBegin,
    Call,
    Cleanup,
    Done,
    Farewell,
    Freeze,
    Hello,
    Init,
    Message,
    Refusal,
    Reply,
    Turn,
)
from reglue.errors import NotAnAgent
from reglue.goals import shown_goals
from reglue.spec import TaskSpec, TensorSpec
from reglue.version import sdk


def hello(agent: Agent, name: str) -> Hello:
    """What `agent` says of itself."""
    return Hello(
        agent=name[:200],
        sdk=sdk(),
        max_slots=agent.max_slots,
        partial_turns=agent.partial_turns,
        adapts=agent.adapts,
        episodic=agent.episodic,
    )


def play(agent: Agent, call: Call) -> Reply | None:
    """Call the routine; None for calls that are not answered.

    Whatever the agent raises is passed on.
    """
    match call:
        case Turn():
            agent.phase = call.phase
            if agent.seen_goals is not None:
                agent.seen_goals.see(call)
            return _actions(agent.spec, agent.turn(call))
        case Init(spec):
            agent.spec = spec
            agent.seen_goals = shown_goals(spec)
            agent.agent_init(spec)
        case Freeze():
            agent.agent_freeze()
        case AdaptBegin():
            agent.adapt_begin()
        case Adapt():
            agent.adapt()
        case Message(text):
            return Message(agent.agent_message(text) or "")
        case Cleanup():
            agent.agent_cleanup()
        case Refusal() | Farewell():
            return None
    return Done()


def _actions(spec: TaskSpec, answer: Any) -> Actions:
    """The answer as named arrays of the spec's dtypes; row counts are the glue's to check."""
    abandon: tuple[int, ...] = ()
    if isinstance(answer, Actions):
        answer, abandon = answer.arrays, answer.abandon
    if answer is None:
        raise NotAnAgent("the answer to a turn is None; does every routine return its actions?")
    if isinstance(answer, np.ndarray) or not isinstance(answer, Mapping):
        answer = {spec.actions[0].name: answer}
    arrays = {}
    for tensor in spec.actions:
        arrays[tensor.name] = _cast(tensor, answer.get(tensor.name, ()))
    if answer and answer.keys() != arrays.keys():
        raise NotAnAgent(f"the answer has tensors {sorted(answer)}, wanted {sorted(arrays)}")
    return Actions(arrays, abandon)


def _cast(tensor: TensorSpec, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A copy in the spec's dtype: agents may use their arrays again.

    Whole numbers must stay what they are.
    """
    given = np.asarray(value)
    if given.dtype == tensor.numpy_dtype:
        return given.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        cast = given.astype(tensor.numpy_dtype)
    if cast.dtype.kind != "f" and not np.array_equal(cast, given):
        raise NotAnAgent(f"action {tensor.name!r}: {given} does not fit {tensor.dtype}")
    return cast
