"""Whether an environment of this process answered what it was asked."""

from __future__ import annotations

import numpy as np

from reglue.environment_calls import Play, Played
from reglue.errors import BadReply
from reglue.spec import TaskSpec, TensorSpec

_COLUMNS = (
    TensorSpec("rewards", "float64"),
    TensorSpec("terminated", "bool"),
    TensorSpec("truncated", "bool"),
    TensorSpec("success", "bool"),
)


def check_played(spec: TaskSpec, play: Play, played: Played) -> None:
    """Raise BadReply unless `played` has the rows of `play`, in the spec's dtypes."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    for tensor in spec.observations:
        _check_rows(tensor, played.observations.get(tensor.name), rows)
    for column in _COLUMNS:
        _check_rows(column, getattr(played, column.name), steps)
    if played.faults and not {*play.slots.tolist(), *play.starts}.issuperset(played.faults):
        got = f"faults of slots {list(played.faults)}"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="slots that were asked")
    finite = np.isfinite(played.rewards)
    if np.count_nonzero(finite) < steps:
        for row in (~finite).nonzero()[0].tolist():
            if (slot := int(play.slots[row])) not in played.faults:
                got = f"reward {played.rewards[row]} in slot {slot}"
                raise BadReply("NOT_FINITE", got=got, wanted="a finite number")


def _check_rows(tensor: TensorSpec, values: object, rows: int) -> None:
    if not isinstance(values, np.ndarray):
        raise BadReply("WRONG_KIND", got=f"{tensor.name} = {values!r}", wanted="an array")
    if values.shape != (rows, *tensor.shape) or values.dtype != tensor.numpy_dtype:
        got = f"{tensor.name!r} of shape {values.shape}, {values.dtype}"
        raise BadReply(
            "WRONG_SIZE", got=got, wanted=f"shape {(rows, *tensor.shape)}, {tensor.dtype}"
        )
