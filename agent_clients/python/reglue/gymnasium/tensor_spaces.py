"""Values of Gymnasium's spaces as named arrays; see `reglue.spaces`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reglue.error_message import brief
from reglue.errors import BadArgument
from reglue.spec import (
    Array,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TensorSpec,
    same_numbers,
)


def value_of(tensors: Sequence[TensorSpec], arrays: Mapping[str, Array]) -> Any:
    """Arrays by name as a value of `space_of(tensors)`, or of a batch of it."""
    return arrays[tensors[0].name] if len(tensors) == 1 else dict(arrays)


class ActionRows:
    """Batches of actions as named arrays, checked before they are sent."""

    def __init__(self, tensors: Sequence[TensorSpec], rows: int) -> None:
        self._tensors = [_ActionTensor(tensor, rows) for tensor in tensors]
        self._names = {tensor.name for tensor in tensors}

    def arrays(self, actions: Any) -> dict[str, Array]:
        """Name -> (rows, *shape), in the spec's dtypes.

        Actions outside a Box are allowed: the glue flags them. Raises BadArgument.
        """
        if len(self._tensors) == 1 and not isinstance(actions, Mapping):
            only = self._tensors[0]
            return {only.tensor.name: only.array(actions)}
        if not isinstance(actions, Mapping) or actions.keys() != self._names:
            got = sorted(actions) if isinstance(actions, Mapping) else brief(actions)
            raise BadArgument(got=f"actions {got}", wanted=f"a dict of {sorted(self._names)}")
        return {each.tensor.name: each.array(actions[each.tensor.name]) for each in self._tensors}


class _ActionTensor:
    """One tensor of an action, and its bounds."""

    def __init__(self, tensor: TensorSpec, rows: int) -> None:
        self.tensor = tensor
        self._shape = (rows, *tensor.shape)
        self._low, self._high = _legal(tensor)

    def array(self, values: Any) -> Array:
        """A copy of `values`, (rows, *shape), in the spec's dtype. Raises BadArgument."""
        tensor = self.tensor
        try:
            rows = np.asarray(values)
        except ValueError as error:  # rows of different lengths
            raise BadArgument(f"action {tensor.name!r}: {error}") from None
        if rows.shape != self._shape:
            raise BadArgument(
                f"action {tensor.name!r}",
                got=f"shape {rows.shape}",
                wanted=f"{self._shape}: one row for each environment",
            )
        if rows.dtype.kind == "f" and tensor.numpy_dtype.kind != "f":
            raise BadArgument(
                f"action {tensor.name!r}", got=rows.dtype, wanted=f"integers of {tensor.dtype}"
            )
        cast = same_numbers(rows, tensor.numpy_dtype)
        if cast is None:
            got = f"{brief(values)} ({rows.dtype})"
            raise BadArgument(f"action {tensor.name!r}", got=got, wanted=tensor.dtype)
        if self._low is not None and 0 in ((cast >= self._low) & (cast <= self._high)).tobytes():
            wanted = "finite numbers" if tensor.numpy_dtype.kind == "f" else str(tensor.domain)
            raise BadArgument(f"action {tensor.name!r}", got=brief(values), wanted=wanted)
        return cast.copy() if cast is values else cast  # the program may use its array again


def _legal(tensor: TensorSpec) -> tuple[Any, Any]:
    """Inclusive bounds of legal numbers; for a Box of floats those of all finite numbers."""
    dtype = tensor.numpy_dtype
    match tensor.domain:
        case Box() if dtype.kind == "f":
            return np.finfo(dtype).min, np.finfo(dtype).max
        case Discrete(n, start):
            return start, start + n - 1
        case MultiDiscrete(n):
            return 0, np.reshape(np.array(n, dtype) - 1, tensor.shape)
        case MultiBinary():
            return 0, 1
        case _:
            return None, None
