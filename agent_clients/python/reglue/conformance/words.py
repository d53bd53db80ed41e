"""The text form of what conformance programs report and receive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from reglue.conformance.rule import START, Bytes, fold, number_bytes, tensor_bytes
from reglue.experiments.routines import Trajectory
from reglue.messages.experiment_messages import Counts, Started, Stepped, Tasks
from reglue.spec import (
    Arrays,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)


def started_words(spec: TaskSpec, started: Started) -> str:
    """Slots, observations, and actions if the agent acts."""
    rows = len(started.slots)
    words = [slots_word(started.slots), rows_word(spec.observations, started.observations, rows)]
    if started.actions:
        words.append(rows_word(spec.actions, started.actions, rows))
    return " ".join(words)


def stepped_words(spec: TaskSpec, stepped: Stepped) -> str:
    """Slots, rewards, observations, flags, and actions if the agent acts."""
    rows = len(stepped.slots)
    flags = 1 * stepped.terminated + 2 * stepped.truncated + 4 * stepped.success
    words = [
        slots_word(stepped.slots),
        _word(number_bytes(stepped.rewards, "<f8")),
        rows_word(spec.observations, stepped.observations, rows),
        _word(number_bytes(flags, "<u1")),
    ]
    if stepped.actions:
        words.append(rows_word(spec.actions, stepped.actions, rows))
    return " ".join(words)


def trajectory_words(spec: TaskSpec, trajectory: Trajectory) -> str:
    """Observations, actions, rewards, and how it ended in a byte."""
    rows = len(next(iter(trajectory.actions.values())))
    flags = 1 * trajectory.terminated + 2 * trajectory.truncated
    words = [
        rows_word(spec.observations, trajectory.observations, rows),
        rows_word(spec.actions, trajectory.actions, rows),
        _word(number_bytes(trajectory.rewards, "<f8")),
        _word(number_bytes([flags], "<u1")),
    ]
    return " ".join(words)


def counts_words(counts: Counts) -> str:
    """The three numbers."""
    return f"{counts.sum_of_rewards!r} {counts.steps} {counts.episodes}"


def tasks_words(tasks: Tasks) -> str:
    """Each task's name and its number of variants."""
    return " ".join(f"{name} {variants}" for name, variants in tasks.variants.items())


def slots_word(slots: npt.ArrayLike) -> str:
    """Four bytes a slot."""
    return _word(number_bytes(slots, "<u4"))


def rows_word(tensors: Sequence[TensorSpec], arrays: Arrays, rows: int) -> str:
    """Each tensor with all of its rows, one tensor after another."""
    return _word(*tensor_bytes(tensors, arrays, rows))


def _word(*blocks: Bytes) -> str:
    memory = fold(np.full(1, START, np.uint32), *(block.reshape(1, -1) for block in blocks))
    return f"{memory[0]:08x}"


_Number = TypeVar("_Number", int, float)

_NONE = "-"


def spec_text(spec: TaskSpec) -> str:
    """A line for the task, then one for each observation and each action."""
    task = (
        *map(_real, (*spec.reward_range, spec.discount)),
        spec.horizon,
        int(spec.continuing),
        int(spec.rewards_in_evaluation),
        spec.slots,
    )
    lines = [" ".join(map(str, ("task", *task)))]
    for kind, tensors in (("observation", spec.observations), ("action", spec.actions)):
        for tensor in tensors:
            words = (kind, tensor.name, tensor.dtype, _list(tensor.shape), _domain(tensor.domain))
            lines.append(" ".join(words))
    return "\n".join(lines)


def spec_of_text(text: str) -> TaskSpec:
    """The spec of such lines. Raises SpecError or ValueError for other text."""
    (_, low, high, discount, horizon, continuing, rewards, slots), *tensors = map(
        str.split, text.splitlines()
    )
    return TaskSpec(
        observations=_tensors("observation", tensors),
        actions=_tensors("action", tensors),
        reward_range=(float(low), float(high)),
        discount=float(discount),
        horizon=int(horizon),
        continuing=continuing == "1",
        rewards_in_evaluation=rewards == "1",
        slots=int(slots),
    )


def _tensors(kind: str, lines: Sequence[Sequence[str]]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(name, dtype, _numbers(int, shape), _domain_of(*domain))
        for what, name, dtype, shape, *domain in lines
        if what == kind
    )


def _domain(domain: Domain) -> str:
    match domain:
        case Box(low, high):
            return f"box {_list(map(_real, low))} {_list(map(_real, high))}"
        case Discrete(n, start):
            return f"discrete {n} {start}"
        case MultiDiscrete(n):
            return f"multi_discrete {_list(n)}"
        case MultiBinary():
            return "multi_binary"


def _domain_of(kind: str, *words: str) -> Domain:
    match kind, words:
        case "box", (low, high):
            return Box(_numbers(float, low), _numbers(float, high))
        case "discrete", (n, start):
            return Discrete(int(n), int(start))
        case "multi_discrete", (n,):
            return MultiDiscrete(_numbers(int, n))
        case "multi_binary", ():
            return MultiBinary()
        case _:
            raise ValueError(f"got domain {kind} {words}")


def _list(numbers: object) -> str:
    return ",".join(map(str, numbers)) or _NONE  # type: ignore[call-overload]


def _numbers(kind: Callable[[str], _Number], words: str) -> tuple[_Number, ...]:
    return () if words == _NONE else tuple(map(kind, words.split(",")))


def _real(number: float) -> str:
    """A number in every language's notation: `Infinity`, not `inf`."""
    return repr(float(number)).replace("inf", "Infinity")
