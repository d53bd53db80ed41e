"""Saves and restores the state of a curriculum's present environment.

It knows the environments of `env_adapters.gymnasium.state_codec`, and suites whose worlds are
Restorable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from env_adapters.curricula.named_env import NamedEnv
from env_adapters.gymnasium.state_codec import StateCodec, state_codec
from env_adapters.gymnasium.suite_env import SuiteEnv
from reglue.environments.world import Restorable
from reglue.errors import BadArgument
from reglue.spec import Array, Arrays

_TIME_LIMIT = "_elapsed_steps"  # the wrapper TimeLimit's counter
_PCG64_WORDS = 6


def can_be_saved(env: Any) -> bool:
    """Whether the state of `env` can be saved."""
    return _codec_or_none(_without_name(env)) is not None


def read(env: Any) -> tuple[Arrays, Array]:
    """Copies of all that the rest of the episode depends on: named arrays, and the words of its
    random generator, (6,) uint64.
    """
    env = _without_name(env)
    return _codec(env).read(env.unwrapped), _pcg64_words(env.unwrapped.np_random)


def write(env: Any, inside: Arrays, words: Array, steps: int) -> None:
    """Continue from what `read` returned after `steps`; the same episode must have begun. Raises
    UsageError, perhaps with the episode changed, for a state that does not fit.
    """
    env = _without_name(env)
    _codec(env).write(env.unwrapped, inside)
    _set_generator(env.unwrapped.np_random, words)
    if env.has_wrapper_attr(_TIME_LIMIT):
        env.set_wrapper_attr(_TIME_LIMIT, steps)


def identity(env: Any) -> Mapping[str, str]:
    """Properties that must be equal in an environment that continues the episode."""
    env = _without_name(env)
    return _codec(env).identity(env.unwrapped)


@dataclass(frozen=True, slots=True)
class _WorldCodec:
    """The codec of a SuiteEnv, whose world saves its own state."""

    def read(self, env: Any) -> Arrays:
        return {"state": np.frombuffer(env.world.get_state(), np.uint8)}

    def write(self, env: Any, inside: Arrays) -> None:
        if "state" not in inside:
            raise BadArgument(got=f"a state of {sorted(inside)}", wanted="a world's state")
        env.world.set_state(inside["state"].tobytes())

    def identity(self, env: Any) -> Mapping[str, str]:
        return {}


def _codec_or_none(env: Any) -> StateCodec | None:
    if isinstance(env, SuiteEnv):
        return _WorldCodec() if isinstance(env.world, Restorable) else None
    return state_codec(env)


def _codec(env: Any) -> StateCodec:
    codec = _codec_or_none(env)
    assert codec is not None, "check can_be_saved first"
    return codec


def _without_name(env: Any) -> Any:
    """The environment that a NamedEnv wraps; any other environment itself."""
    return env.env if isinstance(env, NamedEnv) else env


def _pcg64_words(generator: np.random.Generator) -> Array:
    """(6,) uint64: state and increment of a PCG64, and the unused half of a word."""
    state: Any = generator.bit_generator.state
    numbers = [state["state"]["state"], state["state"]["inc"]]
    halves = [part for number in numbers for part in (number >> 64, number % 2**64)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def _set_generator(generator: np.random.Generator, words: Array) -> None:
    if (
        words.shape != (_PCG64_WORDS,)
        or words.dtype != np.uint64
        or words[4] > 1
        or words[5] >= 2**32
    ):
        raise BadArgument(
            got=words.tolist(), wanted=f"the {_PCG64_WORDS} words of a PCG64 generator"
        )
    high, low, high_inc, low_inc, has_half, half = words.tolist()
    state = {"state": (high << 64) + low, "inc": (high_inc << 64) + low_inc}
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": state,
        "has_uint32": has_half,
        "uinteger": half,
    }
