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
        self._kinds = {
            kind: [tensor for tensor in tensors if section_of(tensor) == kind] for kind in _DTYPES
        }
        self._counts = tuple(sum(tensor.size for tensor in each) for each in self._kinds.values())
        sizes = zip(self._counts, _DTYPES.values(), strict=True)
        self.size = _COUNTS.size + sum(count * dtype.itemsize for count, dtype in sizes)
        """Bytes of a row."""

    def encode(self, row: Arrays) -> bytes:
        """One row: arrays by name, of the tensor's shape. Raises OutOfDomain for an integer of more
        than 32 bits.
        """
        parts = [_COUNTS.pack(*self._counts)]
        for kind, tensors in self._kinds.items():
            for tensor in tensors:
                values = np.asarray(row[tensor.name])
                cast = same_numbers(values, _DTYPES[kind])
                if cast is None:
                    raise OutOfDomain(tensor.name, got=values, wanted="integers of 32 bits")
                parts.append(cast.tobytes())
        return b"".join(parts)

    def decode(self, content: bytes) -> dict[str, Array]:
        """The row that is the whole `content`, in the spec's dtypes. Raises BadReply."""
        got = _COUNTS.unpack_from(content) if len(content) >= _COUNTS.size else ()
        if got != self._counts or len(content) != self.size:
            raise BadReply(
                "WRONG_SIZE",
                got=f"{len(content)} bytes for {_words(got)}",
                wanted=f"{self.size} for {_words(self._counts)}",
            )
        row, at = {}, _COUNTS.size
        for kind, tensors in self._kinds.items():
            for tensor in tensors:
                values: Any = np.frombuffer(content, _DTYPES[kind], tensor.size, at)
                at += values.nbytes
                cast = same_numbers(values.reshape(tensor.shape), tensor.numpy_dtype)
                if cast is None:
                    wanted = f"numbers of {tensor.dtype}"
                    raise BadReply("OUT_OF_DOMAIN", got=f"{tensor.name} {values}", wanted=wanted)
                row[tensor.name] = cast
        return row


def _words(counts: Sequence[int]) -> str:
    numbers = zip(counts, _DTYPES, strict=False)
    return ", ".join(f"{count} {kind}" for count, kind in numbers) or "no counts"
