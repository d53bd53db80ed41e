"""Chance: Philox by numbers, compared with published answers and with whole-number arithmetic."""

from __future__ import annotations

import copy
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import BadArgument
from reglue.rng import Rng
from tests.error_facts import raises

WORDS = 2**64
VECTORS: dict[str, Any] = json.loads(
    Path(__file__).with_name("rng_vectors.json").read_text(encoding="utf-8")
)

# Half of the examples lie at the ends, where counters carry.
numbers = st.integers(0, WORDS - 1) | st.sampled_from([0, 1, 2, 3, 4, 2**63, WORDS - 1])
positions = st.integers(0, WORDS - 9) | st.integers(0, 9)


# The rule of reglue/rng.py once more, with nothing but integers.


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """One block of Philox 4×64 with 10 rounds (Salmon et al. 2011, section 3.3)."""
    for _ in range(10):
        high_0, low_0 = divmod(0xD2E7470EE14C6C93 * counter[0], WORDS)
        high_1, low_1 = divmod(0xCA5A826395121157 * counter[2], WORDS)
        counter = (high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0)
        key = ((key[0] + 0x9E3779B97F4A7C15) % WORDS, (key[1] + 0xBB67AE8584CAA73B) % WORDS)
    return counter


def word(seed: int, episode: int, d: int) -> int:
    return philox((d // 4, episode, 0, 0), (seed, 0))[d % 4]


def below(seed: int, episode: int, d: int, n: int) -> tuple[int, int]:
    """A number below n, and where it left off."""
    while True:
        number, rest = divmod(word(seed, episode, d) * n, WORDS)
        d += 1
        if rest >= WORDS % n:
            return number, d


def in_hex(number: int) -> str:
    return f"{number:016x}"


def vectors(kind: str) -> list[Any]:
    return [pytest.param(vector, id=f"{kind}-{i}") for i, vector in enumerate(VECTORS[kind])]


def rng_of(vector: dict[str, Any]) -> Rng:
    seed, episode, drawn = (int(vector[name], 16) for name in ("seed", "episode", "drawn"))
    return Rng(seed, episode, drawn=drawn)


def position(rng: Rng) -> tuple[int, ...]:
    """Seed, episode and words drawn."""
    return struct.unpack("<QQQ", rng.to_bytes())


# Words


@pytest.mark.parametrize("vector", vectors("blocks"))
def test_the_arithmetic_here_gives_random123s_known_answers(vector: dict[str, list[str]]) -> None:
    """Of kat_vectors, lines `philox4x64 10`, in the Random123 distribution."""
    counter, key = (tuple(int(each, 16) for each in vector[name]) for name in ("counter", "key"))
    assert [in_hex(each) for each in philox(counter, (key[0], key[1]))] == vector["block"]


def test_the_first_words_of_seed_0_are_random123s_known_answer_for_zeros() -> None:
    rng = Rng(0)
    assert [in_hex(rng.word()) for _ in range(4)] == VECTORS["blocks"][0]["block"]


@given(numbers, numbers, positions)
def test_words_are_those_of_the_arithmetic_wherever_they_stand(
    seed: int, episode: int, drawn: int
) -> None:
    rng = Rng(seed, episode, drawn=drawn)
    wanted = [word(seed, episode, d) for d in range(drawn, drawn + 8)]
    assert [rng.word() for _ in wanted] == wanted


@pytest.mark.parametrize("vector", vectors("words"))
def test_words_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    rng = rng_of(vector)
    assert [in_hex(rng.word()) for _ in vector["words"]] == vector["words"]


def test_another_episode_or_seed_has_other_words() -> None:
    firsts = {Rng(seed, episode).word() for seed in range(20) for episode in range(20)}
    assert len(firsts) == 400


# Uniform numbers


@pytest.mark.parametrize("vector", vectors("uniforms"))
def test_uniform_numbers_have_the_bits_of_the_vectors(vector: dict[str, Any]) -> None:
    low, high = (
        struct.unpack("<d", bytes.fromhex(vector[name]))[0] for name in ("low_bits", "high_bits")
    )
    rng = rng_of(vector)
    drawn = [struct.pack("<d", rng.uniform(low, high)).hex() for _ in vector["float64"]]
    assert drawn == vector["float64"]


@given(numbers, positions)
def test_a_uniform_number_is_its_words_upper_53_bits(seed: int, drawn: int) -> None:
    number = Rng(seed, drawn=drawn).uniform()
    assert 0.0 <= number < 1.0
    assert number * 2**53 == word(seed, 0, drawn) // 2**11


# Numbers below n


@pytest.mark.parametrize("vector", vectors("below"))
def test_numbers_below_n_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    rng = rng_of(vector)
    n = int(vector["n"], 16)
    assert [in_hex(rng.below(n)) for _ in vector["numbers"]] == vector["numbers"]
    assert in_hex(position(rng)[2]) == vector["drawn_after"]


@given(numbers, numbers, st.integers(1, WORDS) | st.integers(1, 10))
def test_numbers_below_n_are_those_of_the_arithmetic(seed: int, episode: int, n: int) -> None:
    rng, d = Rng(seed, episode), 0
    for _ in range(4):
        wanted, d = below(seed, episode, d, n)
        assert rng.below(n) == wanted < n
    assert position(rng) == (seed, episode, d)


def test_an_n_that_rejects_half_of_the_words_takes_two_words_a_number() -> None:
    rng = Rng(1)
    for _ in range(1000):
        assert rng.below(2**63 + 1) <= 2**63
    assert 1900 < position(rng)[2] < 2100


# Where it stands


@given(numbers, numbers, positions, st.integers(0, 8))
def test_an_rng_continues_from_its_bytes(seed: int, episode: int, drawn: int, more: int) -> None:
    rng = Rng(seed, episode, drawn=drawn)
    for _ in range(more):
        rng.word()
    other = Rng.from_bytes(rng.to_bytes())
    assert position(other) == (seed, episode, drawn + more)
    assert other.word() == rng.word()


@pytest.mark.parametrize("vector", vectors("positions"))
def test_positions_have_the_bytes_of_the_vectors(vector: dict[str, Any]) -> None:
    assert rng_of(vector).to_bytes().hex() == vector["bytes"]


@pytest.mark.parametrize("size", [0, 23, 25])
def test_bytes_of_another_length_are_refused(size: int) -> None:
    with raises(BadArgument, 24, got=f"{size} bytes"):
        Rng.from_bytes(bytes(size))


@pytest.mark.parametrize("number", [-1, WORDS])
@pytest.mark.parametrize("what", ["seed", "episode", "drawn"])
def test_numbers_beyond_64_bits_are_refused(what: str, number: int) -> None:
    with raises(BadArgument, got=f"{what} {number}", wanted="0 to 2**64 - 1"):
        Rng(**{"seed": 0} | {what: number})


@pytest.mark.parametrize("n", [0, -1, WORDS + 1])
def test_an_n_that_no_word_reaches_is_refused_and_draws_nothing(n: int) -> None:
    rng = Rng(3, 4)
    with raises(BadArgument, got=f"n {n}", wanted="1 to 2**64"):
        rng.below(n)
    assert position(rng) == (3, 4, 0)


def test_a_generator_draws_nothing_from_the_operating_system() -> None:
    """That takes longer than all else, and nobody uses it. Copies draw the same numbers."""
    bits = Rng(3, 4).bits
    assert not isinstance(bits.seed_seq, np.random.SeedSequence)
    copied = copy.deepcopy(np.random.Generator(bits))
    wanted = np.random.Generator(np.random.Philox(key=3, counter=4 * WORDS - 1))
    assert copied.random(9).tolist() == wanted.random(9).tolist()
