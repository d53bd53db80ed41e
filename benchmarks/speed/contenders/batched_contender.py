"""Environments that are batches by nature: their own steps, and `reglue.evaluate` of them.

`python -m speed.contenders.batched_contender KIND SLOTS BY`: KIND is vector, Gymnasium's own
CartPoleVectorEnv, or jax, the same equations by gymnax's signature; BY is steps, a loop that only
steps them and asks the policy, evaluate, or exact, a loop by hand with exact episodes that are
kept (of vector alone). All play the same policy in all slots.
"""

from __future__ import annotations

import copy
import math
import sqlite3
import sys
import zlib
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import reglue
from speed.contenders.cart_pole import NAME, policy
from speed.launches import serve

LIMIT = 500  # steps of an episode


class JaxPole:
    """CartPole-v1 with gymnax's signature. Source: Gymnasium's `CartPoleEnv`, Euler's method."""

    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, key: Any) -> Any:
        """The first observation and the state."""
        seen = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return seen, (seen, jnp.int32(0))

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """Observation, state, reward, done and infos."""
        (x, speed, angle, spin), steps = state
        force = jnp.where(action == 1, 10.0, -10.0)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        pull = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * pull) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        push = pull - 0.05 * turn * cos / 1.1
        x, angle = x + 0.02 * speed, angle + 0.02 * spin
        seen = jnp.stack([x, speed + 0.02 * push, angle, spin + 0.02 * turn])
        over = (jnp.abs(x) > 2.4) | (jnp.abs(angle) > 12 * math.pi / 180)
        return seen, (seen, steps + 1), jnp.float32(1), over | (steps + 1 >= LIMIT), {}


def vector(slots: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Gymnasium's own batch."""
    return gymnasium.make_vec(NAME, num_envs=slots, vectorization_mode="vector_entry_point")


def vector_steps(slots: int) -> Callable[[int], float]:
    """Turns of the batch alone, which resets by itself."""
    envs = vector(slots)
    seen = envs.reset(seed=0)[0]

    def play(turns: int) -> float:
        nonlocal seen
        for _ in range(turns):
            seen = envs.step(policy(seen))[0]
        return turns

    return play


def vector_exact(slots: int) -> Callable[[int], float]:
    """Episodes of their own seeds, and a row, actions and rewards of each in a database.

    Nothing is checked, sent, timed or judged: `reglue.evaluate` cannot cost less than this.
    """

    def play(rounds: int) -> float:
        envs: Any = vector(slots)
        envs.reset(seed=0)
        one = copy.copy(envs)
        one.num_envs = 1
        every, steps = np.arange(slots), np.zeros(slots, np.int64)
        actions, rewards = np.zeros((LIMIT, slots), np.int64), np.zeros((LIMIT, slots))
        left, rows, total = iter(range(rounds * slots)), [], 0
        playing: dict[int, int] = {}  # slot -> episode

        def begin(slot: int) -> None:
            steps[slot] = 0
            if (episode := next(left, None)) is None:
                playing.pop(slot, None)
                return
            playing[slot] = episode
            one.reset(seed=episode)
            envs.state[:, slot], envs.steps[slot] = one.state[:, 0], 0

        for slot in range(slots):
            begin(slot)
        while playing:
            chosen = policy(envs.state.T.astype(np.float32))
            _, earned, terminated, truncated, _ = envs.step(chosen)
            envs.prev_done[:] = False  # or it resets by itself
            actions[steps, every], rewards[steps, every] = chosen, earned
            steps += 1
            for slot in np.flatnonzero(terminated | truncated).tolist():
                if slot in playing:
                    took = int(steps[slot])
                    kept = [each[:took, slot].tobytes() for each in (actions, rewards)]
                    row = (playing[slot], took, float(rewards[:took, slot].sum()))
                    rows.append((*row, *map(zlib.compress, kept)))
                    total += took
                begin(slot)
        with sqlite3.connect(":memory:") as kept_in:
            kept_in.execute("CREATE TABLE episode (unit, steps, return, actions, rewards)")
            kept_in.executemany("INSERT INTO episode VALUES (?, ?, ?, ?, ?)", rows)
        return total / slots

    return play


def jax_steps(slots: int) -> Callable[[int], float]:
    """Turns of `jit(vmap(step))`, called from Python; nothing is reset."""
    pole = JaxPole()
    step = jax.jit(jax.vmap(pole.step))
    keys = jax.random.split(jax.random.key(0), slots)
    seen, state = jax.vmap(pole.reset)(keys)

    def play(turns: int) -> float:
        nonlocal seen, state
        for _ in range(turns):
            seen, state, *earned = step(keys, state, policy(np.asarray(seen)))
            for each in earned[:2]:  # rewards and ends, which a caller looks at
                np.asarray(each)
        return turns

    return play


def by_evaluate(make: Callable[[], object], slots: int) -> Callable[[int], float]:
    """So many episodes a slot by the call that users make; in turns of all slots."""

    def play(rounds: int) -> float:
        result = reglue.evaluate(make(), policy, num_episodes=rounds * slots, slots=slots, seed=0)
        return sum(row.steps for row in result.episodes) / slots

    return play


def main(kind: str, slots: int, by: str) -> None:
    """Play as many rounds as asked, each about an episode in every slot."""
    if by == "evaluate":
        play = by_evaluate(JaxPole if kind == "jax" else lambda: vector(slots), slots)
    elif by == "exact":
        play = vector_exact(slots)
    else:
        steps = jax_steps(slots) if kind == "jax" else vector_steps(slots)
        play = lambda rounds: steps(rounds * LIMIT)  # noqa: E731

    def measure(rounds: int) -> dict[str, float]:
        return {"turns": play(rounds)}

    serve(measure)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
