"""Random numbers that are the same on every platform: Philox 4×64 words, numbered.

RL-Glue 1.0's env_standardize_randomness wants random numbers that are "platform and
invocation independent". Here an episode's d-th draw is a function of three numbers:
the seed, the episode and d. The rule, for every language:

- Word d of an episode is word `d mod 4` of the block of Philox 4×64 with 10 rounds
  (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") whose key is
  `(seed, 0)` and whose counter is `(d div 4, episode, 0, 0)`, least word first.
- A uniform number takes one word w: `u = (w >> 11) × 2⁻⁵³`, in [0, 1), then
  `low + (high - low) × u` in float64, each operation rounded by itself (no fused multiply-add).
- An integer below n, which is 1 to 2⁶⁴, takes words w until `w × n mod 2⁶⁴ ≥ 2⁶⁴ mod n`,
  and is then `w × n div 2⁶⁴` (Lemire 2019, "Fast random integer generation in an interval").

`tests/reglue/rng_vectors.json` holds numbers to test an implementation with.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from reglue.errors import BadArgument

_WORDS = 2**64
_BLOCK = 4  # words of one counter
_POSITION = struct.Struct("<QQQ")


class _Key(ISeedSequence):
    """The key `(seed, 0)`. With Philox's own `key`, NumPy first draws a seed that nobody uses from
    the operating system, which takes longer than all else.
    """

    def __init__(self, seed: int) -> None:
        self._words = np.array((seed, 0), np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[np.uint64]:
        """The key: Philox takes two words of 64 bits."""
        return self._words


class Rng:
    """Draws the random numbers of one episode."""

    def __init__(self, seed: int, episode: int = 0, *, drawn: int = 0) -> None:
        """The first `drawn` words are skipped. All are 0 to 2**64 - 1."""
        for what, number in (("seed", seed), ("episode", episode), ("drawn", drawn)):
            if not 0 <= number < _WORDS:
                raise BadArgument(got=f"{what} {number}", wanted="0 to 2**64 - 1")
        self._seed, self._episode, self._drawn = seed, episode, drawn
        block, skipped = divmod(drawn, _BLOCK)
        # NumPy counts up before it makes a block.
        counter = (episode * _WORDS + block - 1) % _WORDS**4
        self.bits = np.random.Philox(_Key(seed), counter=counter)  # type: ignore[arg-type] # stubs: not its base
        if skipped:
            self.bits.random_raw(skipped)

    def word(self) -> int:
        """64 random bits."""
        self._drawn += 1
        return int(self.bits.random_raw())

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """A float64 from `low` to `high`; `high` itself only by rounding."""
        return low + (high - low) * ((self.word() >> 11) * 2.0**-53)

    def below(self, n: int) -> int:
        """A uniform integer from 0 to n - 1; n is 1 to 2**64, else BadArgument."""
        if not 1 <= n <= _WORDS:
            raise BadArgument(got=f"n {n}", wanted="1 to 2**64")
        rejected = _WORDS % n
        while (product := self.word() * n) % _WORDS < rejected:
            pass
        return product // _WORDS

    def to_bytes(self) -> bytes:
        """The state: seed, episode and number of words drawn, 24 bytes."""
        return _POSITION.pack(self._seed, self._episode, self._drawn)

    @staticmethod
    def from_bytes(position: bytes) -> Rng:
        """The generator with that state. Raises BadArgument for other bytes."""
        if len(position) != _POSITION.size:
            raise BadArgument(
                got=f"{len(position)} bytes", wanted=f"the {_POSITION.size} of an Rng"
            )
        seed, episode, drawn = _POSITION.unpack(position)
        return Rng(seed, episode, drawn=drawn)
