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
_WORDS = 6


def can_be_kept(env: Any) -> bool:
    """Whether its state can be saved."""
    return _insides(_bare(env)) is not None


def read(env: Any) -> tuple[Arrays, Array]:
    """Copies of all that the rest of the episode depends on, and its random generator's state."""
    env = _bare(env)
    return _known(env).read(env.unwrapped), _words(env.unwrapped.np_random)


def write(env: Any, inside: Arrays, words: Array, steps: int) -> None:
    """Continue from what `read` returned after `steps`; the same episode must have begun. Raises
    UsageError, perhaps with the episode changed, for a state that does not fit.
    """
    env = _bare(env)
    _known(env).write(env.unwrapped, inside)
    _go_to(env.unwrapped.np_random, words)
    if env.has_wrapper_attr(_TIME_LIMIT):
        env.set_wrapper_attr(_TIME_LIMIT, steps)


def made_of(env: Any) -> Mapping[str, str]:
    """What must be equal in an environment that continues the episode."""
    env = _bare(env)
    return _known(env).made_of(env.unwrapped)


@dataclass(frozen=True, slots=True)
class _Restored:
    """A suite's world, which saves its own state."""

    def read(self, env: Any) -> Arrays:
        return {"state": np.frombuffer(env.world.get_state(), np.uint8)}

    def write(self, env: Any, inside: Arrays) -> None:
        if "state" not in inside:
            raise BadArgument(f"got a state of {sorted(inside)}, wanted a world's state")
        env.world.set_state(inside["state"].tobytes())

    def made_of(self, env: Any) -> Mapping[str, str]:
        return {}


def _insides(env: Any) -> StateCodec | None:
    if isinstance(env, SuiteEnv):
        return _Restored() if isinstance(env.world, Restorable) else None
    return state_codec(env)


def _known(env: Any) -> StateCodec:
    found = _insides(env)
    assert found is not None, "it can be kept"
    return found


def _bare(env: Any) -> Any:
    """Without its name."""
    return env.env if isinstance(env, NamedEnv) else env


def _words(generator: np.random.Generator) -> Array:
    """(6,) uint64: state and increment of a PCG64, and the unused half of a word."""
    kept: Any = generator.bit_generator.state
    numbers = [kept["state"]["state"], kept["state"]["inc"]]
    halves = [part for number in numbers for part in (number >> 64, number % 2**64)]
    return np.array([*halves, kept["has_uint32"], kept["uinteger"]], np.uint64)


def _go_to(generator: np.random.Generator, words: Array) -> None:
    if words.shape != (_WORDS,) or words.dtype != np.uint64 or words[4] > 1 or words[5] >= 2**32:
        raise BadArgument(f"got {words.tolist()}, wanted the {_WORDS} words of a PCG64 generator")
    high, low, high_inc, low_inc, has_half, half = words.tolist()
    state = {"state": (high << 64) + low, "inc": (high_inc << 64) + low_inc}
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": state,
        "has_uint32": has_half,
        "uinteger": half,
    }
