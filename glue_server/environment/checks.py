"""Whether an environment of this process answered what it was asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue.errors import BadReply
from reglue.messages.environment import Play, Played
from reglue.spec import TaskSpec

_NUMBERS, _FLAGS = np.dtype(np.float64), np.dtype(np.bool_)


def check_played(spec: TaskSpec, play: Play, played: Played) -> None:
    """Raise BadReply unless `played` has the rows of `play`, in the spec's dtypes."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    for tensor in spec.observations:
        seen = played.observations.get(tensor.name)
        _check_rows(tensor.name, seen, (rows, *tensor.shape), tensor.numpy_dtype)
    _check_rows("rewards", played.rewards, (steps,), _NUMBERS)
    _check_rows("terminated", played.terminated, (steps,), _FLAGS)
    _check_rows("truncated", played.truncated, (steps,), _FLAGS)
    _check_rows("success", played.success, (steps,), _FLAGS)
    if played.faults and not {*play.slots.tolist(), *play.starts}.issuperset(played.faults):
        got = f"faults of slots {list(played.faults)}"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="slots that were asked")
    finite = np.isfinite(played.rewards)
    if 0 in finite.tobytes():
        for row in (~finite).nonzero()[0].tolist():
            if (slot := int(play.slots[row])) not in played.faults:
                got = f"reward {played.rewards[row]} in slot {slot}"
                raise BadReply("NOT_FINITE", got=got, wanted="a finite number")


def _check_rows(name: str, values: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(values, np.ndarray):
        raise BadReply("WRONG_KIND", got=f"{name} = {values!r}", wanted="an array")
    if values.shape != shape or values.dtype != dtype:
        got = f"{name!r} of shape {values.shape}, {values.dtype}"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"shape {shape}, {dtype}")
