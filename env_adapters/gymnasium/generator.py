"""Where a generator stands, as numbers: Philox counts, so it is thirteen words."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue.errors import UsageError
from reglue.spec import Array

_COUNTER, _KEY, _BUFFER = slice(0, 4), slice(4, 6), slice(6, 10)
_WORDS = 13
_MOST = (4, 1, 2**32 - 1)  # of the last three


def words_of(generator: np.random.Generator) -> Array:
    """(13,) uint64: counter, key, the block in use, words drawn of it, and the half of a
    word that is left over: whether there is one, and which.
    """
    state: Any = generator.bit_generator.state
    inner, last = state["state"], ("buffer_pos", "has_uint32", "uinteger")
    parts = (inner["counter"], inner["key"], state["buffer"], [state[name] for name in last])
    return np.concatenate([np.asarray(part, np.uint64) for part in parts])


def generator_at(words: Array) -> np.random.Generator:
    """The generator that stands there. Raises UsageError where none can."""
    last = words[10:].tolist()
    fits = words.shape == (_WORDS,) and words.dtype == np.uint64
    if not fits or any(word > most for word, most in zip(last, _MOST, strict=True)):
        raise UsageError(f"got {words.tolist()}, wanted the {_WORDS} words of a Philox generator")
    bits = np.random.Philox(key=0)
    bits.state = {
        "bit_generator": "Philox",
        "state": {"counter": words[_COUNTER], "key": words[_KEY]},
        "buffer": words[_BUFFER],
        "buffer_pos": last[0],
        "has_uint32": last[1],
        "uinteger": last[2],
    }
    return np.random.Generator(bits)
