"""Rows of tensors as RL-Glue's abstract type: three int32 counts, then int32s, float64s, bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reglue.errors import BadReply, NotCapable, OutOfDomain, SpecError
from reglue.spec import Array, Arrays, TaskSpec, TensorSpec, same_numbers
from reglue.task_spec_string import section_of, task_spec_to_string

_COUNTS = struct.Struct("!iii")
_DTYPES: Mapping[str, np.dtype[Any]] = {
    "ints": np.dtype(">i4"),
    "doubles": np.dtype(">f8"),
    "chars": np.dtype("u1"),
}

_HELD: Mapping[tuple[str, int], Sequence[tuple[str, int]]] = {
    ("i", 4): [("i", 4)],
    ("i", 8): [("i", 4), ("i", 8)],
    ("f", 8): [("f", 4), ("f", 8)],
    ("u", 1): [("u", 1)],
}
"""Numbers that a dtype holds, by kind and size, so that none is compared after the cast."""

NO_NUMBERS = _COUNTS.pack(0, 0, 0)
"""No action: the episode has ended."""


def task_string(spec: TaskSpec) -> str:
    """The task spec string. Raises NotCapable for a task that RL-Glue cannot express."""
    try:
        return task_spec_to_string(spec)
    except SpecError as error:
        raise NotCapable(f"RL-Glue cannot express the task: {error}") from error


class RowLayout:
    """The order of the numbers of an observation or an action: by kind, then in the spec's order,
    as in its task spec string.
    """

    def __init__(self, tensors: Sequence[TensorSpec]) -> None:
        self._tensors = [
            _Part(tensor.name, tensor.shape, tensor.size, wire, tensor.numpy_dtype)
            for kind, wire in _DTYPES.items()
            for tensor in tensors
            if section_of(tensor) == kind
        ]
        self._counts = tuple(
            sum(each.count for each in self._tensors if each.wire == wire)
            for wire in _DTYPES.values()
        )
        self._head = _COUNTS.pack(*self._counts)
        self.size = len(self._head) + sum(each.count * each.wire.itemsize for each in self._tensors)
        """Bytes of a row."""

    def encode(self, row: Arrays) -> bytes:
        """One row: arrays by name, of the tensor's shape. Raises OutOfDomain for an integer of more
        than 32 bits.
        """
        parts = [self._head]
        for tensor in self._tensors:
            values = np.asarray(row[tensor.name])
            cast = _numbers(values, tensor.wire)
            if cast is None:
                raise OutOfDomain(tensor.name, got=values, wanted="integers of 32 bits")
            parts.append(cast.tobytes())
        return b"".join(parts)

    def decode(self, content: bytes) -> dict[str, Array]:
        """The row that is the whole `content`, in the spec's dtypes. Raises BadReply."""
        if len(content) != self.size or not content.startswith(self._head):
            got = _COUNTS.unpack_from(content) if len(content) >= _COUNTS.size else ()
            raise BadReply(
                "WRONG_SIZE",
                got=f"{len(content)} bytes for {_words(got)}",
                wanted=f"{self.size} for {_words(self._counts)}",
            )
        row, at = {}, _COUNTS.size
        for tensor in self._tensors:
            values: Any = np.frombuffer(content, tensor.wire, tensor.count, at)
            at += values.nbytes
            cast = _numbers(values.reshape(tensor.shape), tensor.dtype)
            if cast is None:
                wanted = f"numbers of {tensor.dtype}"
                raise BadReply("OUT_OF_DOMAIN", got=f"{tensor.name} {values}", wanted=wanted)
            row[tensor.name] = cast
        return row


@dataclass(frozen=True, slots=True)
class _Part:
    """The numbers of a tensor in a row."""

    name: str
    shape: tuple[int, ...]
    count: int
    wire: np.dtype[Any]  # big-endian
    dtype: np.dtype[Any]  # of the tensor


def _numbers(values: Array, dtype: np.dtype[Any]) -> Array | None:
    """`values` in `dtype`; None if it lacks one of them."""
    if (values.dtype.kind, values.dtype.itemsize) in _HELD.get((dtype.kind, dtype.itemsize), ()):
        return values.astype(dtype)
    return same_numbers(values, dtype)


def _words(counts: Sequence[int]) -> str:
    numbers = zip(counts, _DTYPES, strict=False)
    return ", ".join(f"{count} {kind}" for count, kind in numbers) or "no counts"
