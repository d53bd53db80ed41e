"""Rows of tensors as RL-Glue's abstract type: three int32 counts, then int32s, float64s, bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
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
"""The dtypes all of whose numbers fit in a dtype, by kind and size: their casts need no check."""

NO_NUMBERS = _COUNTS.pack(0, 0, 0)
"""In place of an action: the episode has ended."""


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
        ordered = [
            (tensor, wire)
            for kind, wire in _DTYPES.items()
            for tensor in tensors
            if section_of(tensor) == kind
        ]
        self._counts = tuple(
            sum(tensor.size for tensor, each in ordered if each == wire)
            for wire in _DTYPES.values()
        )
        self._head = _COUNTS.pack(*self._counts)
        self._parts: list[_Part] = []
        at = len(self._head)
        for tensor, wire in ordered:
            part = _Part(tensor.name, tensor.shape, at, wire, tensor.numpy_dtype)
            self._parts.append(part)
            at += part.size
        self.size = at
        """Bytes of a row."""

    def encode(self, arrays: Arrays, rows: int) -> list[bytes]:
        """The rows of arrays by name, (rows, *shape); of one row, (*shape) does as well.

        Raises OutOfDomain for an integer of more than 32 bits.
        """
        encoded = [[self._head] for _ in range(rows)]
        for part in self._parts:
            values = np.asarray(arrays[part.name])
            cast = _numbers(values, part.wire)
            if cast is None:
                raise OutOfDomain(part.name, got=values, wanted="integers of 32 bits")
            content, size = cast.tobytes(), part.size
            for place, row in enumerate(encoded):
                row.append(content[place * size : (place + 1) * size])
        return [b"".join(row) for row in encoded]

    def decode(self, contents: Sequence[bytes]) -> dict[str, Array]:
        """Arrays by name, (rows, *shape), in the spec's dtypes, of one content for each row.

        Raises BadReply.
        """
        for content in contents:
            if len(content) != self.size or not content.startswith(self._head):
                got = _COUNTS.unpack_from(content) if len(content) >= _COUNTS.size else ()
                raise BadReply(
                    "WRONG_SIZE",
                    got=f"{len(content)} bytes for {_words(got)}",
                    wanted=f"{self.size} for {_words(self._counts)}",
                )
        joined, rows = b"".join(contents), len(contents)
        arrays = {}
        for part in self._parts:
            values: Array = np.ndarray(
                (rows, *part.shape), part.wire, joined, part.at, (self.size, *part.strides)
            )
            cast = _numbers(values, part.dtype)
            if cast is None:
                wanted = f"numbers of {part.dtype}"
                raise BadReply("OUT_OF_DOMAIN", got=f"{part.name} {values}", wanted=wanted)
            arrays[part.name] = cast
        return arrays


class _Part:
    """The place of a tensor's numbers in a row."""

    def __init__(
        self, name: str, shape: tuple[int, ...], at: int, wire: np.dtype[Any], dtype: np.dtype[Any]
    ) -> None:
        """`at` in bytes; `wire` is big-endian, `dtype` the tensor's."""
        self.name, self.shape, self.at, self.wire, self.dtype = name, shape, at, wire, dtype
        row = np.empty(shape, wire)
        self.size, self.strides = row.nbytes, row.strides  # bytes


def _numbers(values: Array, dtype: np.dtype[Any]) -> Array | None:
    """`values` cast to `dtype`; None if one of them does not fit."""
    if (values.dtype.kind, values.dtype.itemsize) in _HELD.get((dtype.kind, dtype.itemsize), ()):
        return values.astype(dtype)
    return same_numbers(values, dtype)


def _words(counts: Sequence[int]) -> str:
    numbers = zip(counts, _DTYPES, strict=False)
    return ", ".join(f"{count} {kind}" for count, kind in numbers) or "no counts"
