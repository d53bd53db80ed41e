"""CartPole in JAX, by gymnax's signature without params, and another one by Brax's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from speed.contenders.batched_contender import JaxPole


class Pole(JaxPole):
    """With wind, so that a step draws random numbers."""

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """As JaxPole's."""
        calm, (_, steps), *earned = super().step(key, state, action)
        seen = calm.at[3].add(jax.random.uniform(key, (), minval=-0.001, maxval=0.001))
        return seen, (seen, steps), *earned


@jax.tree_util.register_dataclass
@dataclass
class State:
    """The result of Brax's routines."""

    obs: Any
    reward: Any
    done: Any
    info: dict[str, Any]


class Slide:
    """By Brax's signature: a mass slides, and leaves at 1."""

    action_size = 2

    def reset(self, rng: Any) -> State:
        place = jax.random.uniform(rng, (2,), minval=-0.5, maxval=0.5)
        return State(place, jnp.float32(0), jnp.float32(0), {"truncation": jnp.float32(0)})

    def step(self, state: State, action: Any) -> State:
        place = state.obs + 0.1 * action + 0.05 * state.obs
        far = jnp.abs(place).max()
        return State(place, -far, (far > 1).astype(float), state.info)
