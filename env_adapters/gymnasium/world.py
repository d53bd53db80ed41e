"""One slot's Gymnasium: plays the cells of one environment, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reglue.chance import Chance
from reglue.errors import UnknownName, UsageError
from reglue.spec import Array, Arrays, Box, TaskSpec
from reglue.worlds import Cell, Step

_SEEDS = 2**31  # some environments' own generators take no more


@dataclass(slots=True)
class Episode:
    """One that is on."""

    cell: Cell
    steps: int = 0


class World:
    """Plays any environment; see reglue.worlds.

    What chance an environment has is its own matter, so it is seeded, by a number drawn
    from the cell's: an environment that obeys Gymnasium then plays a function of the cell.
    """

    def __init__(self, task: str, spec: TaskSpec, make: Callable[[], Any]) -> None:
        self._task, self._make = task, make
        self._observation, self._action = spec.observations[0], spec.actions[0]
        self._horizon = spec.horizon
        self._env: Any = None  # made at the first start
        self._episode: Episode | None = None

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError; the one before then goes on."""
        self._check_cell(cell)
        env = self._open()
        self._episode = None
        observation = self._reset(env, cell)
        self._episode = Episode(cell)
        return self._seen(observation)

    def step(self, action: Arrays) -> Step:
        """Take one step. Raises UsageError, with nothing changed, for what is no action."""
        live = self._live()
        chosen = self._chosen(np.array(action["action"], self._action.dtype))
        observation, reward, terminated, truncated, _ = self._env.step(chosen)
        live.steps += 1
        if terminated or truncated:
            self._episode = None
        return Step(
            reward=float(reward),
            observation=self._seen(observation),
            terminated=bool(terminated),
            truncated=bool(truncated),
            success=False,  # Gymnasium has no word for it
        )

    def close(self) -> None:
        """Close the environment; `start` makes another."""
        env, self._env, self._episode = self._env, None, None
        if env is not None:
            env.close()

    def _open(self) -> Any:
        if self._env is None:
            self._env = self._make()
        return self._env

    def _reset(self, env: Any, cell: Cell) -> Any:
        return env.reset(seed=Chance(cell.seed, cell.repeat).below(_SEEDS))[0]

    def _clipped(self, action: Array) -> Array:
        """Not all environments clip what lies out of their Box."""
        space = self._env.action_space
        return np.clip(action, space.low, space.high)

    def _chosen(self, action: Array) -> Any:
        """The action as its space has it: a number where the shape is ()."""
        space = self._env.action_space
        if isinstance(self._action.domain, Box):
            legal = action.shape == self._action.shape and np.isfinite(action).all()
        else:
            legal = space.contains(action[()])
        if not legal:
            raise UsageError(f"got the action {action.tolist()}, wanted one of {space}")
        return self._clipped(action) if isinstance(self._action.domain, Box) else action[()]

    def _seen(self, observation: Any) -> Arrays:
        # A copy: some environments go on computing with what they return.
        return {"observation": np.array(observation, self._observation.dtype)}

    def _check_cell(self, cell: Cell) -> None:
        if cell.task != self._task:
            raise UnknownName("task in this suite", cell.task, [self._task])
        if cell.variant != 0:
            raise UsageError(f"{self._task}: got variant {cell.variant}, wanted 0, the only one")

    def _live(self) -> Episode:
        if self._episode is None:
            raise UsageError("no episode is on; call start first")
        return self._episode
