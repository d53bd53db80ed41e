"""Episodes of CartPole: `reglue.evaluate`, a loop over Gymnasium's SyncVectorEnv, and a plain loop.

All reset the same episodes with the same seeds, in ten environments, and call the policy once a
turn. `python -m speed.contenders.cart_pole KIND`: default, 0 or 2 (workers), sync or plain.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

import reglue
from speed.contenders.processor_time import processor_s
from speed.launches import serve

NAME = "CartPole-v1"
SLOTS = 10

Returns = dict[int, float]
"""Returns by the seed of the episode."""


def policy(observations: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Keeps the pole up, if not for ever."""
    chosen: npt.NDArray[np.int64] = (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)
    return chosen


def by_evaluate(workers: int | None) -> Callable[[int], Returns]:
    """The very call that users make."""

    def play(episodes: int) -> Returns:
        result = reglue.evaluate(
            f"evaluate:gymnasium:{NAME}",
            policy,
            num_episodes=episodes,
            slots=SLOTS,
            seed=0,
            workers=workers,
        )
        return {row.unit: row.return_ for row in result.episodes}

    return play


class _Seeded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Each reset begins the next of the episodes that are left; without any, no episode counts."""

    def __init__(self, env: gymnasium.Env[Any, Any], left: list[int]) -> None:
        super().__init__(env)
        self.playing: int | None = None
        self._left = left

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Begin it."""
        self.playing = self._left.pop() if self._left else None
        return self.env.reset(seed=self.playing)


def by_sync(episodes: int) -> Returns:
    """Gymnasium's own loop, with its default autoreset."""
    left, returns = list(reversed(range(episodes))), Returns()
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: _Seeded(gymnasium.make(NAME), left) for _ in range(SLOTS)]
    )
    seen, _ = envs.reset()
    totals, ended = np.zeros(SLOTS), np.zeros(SLOTS, np.bool_)
    while len(returns) < episodes:
        totals[ended] = 0.0
        seen, rewards, terminated, truncated, _ = envs.step(policy(seen))
        totals += rewards
        ended = terminated | truncated
        for place in np.flatnonzero(ended):
            if (seed := envs.envs[place].playing) is not None:  # type: ignore[attr-defined]
                returns[seed] = float(totals[place])
    envs.close()
    return returns


def by_plain(episodes: int) -> Returns:
    """A list of environments."""
    left, returns = list(reversed(range(episodes))), Returns()
    envs = [_Seeded(gymnasium.make(NAME), left) for _ in range(SLOTS)][:episodes]
    seen = [env.reset()[0] for env in envs]
    totals = [0.0] * len(envs)
    while envs:
        going = []
        for place, action in enumerate(policy(np.stack(seen)).tolist()):
            seen[place], reward, terminated, truncated, _ = envs[place].step(action)
            totals[place] += float(reward)
            if terminated or truncated:
                playing = envs[place].playing
                assert playing is not None, "those that have none to play are left out"
                returns[playing], totals[place] = totals[place], 0.0
                seen[place], _ = envs[place].reset()
            if envs[place].playing is not None:
                going.append(place)
        if len(going) < len(envs):
            envs, seen = [envs[place] for place in going], [seen[place] for place in going]
            totals = [totals[place] for place in going]
    return returns


def main(kind: str) -> None:
    """Play as often as asked; the first time imports what it needs."""
    loops = {"sync": by_sync, "plain": by_plain, "default": by_evaluate(None)}
    play = loops[kind] if kind in loops else by_evaluate(int(kind))

    def measure(episodes: int) -> dict[str, Any]:
        before = processor_s()
        returns = play(episodes)
        took_s = processor_s() - before
        return {"seconds": took_s, "returns": [returns[seed] for seed in range(episodes)]}

    serve(measure)


if __name__ == "__main__":
    main(sys.argv[1])
