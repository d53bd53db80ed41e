"""Layouts of messages that repeat, and differ only in their number and their rows.

A step's message has the same bytes as the one before, except for its number and the rows of its
arrays. A Layout knows where those are, so that such a message is read and written without
protobuf, at a fifth of the price. Layouts serve the turns of an agent and their answers, the Plays
of an environment and theirs, and the answers to steps of a benchmark program, at both ends. All
other messages go through protobuf, and so do the first two of a kind: a Layout is made of the
second.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np

from reglue.spec import Array, TensorSpec

FLAGS = TensorSpec("flags", "uint8")
"""The flags' entry, of messages that have one: it is read as bytes, for `decode_flags`."""

_MOST_KINDS = 4  # of messages: as many as there are groups of slots, and one more

_SEQ = 8  # the tag of field 1, a varint: the number of every call and reply


@lru_cache(8)  # calls' of three peers, and those of the answers to them
def numbered(seq: int) -> bytes:
    """The first bytes of a message: its number."""
    head = bytearray((_SEQ,))
    while seq > 127:
        head.append(seq & 127 | 128)
        seq >>= 7
    head.append(seq)
    return bytes(head)


class Layout:
    """The positions of the rows in messages that are otherwise the same after their number.

    Args:
        message: one of them. It is overwritten.
        part: its part with the rows, which are all fields of bytes, in the order of their numbers.
        tensors: what these hold; each takes a byte or more.
        rows: how many rows of each.
    """

    def __init__(self, message: Any, part: Any, tensors: Sequence[TensorSpec], rows: int) -> None:
        message.ClearField("seq")
        zeros, ones = _filled(message, part, 0x00), _filled(message, part, 0xFF)
        differs = np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8)
        starts = (np.flatnonzero(~differs[:-1] & differs[1:]) + 1).tolist()
        assert len(starts) == len(tensors), "each tensor has a place"
        self._size = len(zeros)
        fixed: list[bytes] = []  # what is between the rows
        frame = "="
        # Start, bytes, shape, dtype on the wire, and here if that differs; flags have no dtype.
        self._rows: list[tuple[int, int, tuple[int, ...], Any, Any]] = []
        at = 0
        for start, tensor in zip(starts, tensors, strict=True):
            fixed.append(zeros[at:start])
            size = rows * tensor.row_bytes
            frame += f"{start - at}s{size}x"
            sent = None if tensor is FLAGS else tensor.wire_dtype
            here = None if tensor.is_native else tensor.numpy_dtype
            self._rows.append((start, size, (rows, *tensor.shape), sent, here))
            at = start + size
        fixed.append(zeros[at:])
        self._fixed = tuple(fixed)
        self._read_fixed = Struct(f"{frame}{self._size - at}s").unpack_from

    def read(self, message: bytes, at: int) -> list[Any] | None:
        """Copies of the tensors' rows; None for another message. `at`: the end of its number."""
        if len(message) != at + self._size or self._read_fixed(message, at) != self._fixed:
            return None
        arrays: list[Any] = []
        view = memoryview(message)  # a slice of bytes would be one more copy
        for start, size, shape, sent, here in self._rows:
            entry = view[at + start : at + start + size]
            if sent is None:
                arrays.append(bytes(entry))
                continue
            array: Array = np.ndarray(shape, sent, bytearray(entry))
            arrays.append(array if here is None else array.astype(here))
        return arrays

    def write(self, seq: int, entries: Iterable[Array | bytes]) -> bytes | None:
        """The message with this number and these rows; None if the rows have another size."""
        parts = [numbered(seq)]
        for content, (_, size, _, sent, _), entry in zip(
            self._fixed, self._rows, entries, strict=False
        ):
            rows: Any = entry
            if isinstance(entry, bytes):
                fits = len(entry) == size
            else:
                rows = np.ascontiguousarray(entry, sent)
                fits = rows.nbytes == size
            if not fits:
                return None
            parts += content, rows
        parts.append(self._fixed[-1])
        return b"".join(parts)  # the only copy of the rows


def _filled(message: Any, part: Any, byte: int) -> bytes:
    """The message, with this byte in all its rows."""
    for field in part.DESCRIPTOR.fields:
        if field.type != field.TYPE_BYTES:
            continue
        content = getattr(part, field.name)
        if isinstance(content, bytes):
            setattr(part, field.name, bytes((byte,)) * len(content))
        else:
            content[:] = [bytes((byte,)) * len(entry) for entry in content]
    filled: bytes = message.SerializeToString()
    return filled


class Repeats:
    """The layouts of the last few kinds of messages: groups of slots take turns."""

    def __init__(self) -> None:
        # By kind, the oldest first: its layout, and what the caller keeps of a message of it.
        # None: such a message came once.
        self._kinds: dict[Hashable, tuple[Layout, Any] | None] = {}

    def layout(self, kind: Hashable) -> Layout | None:
        """The layout of a kind of messages, if such a message came twice."""
        known = self._kinds.get(kind)
        return None if known is None else known[0]

    def read(self, message: bytes, at: int) -> tuple[Any, list[Any]] | None:
        """The caller's value for messages like this one, and its rows; None if no kind matches.

        `at` is where its number ends.
        """
        for known in tuple(self._kinds.values()):  # at the hub, threads may look
            if known is not None and (arrays := known[0].read(message, at)) is not None:
                return known[1], arrays
        return None

    def see(
        self,
        kind: Hashable,
        like: Any,
        message: Any,
        part: Any,
        tensors: Sequence[TensorSpec],
        rows: int,
    ) -> None:
        """Learn from a message that has no layout yet. The message is overwritten."""
        if kind not in self._kinds:
            if len(self._kinds) == _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
            self._kinds[kind] = None
        elif rows and all(tensor.row_bytes for tensor in tensors):
            self._kinds[kind] = Layout(message, part, tensors, rows), like
