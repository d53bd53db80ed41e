"""CartPole in JAX, by gymnax's signature without params, and another one by Brax's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np


class Pole:
    """Gymnasium's CartPole: equations by Sutton and Barto, Euler's method, float32."""

    action_space = gym.spaces.Discrete(2)
    limit = 500

    def reset(self, key: Any) -> Any:
        state = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return state, (state, jnp.int32(0))

    def step(self, key: Any, state: Any, action: Any) -> Any:
        (x, speed, angle, spin), steps = state
        force = jnp.where(action == 1, 10.0, -10.0)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        pull = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * pull) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        push = pull - 0.05 * turn * cos / 1.1
        wind = jax.random.uniform(key, (), minval=-0.001, maxval=0.001)
        now = jnp.stack(
            [x + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn + wind]
        )
        over = (jnp.abs(now[0]) > 2.4) | (jnp.abs(now[2]) > 12 * np.pi / 180)
        done = over | (steps + 1 >= self.limit)
        return now, (now, steps + 1), jnp.float32(1), done, {}


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
