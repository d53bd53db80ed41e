"""Programs that JAX compiles are kept in the process, and used only for the same text."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import reglue
from env_adapters.jax import jax_program
from env_adapters.jax.jax_program import JaxProgram
from tests.env_adapters.jax.jax_pole import Pole


def compiled() -> int:
    """The number of programs compiled so far."""
    return jax_program._compiled.cache_info().misses


def returns(environment: object) -> list[float]:
    asked: dict[str, Any] = {"agent": "random", "num_episodes": 6, "slots": 3, "seed": 1}
    return [each.return_ for each in reglue.evaluate(environment, **asked).episodes]


class Tilted(Pole):
    """A reward that an attribute names; a table of numbers that its first observation reads."""

    def __init__(self, reward: float = 1.0) -> None:
        self.reward = reward
        self.table = np.zeros(5000, np.float32)

    def reset(self, key: Any) -> Any:
        seen, state = super().reset(key)
        return seen + jnp.asarray(self.table)[-1], state

    def step(self, key: Any, state: Any, action: Any) -> Any:
        seen, state, _, done, infos = super().step(key, state, action)
        return seen, state, jnp.float32(self.reward), done, infos


def test_a_second_evaluation_compiles_nothing() -> None:
    first = returns(Tilted)
    before = compiled()
    assert returns(Tilted) == first  # another object of the class
    assert compiled() == before


def test_a_changed_environment_is_another_program() -> None:
    tilted = Tilted()
    first = returns(tilted)
    tilted.reward = 2.0
    assert returns(tilted) == [2 * each for each in first]
    assert returns(Tilted()) == first
    before = compiled()
    tilted.reward = 1.0
    tilted.table[-1] = 0.5  # one number of many
    returns(tilted)
    assert compiled() > before


def test_a_dtype_that_changes_on_the_way_is_compiled_for() -> None:
    def half(number: Any) -> Any:
        return number / 2

    program, direct = JaxProgram(jax, half), jax.jit(half)
    value, wanted = jnp.arange(4), jnp.arange(4)
    for _ in range(3):
        value, wanted = program((4,), value), direct(wanted)
        assert value.dtype == wanted.dtype
        assert value.tolist() == wanted.tolist()
