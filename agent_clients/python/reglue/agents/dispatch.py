"""Carries out a call on an agent: maps messages to routines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, shown_goals
from reglue.errors import NotAnAgent
from reglue.messages.agent import (
    Actions,
    Adapt,
    AdaptBegin,
    AgentHello,
    AgentInit,
    Call,
    Cleanup,
    Farewell,
    Freeze,
    Refusal,
    Reply,
    RoutineDone,
    TextMessage,
    Turn,
)
from reglue.spec import TaskSpec, TensorSpec, same_numbers
from reglue.version import sdk


def hello(agent: Agent, name: str) -> AgentHello:
    """The agent's declaration: its slots and abilities."""
    return AgentHello(
        agent=name[:200],
        sdk=sdk(),
        max_slots=agent.max_slots,
        partial_turns=agent.partial_turns,
        adapts=agent.adapts,
        episodic=agent.episodic,
    )


def play(agent: Agent, call: Call) -> Reply | None:
    """Call the routine; None for calls that are not answered. The agent's errors pass through."""
    match call:
        case Turn():
            agent.phase = call.phase
            if agent.seen_goals is not None:
                agent.seen_goals.see(call)
            rows = len(call.steps.slots) + len(call.starts.slots)
            return _actions(agent.spec, agent.turn(_own(call)), rows)
        case AgentInit(spec):
            agent.check_task(spec)
            agent.spec = spec
            agent.seen_goals = shown_goals(spec)
            agent.agent_init(spec)
        case Freeze():
            agent.agent_freeze()
        case AdaptBegin():
            agent.adapt_begin()
        case Adapt():
            agent.adapt()
        case TextMessage(text):
            return TextMessage(agent.agent_message(text) or "")
        case Cleanup():
            agent.agent_cleanup()
        case Refusal() | Farewell():
            return None
    return RoutineDone()


def _own(turn: Turn) -> Turn:
    """The message with arrays that the agent may write to: shared ones are copied."""
    for array in (turn.rewards, *turn.observations.values()):
        if not array.flags.writeable:
            return _copied(turn)
    return turn


def _copied(turn: Turn) -> Turn:
    own = {}
    for name, rows in turn.observations.items():
        own[name] = rows if rows.flags.writeable else rows.copy()
    rewards = turn.rewards if turn.rewards.flags.writeable else turn.rewards.copy()
    return Turn(turn.phase, turn.ends, turn.steps, turn.starts, rewards, own)


def _actions(spec: TaskSpec, answer: Any, rows: int) -> Actions:
    """The answer as named arrays of the spec's dtypes, (rows, *shape). Raises NotAnAgent."""
    abandon: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    if isinstance(answer, Actions):
        answer, abandon, held = answer.arrays, answer.abandon, answer.held
    if answer is None:
        raise NotAnAgent(
            "got None as the answer to a turn, wanted actions: does every routine return them?"
        )
    if isinstance(answer, np.ndarray) or not isinstance(answer, Mapping):
        answer = {spec.actions[0].name: answer}
    arrays = {}
    for tensor in spec.actions:
        if tensor.name not in answer and (answer or rows):
            _refuse_names(spec, answer)
        arrays[tensor.name] = _cast(tensor, answer.get(tensor.name, ()), rows)
    if len(answer) > len(arrays):
        _refuse_names(spec, answer)
    return Actions(arrays, abandon, held)


def _refuse_names(spec: TaskSpec, answer: Mapping[str, Any]) -> NoReturn:
    wanted = sorted(tensor.name for tensor in spec.actions)
    raise NotAnAgent(f"got actions {sorted(answer)}, wanted {wanted}")


def _cast(tensor: TensorSpec, value: npt.ArrayLike, rows: int) -> npt.NDArray[Any]:
    """A copy in the spec's dtype, (rows, *shape): agents may use their arrays again.

    Integers must keep their value. Axes of length 1 may be missing or extra, since they do not
    change the order of numbers.
    """
    wanted = (rows, *tensor.shape)
    if (
        type(value) is np.ndarray  # as most agents answer
        and value.dtype == tensor.numpy_dtype
        and value.shape == wanted
    ):
        return value.copy()
    try:
        given = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise NotAnAgent(f"action {tensor.name!r}: {error}") from None
    if given.shape != wanted:
        if not _is_same_order(given.shape, wanted):
            raise NotAnAgent(
                f"action {tensor.name!r}: got shape {given.shape}, wanted {wanted}: one row for "
                "each slot"
            )
        given = given.reshape(wanted)
    cast = same_numbers(given, tensor.numpy_dtype)
    if cast is None:
        raise NotAnAgent(f"action {tensor.name!r}: got {given}, wanted numbers of {tensor.dtype}")
    return cast.copy() if cast is given else cast


def _is_same_order(got: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the shapes differ only by axes of length 1, or both are empty."""
    if 0 in got and 0 in wanted:
        return True
    return [size for size in got if size != 1] == [size for size in wanted if size != 1]
