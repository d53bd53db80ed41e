"""Converts named arrays and flags from and to bytes: little-endian, row-major, a row a slot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import BadReply
from reglue.spec import Array, Arrays, TensorSpec

REWARDS = TensorSpec("rewards", "float64")
"""The tensor of the rewards."""


_BITS = (1, 2, 4)
_SHOWS = [bytes(bool(byte & bit) for byte in range(256)) for bit in _BITS]
"""For each bit, a table: byte of flags -> 1 if the bit is set, else 0."""

_REMEMBERED = 16  # most steps have the flags of an earlier one: none


def encode_arrays(tensors: Sequence[TensorSpec], arrays: Arrays) -> list[bytes]:
    """Encode each tensor as one entry, in the spec's order. Shapes are not checked."""
    entries = []
    for tensor in tensors:  # here and below: a comprehension of one takes twice as long
        rows = arrays[tensor.name]
        if rows.dtype != tensor.wire_dtype:
            rows = rows.astype(tensor.wire_dtype)
        entries.append(rows.tobytes())
    return entries


def encode_array(tensor: TensorSpec, rows: Array) -> bytes:
    """Encode the rows, one after another."""
    if rows.dtype != tensor.wire_dtype:
        rows = rows.astype(tensor.wire_dtype)
    return rows.tobytes()


def decode_arrays(
    tensors: Sequence[TensorSpec], entries: Sequence[bytes], rows: int
) -> dict[str, npt.NDArray[Any]]:
    """Read-only views of shape `(rows, *shape)`. Raises BadReply."""
    if len(entries) != len(tensors):
        raise BadReply("WRONG_SIZE", got=f"{len(entries)} tensors", wanted=f"{len(tensors)}")
    entries = entries[:]  # a message makes new bytes each time it is looked into
    arrays = {}
    for tensor, entry in zip(tensors, entries, strict=True):
        arrays[tensor.name] = decode_array(tensor, entry, rows)
    return arrays


def decode_array(tensor: TensorSpec, entry: bytes, rows: int) -> npt.NDArray[Any]:
    """A read-only view of shape `(rows, *shape)`, in the machine's own byte order.

    Raises BadReply, before anything is made.
    """
    if len(entry) != rows * tensor.row_bytes:
        raise BadReply("WRONG_SIZE", got=_bytes(tensor, len(entry)), wanted=_rows(tensor, rows))
    array: npt.NDArray[Any] = np.ndarray((rows, *tensor.shape), tensor.wire_dtype, entry)
    return array if tensor.is_native else array.astype(tensor.numpy_dtype)


def encode_flags(
    terminated: npt.NDArray[np.bool_],
    truncated: npt.NDArray[np.bool_],
    success: npt.NDArray[np.bool_],
) -> bytes:
    """Encode columns (rows,) as a byte for each row."""
    return _joined(terminated.tobytes(), truncated.tobytes(), success.tobytes())


@lru_cache(_REMEMBERED)
def decode_flags(entry: bytes) -> tuple[npt.NDArray[np.bool_], ...]:
    """Terminated, truncated and success, (rows,) each, read-only. Other bits are ignored."""
    return tuple(np.frombuffer(entry.translate(shows), np.bool_) for shows in _SHOWS)


@lru_cache(_REMEMBERED)
def _joined(*columns: bytes) -> bytes:
    # Each column is one long number with a byte a row: those are quickly added.
    flags = sum(bit * int.from_bytes(column) for bit, column in zip(_BITS, columns, strict=True))
    return flags.to_bytes(len(columns[0]))


def _bytes(tensor: TensorSpec, size: int) -> str:
    rows, rest = divmod(size, max(1, tensor.row_bytes))
    whole = "" if rest else f", {rows} rows"
    return f"{size} bytes of {tensor.name!r}{whole}"


def _rows(tensor: TensorSpec, rows: int) -> str:
    row = f"{tensor.dtype}{list(tensor.shape)}"
    return f"{rows * tensor.row_bytes} bytes: {rows} rows of {row}"
