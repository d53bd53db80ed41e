"""A Meta-World vector environment as a suite that workers can build.

A slot is a sub-environment; the cell's task is its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters import Cell, Step, SuiteName
from env_adapters.metaworld.metaworld_world import ACTION, FRAME_STACK
from env_adapters.metaworld.simulator import Simulator, SimulatorPool
from reglue.messages.agent_messages import Phase
from reglue.spec import Arrays, TaskSpec, TensorSpec

OBSERVATION = "observation"
RETURN = "return"
"""Sum of the episode's rewards as RecordEpisodeStatistics adds them, and 1 if it is a float32.

Meta-World returns some rewards as np.float32; from the first of these the sum is np.float32, until
a np.float64 is added.
"""

MOTION = "action"
IS_SINGLE = "is_single"
"""1 if the agent's action was float32; float64 plays another trajectory."""


@dataclass(frozen=True, slots=True)
class SubEnvironment:
    """One sub-environment: the tasks that it may play, and its wrappers."""

    task: str
    variants: tuple[tuple[tuple[float, ...], bool], ...]  # goal, and whether agents see it
    one_hot: tuple[float, ...] = ()
    recurrent_scale: float | None = None  # RNNBasedMetaRLWrapper divides rewards by it


def suite_of(envs: Sequence[SubEnvironment], *, horizon: int, dtype: str) -> SuiteName:
    """The suite by its name and JSON."""
    config = {"envs": [asdict(env) for env in envs], "horizon": horizon, "dtype": dtype}
    return SuiteName("reglue_bench.metaworld.drop_in_worlds:SubEnvironments", config)


class SubEnvironments:
    """Makes worlds that play any of `envs`; they share simulators. For one thread."""

    standardizes = True

    def __init__(self, *, envs: Sequence[Mapping[str, Any]], horizon: int, dtype: str) -> None:
        self._envs = [SubEnvironment(**env) for env in envs]
        self._horizon = horizon
        self._dtype = dtype
        self._pool = SimulatorPool()

    @property
    def spec(self) -> TaskSpec:
        """Observations as the vector environment's; actions of either kind of float."""
        first = self._envs[0]
        recurrent = 0 if first.recurrent_scale is None else ACTION + 2
        size = FRAME_STACK + len(first.one_hot) + recurrent
        return TaskSpec(
            observations=(
                TensorSpec(OBSERVATION, self._dtype, (size,)),
                TensorSpec(RETURN, "float64", (2,)),
            ),
            actions=(TensorSpec(MOTION, "float64", (ACTION,)), TensorSpec(IS_SINGLE, "bool")),
            horizon=self._horizon,
            rewards_in_evaluation=False,
        )

    @property
    def variants(self) -> Mapping[str, int]:
        """Variants by the number of the sub-environment."""
        return {str(place): len(env.variants) for place, env in enumerate(self._envs)}

    def world(self) -> World:
        """A world for one more slot."""
        return World(self._envs, self._horizon, self._dtype, self._pool)


class World:
    """One slot's episodes, with what the wrappers of its sub-environment add."""

    _cell: Cell
    _env: SubEnvironment
    _simulator: Simulator | None = None
    _return: Any  # a float, np.float32 or np.float64

    def __init__(
        self, envs: Sequence[SubEnvironment], horizon: int, dtype: str, pool: SimulatorPool
    ) -> None:
        self._envs = envs
        self._horizon = horizon
        self._dtype = dtype
        self._pool = pool

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode."""
        self.close()
        self._cell, self._env = cell, self._envs[int(cell.task)]
        goal, visible = self._env.variants[cell.variant]
        self._simulator = self._pool.take(self._env.task)
        frames = self._simulator.start(goal, goal_visible=visible)
        self._return = 0.0
        return self._observation(frames, np.zeros(ACTION + 2))

    def step(self, action: Arrays) -> Step:
        """Take one step with the agent's float32 or float64."""
        assert self._simulator is not None, "start comes first"
        chosen = action[MOTION].astype(np.float32) if action[IS_SINGLE] else action[MOTION]
        frames, reward, success = self._simulator.step(chosen)
        self._return += reward
        terminated = success and self._cell.phase == Phase.EVALUATE
        truncated = self._simulator.steps >= self._horizon
        recurrent = [*chosen, float(reward) / (self._env.recurrent_scale or 1.0)]
        observation = self._observation(
            frames, np.array([*recurrent, terminated or truncated], np.float64)
        )
        if terminated or truncated:
            self.close()
        return Step(float(reward), observation, terminated, truncated, success)

    def close(self) -> None:
        """Give the simulator back; `start` may still be called."""
        if self._simulator is not None:
            self._pool.give_back(self._simulator)
            self._simulator = None

    def _observation(
        self, frames: npt.NDArray[np.float64], recurrent: npt.NDArray[np.float64]
    ) -> dict[str, npt.NDArray[Any]]:
        parts = [frames, np.array(self._env.one_hot)]
        if self._env.recurrent_scale is not None:
            parts.append(recurrent)
        vector = np.concatenate(parts).astype(self._dtype, copy=False)
        is_single = isinstance(self._return, np.float32)
        return {OBSERVATION: vector, RETURN: np.array([self._return, is_single], np.float64)}
