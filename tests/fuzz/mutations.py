"""Bytes made a little wrong, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

_LENGTHS = (b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 11)
"""Varints at their edges, and one that is too long."""

MOST_BYTES = 4096


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of `seeds` after one to four mistakes."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        _mistake(chance, data, seeds)
    return bytes(data[:MOST_BYTES])


def _mistake(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    place = chance.randint(0, len(data))
    end = min(len(data), place + chance.choice((1, 1, 2, 4, 8, 64)))
    match chance.randrange(7):
        case 0 if place < len(data):
            data[place] ^= 1 << chance.randrange(8)
        case 1 if place < len(data):
            data[place] = chance.randrange(256)
        case 2:
            del data[place:end]
        case 3:
            data[place:place] = chance.choice(_LENGTHS)
        case 4:
            data[place:place] = data[place:end] * chance.choice((1, 2, 64))
        case 5:
            other = chance.choice(seeds)
            data[place:end] = other[chance.randint(0, len(other)) :]
        case _:
            data[place:place] = chance.randbytes(chance.randint(1, 8))
