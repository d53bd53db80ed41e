"""A Play and what became of it, taken together and apart slot by slot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from reglue.environment_calls import Play, Played
from reglue.errors import BadReply, EnvironmentFault
from reglue.spec import Array, Arrays, TaskSpec, TensorSpec
from reglue.worlds import Cell, Step

Answer: TypeAlias = Arrays | Step | EnvironmentFault
"""Of one slot: a first observation, a step, or what went wrong."""


class PlayRows:
    """The calls and answers of one TaskSpec, row by row."""

    def __init__(self, spec: TaskSpec) -> None:
        self._actions = ActionRows(spec)

    def play(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> Play:
        """One call for all slots; `steps` are actions as `check_actions` gives them."""
        slots = np.array(list(steps), np.uint32)
        return Play(slots, self._actions.read(list(steps.values())) if steps else {}, starts)

    def answers(self, play: Play, played: Played) -> dict[int, Answer]:
        """Each slot's part. Steps hold Python's own floats and bools: what NumPy's scalars
        do to sums and to databases depends on who looks.
        """
        names = played.observations
        rows = [dict(zip(names, row, strict=True)) for row in zip(*names.values(), strict=True)]
        answers: dict[int, Answer] = {}
        for slot, row, reward, terminated, truncated, success in zip(
            play.slots.tolist(),
            rows,
            played.rewards.tolist(),
            played.terminated.tolist(),
            played.truncated.tolist(),
            played.success.tolist(),
            strict=False,  # the rows of starts follow
        ):
            answers[slot] = Step(reward, row, terminated, truncated, success)
        answers.update(zip(play.starts, rows[len(play.slots) :], strict=True))
        for slot, what in played.faults.items():
            answers[slot] = EnvironmentFault(what)
        return answers


class ActionRows:
    """Reads rows of `Checked.rows` as named arrays."""

    def __init__(self, spec: TaskSpec) -> None:
        self._row = np.dtype(
            [
                (tensor.name, np.dtype(tensor.dtype).newbyteorder("<"), tensor.shape)
                for tensor in spec.actions
            ]
        )
        self._dtypes = {tensor.name: np.dtype(tensor.dtype) for tensor in spec.actions}

    def read(self, rows: list[bytes]) -> dict[str, Array]:
        """name -> (rows, *shape), in the machine's own byte order."""
        if not self._row.itemsize:  # nothing but empty tensors
            block = np.zeros(len(rows), self._row)
        else:
            block = np.frombuffer(b"".join(rows), self._row)
        return {
            name: np.ascontiguousarray(block[name], dtype) for name, dtype in self._dtypes.items()
        }


def check_played(spec: TaskSpec, play: Play, played: Played) -> None:
    """Raise BadReply unless `played` has the rows of `play`, in the spec's dtypes."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    for tensor in spec.observations:
        _check_rows(tensor, played.observations.get(tensor.name), rows)
    for column in _COLUMNS:
        _check_rows(column, getattr(played, column.name), steps)
    slots = play.slots.tolist()
    if played.faults and not {*slots, *play.starts}.issuperset(played.faults):
        got = f"faults of slots {list(played.faults)}"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="slots that were asked")
    for slot, reward in zip(slots, played.rewards.tolist(), strict=True):
        if not math.isfinite(reward) and slot not in played.faults:
            got = f"reward {reward} in slot {slot}"
            raise BadReply("NOT_FINITE", got=got, wanted="a finite number")


_COLUMNS = (
    TensorSpec("rewards", "float64"),
    TensorSpec("terminated", "bool"),
    TensorSpec("truncated", "bool"),
    TensorSpec("success", "bool"),
)


def _check_rows(tensor: TensorSpec, values: object, rows: int) -> None:
    if not isinstance(values, np.ndarray):
        raise BadReply("WRONG_KIND", got=f"{tensor.name} = {values!r}", wanted="an array")
    if values.shape != (rows, *tensor.shape) or values.dtype != tensor.dtype:
        got = f"{tensor.name!r} of shape {values.shape}, {values.dtype}"
        raise BadReply(
            "WRONG_SIZE", got=got, wanted=f"shape {(rows, *tensor.shape)}, {tensor.dtype}"
        )
