"""The rule of the conformance programs: bytes go in, elements of tensors come out.

Each slot has a number of 32 bits, its memory; `memory` is that of some slots, (rows,).
All of it wraps around at 2**32. `proto/CONFORMANCE.md` has the rule in prose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.spec import Array, Arrays, Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec

Uint32s: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

START = 0x811C9DC5
"""A memory that has taken in nothing."""

_PRIME = np.uint32(16777619)
_STRIDE = np.uint32(2654435769)
_CHUNK = 4096  # bytes, or elements, of a row at once: what a processor's cache holds


def fold(memory: Uint32s, *blocks: Bytes) -> Uint32s:
    """`memory` when each slot has taken in its row of each block, shape (rows, bytes).

    Byte by byte it is `memory * 16777619 + byte`.
    """
    for block in blocks:
        most = min(block.shape[1], _CHUNK)
        factors = np.append(np.uint32(1), np.full(most, _PRIME))
        powers = np.multiply.accumulate(factors, dtype=np.uint32)  # from the zeroth
        for at in range(0, block.shape[1], _CHUNK):
            part = block[:, at : at + _CHUNK].astype(np.uint32)
            count = part.shape[1]
            memory = memory * powers[count] + part @ powers[:count][::-1]
    return memory


def draw(memory: Uint32s, numbers: Uint32s) -> Uint32s:
    """The draws of these numbers, shape (rows, numbers): MurmurHash3's finalizer of 32 bits
    (Appleby, public domain) over steps of the golden ratio.
    """
    z = memory[:, None] + numbers * _STRIDE
    z ^= z >> 16
    z *= np.uint32(2246822507)
    z ^= z >> 13
    z *= np.uint32(3266489909)
    z ^= z >> 16
    return z


def elements(memory: Uint32s, tensors: Sequence[TensorSpec]) -> dict[str, Array]:
    """Values of `tensors` by each slot's memory: name -> (rows, *shape)."""
    made, first = {}, 0
    for tensor in tensors:
        values = np.empty((len(memory), tensor.size), tensor.dtype)
        for at in range(0, tensor.size, _CHUNK):
            part = np.arange(at, min(at + _CHUNK, tensor.size), dtype=np.uint32)
            numbers = (part + np.uint32(first)) * np.uint32(2)
            low, high = draw(memory, numbers), draw(memory, numbers + np.uint32(1))
            values[:, at : at + _CHUNK] = _values(tensor, part, low, high)
        made[tensor.name] = values.reshape(len(memory), *tensor.shape)
        first += tensor.size
    return made


def tensor_bytes(tensors: Sequence[TensorSpec], arrays: Arrays, rows: int) -> list[Bytes]:
    """The bytes of each tensor's rows, (rows, bytes): little-endian, row-major."""
    blocks = []
    for tensor in tensors:
        little = np.dtype(tensor.dtype).newbyteorder("<")
        entry = np.ascontiguousarray(arrays[tensor.name], little).tobytes()
        blocks.append(np.frombuffer(entry, np.uint8).reshape(rows, tensor.row_bytes))
    return blocks


def number_bytes(numbers: npt.ArrayLike, dtype: str) -> Bytes:
    """The bytes of one number a row, (rows, size); `dtype` is such as `<u8`."""
    column = np.asarray(numbers, dtype)
    return np.frombuffer(column.tobytes(), np.uint8).reshape(len(column), column.itemsize)


def _values(tensor: TensorSpec, part: Uint32s, low: Uint32s, high: Uint32s) -> Array:
    """The elements `part`, of two draws each, before they are cast; shape (rows, elements)."""
    match tensor.domain:
        case MultiBinary():
            return low % 2
        case Discrete(n, start):  # a negative start wraps around, and back when it is cast
            return _wide(low, high) % np.uint64(n) + np.uint64(start % 2**64)
        case MultiDiscrete(n):
            return _wide(low, high) % np.array(n, np.uint64)[part]
        case Box() if tensor.dtype == "bool":
            return low % 2
        case Box() if np.dtype(tensor.dtype).kind in "ui":
            return _wide(low, high)
        case Box(least, most) if least and most and np.isfinite([*least, *most]).all():
            return _between(tensor.low().ravel()[part], tensor.high().ravel()[part], low)
        case Box():
            return low - 2.0**31 + (high % 2**21) / 2.0**21


def _wide(low: Uint32s, high: Uint32s) -> npt.NDArray[np.uint64]:
    return low + (high.astype(np.uint64) << np.uint64(32))


def _between(least: Array, most: Array, low: Uint32s) -> Array:
    return least + (most - least) * ((low % 257) / 256.0)


class ToldToFail(Exception):
    """The failure that the kit asks for."""

    def __init__(self) -> None:
        super().__init__("told to fail")


class Commands:
    """Counts routines, and answers the commands that both programs have."""

    def __init__(self, *routines: str) -> None:
        self._counts = dict.fromkeys(routines, 0)

    def count(self, routine: str, times: int = 1) -> None:
        """Count a routine, or its rows."""
        self._counts[routine] += times

    def answer(self, message: str) -> str:
        """Answer `counts`, `echo TEXT`, `sleep MS` and `fail`; empty for any other message."""
        command, _, argument = message.partition(" ")
        match command:
            case "counts":
                return json.dumps(self._counts)
            case "echo":
                return argument
            case "sleep":
                time.sleep(int(argument) / 1000)
            case "fail" if not argument:
                raise ToldToFail
        return ""
