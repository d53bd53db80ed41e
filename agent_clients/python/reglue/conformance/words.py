"""What a benchmark program saw, in words: a memory of its bytes for each part of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reglue.conformance.rule import START, Bytes, fold, number_bytes, tensor_bytes
from reglue.experiments.routines import Trajectory
from reglue.messages.experiment import Counts, Started, Stepped
from reglue.spec import Arrays, TaskSpec, TensorSpec


def started_words(spec: TaskSpec, started: Started) -> str:
    """Slots, observations, and actions where the agent acts."""
    rows = len(started.slots)
    words = [slots_word(started.slots), rows_word(spec.observations, started.observations, rows)]
    if started.actions:
        words.append(rows_word(spec.actions, started.actions, rows))
    return " ".join(words)


def stepped_words(spec: TaskSpec, stepped: Stepped) -> str:
    """Slots, rewards, observations, flags, and actions where the agent acts."""
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


def slots_word(slots: npt.ArrayLike) -> str:
    """Four bytes a slot."""
    return _word(number_bytes(slots, "<u4"))


def rows_word(tensors: Sequence[TensorSpec], arrays: Arrays, rows: int) -> str:
    """Each tensor with all of its rows, one tensor after another."""
    return _word(*tensor_bytes(tensors, arrays, rows))


def _word(*blocks: Bytes) -> str:
    memory = fold(np.full(1, START, np.uint32), *(block.reshape(1, -1) for block in blocks))
    return f"{memory[0]:08x}"
