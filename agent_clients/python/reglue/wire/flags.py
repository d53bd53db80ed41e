"""How steps ended, a byte a step. Bits: 1 terminated, 2 truncated, 4 success at this step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_BITS = (1, 2, 4)
_SHOWS = [bytes(bool(byte & bit) for byte in range(256)) for bit in _BITS]
"""For each bit: a byte of flags -> whether it is set, 0 or 1."""


def encode_flags(*columns: npt.NDArray[np.bool_]) -> bytes:
    """Of terminated, truncated and success, (rows,) each."""
    # Each column is one long number with a byte a row: those are quickly added.
    numbers = (int.from_bytes(column.tobytes()) for column in columns)
    flags = sum(bit * number for bit, number in zip(_BITS, numbers, strict=True))
    return flags.to_bytes(len(columns[0]))


def decode_flags(entry: bytes) -> list[npt.NDArray[np.bool_]]:
    """Terminated, truncated and success, (rows,) each, read-only. Other bits are ignored."""
    return [np.frombuffer(entry.translate(shows), np.bool_) for shows in _SHOWS]
