"""Whether an agent's actions are legal, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reglue.errors import BadReply
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """Actions that fit the spec in size: which rows are legal, and their bytes."""

    rows: list[bytes]  # one action each: its tensors in the spec's order
    clipped: npt.NDArray[np.bool_]  # (rows,), an element lies out of its Box
    refused: dict[int, BadReply] = field(default_factory=dict)  # by row


def check_actions(spec: TaskSpec, arrays: Arrays, rows: int) -> Checked:
    """Look at `rows` actions. Raises BadReply if they are not that many of that shape."""
    clipped = np.zeros(rows, np.bool_)
    refused: dict[int, BadReply] = {}
    parts: list[list[bytes]] = []
    for tensor in spec.actions:
        values = _shaped(tensor, arrays[tensor.name], rows)
        flat = values.reshape(rows, tensor.size)
        for row, reply in _illegal(tensor, flat).items():
            refused.setdefault(row, reply)
        if isinstance(tensor.domain, Box):
            clipped |= _outside(tensor, flat)
        little = np.ascontiguousarray(values, np.dtype(tensor.dtype).newbyteorder("<"))
        parts.append([row.tobytes() for row in little])
    return Checked([b"".join(row) for row in zip(*parts, strict=True)], clipped, refused)


def _shaped(tensor: TensorSpec, values: Array, rows: int) -> Array:
    if values.size != rows * tensor.size:
        raise BadReply(
            "WRONG_SIZE",
            got=f"{tensor.name!r} of shape {values.shape}",
            wanted=f"shape {(rows, *tensor.shape)}, {tensor.dtype}: one row for each slot",
        )
    return values.reshape(rows, *tensor.shape)


def _illegal(tensor: TensorSpec, flat: Array) -> dict[int, BadReply]:
    """Rows that no environment should be given."""
    if flat.dtype.kind == "f" and not isinstance(tensor.domain, MultiBinary):
        code, wanted = "NOT_FINITE", "finite numbers"
        legal = np.isfinite(flat)
    else:
        code, wanted = "OUT_OF_DOMAIN", str(tensor.domain)
        legal = _in_domain(tensor, flat)
    return {
        int(row): BadReply(code, got=f"{tensor.name!r} = {flat[row].tolist()}", wanted=wanted)
        for row in np.flatnonzero(~legal.all(axis=1))
    }


def _in_domain(tensor: TensorSpec, flat: Array) -> npt.NDArray[np.bool_]:
    if flat.dtype.kind == "b":
        flat = flat.view(np.uint8)  # an agent's byte may be neither 0 nor 1
    match tensor.domain:
        case Discrete(n, start):
            return np.asarray((flat >= start) & (flat < start + n))
        case MultiDiscrete(n):
            return np.asarray((flat >= 0) & (flat < np.array(n, np.uint64)))
        case MultiBinary():
            return np.asarray((flat == 0) | (flat == 1))
        case Box() if tensor.dtype == "bool":
            return np.asarray(flat <= 1)
        case Box():
            return np.ones(flat.shape, np.bool_)


def _outside(tensor: TensorSpec, flat: Array) -> npt.NDArray[np.bool_]:
    low, high = tensor.low().ravel(), tensor.high().ravel()
    if flat.dtype.kind == "f":  # an agent that plays a bound plays it in its own dtype
        with np.errstate(over="ignore"):  # a bound beyond it is none
            low, high = low.astype(flat.dtype), high.astype(flat.dtype)
    return np.asarray(((flat < low) | (flat > high)).any(axis=1))
