"""Plays Meta-World's cells in one slot, and makes the agent's observations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.cameras import Cameras, CameraView
from env_adapters.metaworld.instructions import INSTRUCTION_BYTES, INSTRUCTIONS
from env_adapters.metaworld.simulator import Simulator, SimulatorPool, SimulatorState
from env_adapters.states import EpisodeState, read_episode_state
from reglue.agents.metaworld import ALL_TASKS
from reglue.environments.world import Step
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.spec import Array, Arrays, Box, Discrete, TensorSpec
from reglue.texts import text_row

FRAME_STACK = 39
"""Hand, gripper and objects, now and one step ago, and the goal: 18 + 18 + 3."""

ACTION = 4
"""Motion in x, y, z and the gripper's effort."""

_REWARD_SCALE = 10.0  # the largest reward; upstream's normalize_reward_in_recurrent_info


@dataclass(frozen=True, slots=True)
class Observations:
    """The parts of an observation, in the order of Meta-World's wrappers."""

    tasks: tuple[str, ...]  # in one-hot order
    one_hot: bool  # append which of `tasks` it is
    recurrent_info: bool  # append the action before, its reward / 10 and whether it ended
    dtype: Literal["float64", "float32"]
    reveal_tasks: bool  # add the tensor `task`
    instruction: bool = False  # add the tensor `instruction`
    view: CameraView | None = None  # add the tensor `image`, and perhaps `depth`

    def specs(self) -> tuple[TensorSpec, ...]:
        """`observation`, and the tensors that are added to it.

        `task` is an index into ALL_TASKS, `instruction` UTF-8 with zeros behind it.
        """
        size = FRAME_STACK + self.one_hot * len(self.tasks) + self.recurrent_info * (ACTION + 2)
        specs = [TensorSpec("observation", self.dtype, (size,))]
        if self.reveal_tasks:
            specs.append(TensorSpec("task", "int64", (), Discrete(len(ALL_TASKS))))
        if self.instruction:
            words = Box((0,), (255,))
            specs.append(TensorSpec("instruction", "uint8", (INSTRUCTION_BYTES,), words))
        return (*specs, *(self.view.specs() if self.view else ()))

    def of_task(self, task: str) -> TaskObservations:
        """The observations of the episodes of `task`."""
        size = self.specs()[0].shape[0]
        blank = np.zeros(size, self.dtype)
        if self.one_hot:
            blank[FRAME_STACK + self.tasks.index(task)] = 1
        same: dict[str, Array] = {}
        if self.reveal_tasks:
            same["task"] = np.array(ALL_TASKS.index(task), np.int64)
        if self.instruction:
            same["instruction"] = text_row(INSTRUCTIONS[task], INSTRUCTION_BYTES)
        for array in same.values():
            array.setflags(write=False)  # one for all steps
        return TaskObservations(blank, self.recurrent_info, same)


@dataclass(frozen=True, slots=True)
class TaskObservations:
    """Makes the observations of one task's episodes, without pictures."""

    blank: npt.NDArray[np.floating]  # (size,), with the parts that never change
    recurrent_info: bool
    same: Arrays  # tensors that never change

    def first(self, frames: npt.NDArray[np.float64]) -> Arrays:
        """The observation of a start from the simulator's `frames`, (39,)."""
        observation = self.blank.copy()
        observation[:FRAME_STACK] = frames
        return {"observation": observation, **self.same}

    def later(
        self,
        frames: npt.NDArray[np.float64],
        *,
        action: npt.NDArray[np.float32],
        reward: float,
        ended: bool,
    ) -> Arrays:
        """The observation after a step: `frames` after it, and the unclipped `action`."""
        seen = self.first(frames)
        if self.recurrent_info:
            recurrent = seen["observation"][-(ACTION + 2) :]
            recurrent[:ACTION] = action
            recurrent[ACTION] = reward / _REWARD_SCALE
            recurrent[ACTION + 1] = ended
        return seen


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """The settings that all episodes of a suite share."""

    goals: Mapping[str, Sequence[Sequence[float]]]  # variants of each task
    goal_visible: bool
    horizon: int  # steps to truncation
    observations: Observations

    def goal(self, cell: Cell) -> Sequence[float]:
        """The goal of the cell's variant. Raises UsageError if there is none."""
        if cell.task not in self.goals:
            raise UnknownName("task in this suite", cell.task, self.goals)
        variants = self.goals[cell.task]
        if not 0 <= cell.variant < len(variants):
            raise BadArgument(
                cell.task, got=f"variant {cell.variant}", wanted=f"0 to {len(variants) - 1}"
            )
        return variants[cell.variant]


@dataclass(frozen=True, slots=True)
class _Episode:
    cell: Cell
    simulator: Simulator
    observations: TaskObservations


class MetaWorldWorld:
    """Plays the cells of a suite; Restorable, see reglue.environments.world."""

    def __init__(
        self,
        settings: SuiteSettings,
        pool: SimulatorPool,
        suite: str,
        cameras: Callable[[], Cameras],
    ) -> None:
        """`suite` is a digest, saved with states; `cameras` makes the suite's at its first call."""
        self._settings = settings
        self._pool = pool
        self._suite = suite
        self._cameras = cameras
        self._episode: _Episode | None = None
        self._last: _Episode | None = None  # the last one that is over

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError; the previous episode then goes on.

        `cell.seed` and `cell.repeat` change nothing: once the goal is set, Meta-World draws no
        random numbers.
        """
        goal = self._settings.goal(cell)
        simulator = self._pool.take(cell.task)
        try:
            frames = simulator.start(goal, goal_visible=self._settings.goal_visible)
        except UsageError:
            self._pool.give_back(simulator)
            raise
        self.close()
        self._episode = self._new(cell, simulator)
        return self._pictured(self._episode.observations.first(frames), simulator)

    def step(self, action: Arrays) -> Step:
        """Take one step; `action["action"]` is (4,), finite, used as float32.

        In EVALUATE an episode terminates at its first success; it is truncated at the
        horizon; both can be true at once, as upstream. Raises UsageError.
        """
        live = self._live()
        cell, simulator = live.cell, live.simulator
        chosen = np.asarray(action["action"], np.float32)
        # No four finite float32 have an infinite sum in float64.
        if chosen.shape != (ACTION,) or not math.isfinite(sum(chosen.tolist())):
            raise BadArgument(
                got=f"the action {chosen.tolist()}", wanted=f"{ACTION} finite numbers"
            )
        frames, reward, success = simulator.step(chosen)
        reward = float(reward)
        terminated = success and cell.phase == Phase.EVALUATE
        truncated = simulator.steps >= self._settings.horizon
        ended = terminated or truncated
        observation = self._pictured(
            live.observations.later(frames, action=chosen, reward=reward, ended=ended), simulator
        )
        if ended:
            self.close()
        return Step(reward, observation, terminated, truncated, success)

    def get_state(self) -> bytes:
        """The episode's state, for suites of the same config and versions.

        Raises UsageError if no episode is running.
        """
        live = self._live()
        state = live.simulator.get_state()
        mark = {"suite": self._suite}
        return EpisodeState(mark, live.cell, state.steps, state.to_arrays()).to_bytes()

    def set_state(self, state: bytes) -> None:
        """Leave the present episode for the one in `state`.

        Raises UsageError, with nothing changed, for a damaged state or another suite's.
        """
        saved = read_episode_state(state)
        if saved.suite != {"suite": self._suite}:
            raise BadArgument("got a state of a suite with another config or other versions")
        goal = self._settings.goal(saved.cell)
        simulator_state = SimulatorState.from_arrays(saved.steps, saved.inside)
        simulator = self._pool.take(saved.cell.task)
        if not (simulator.fits(simulator_state) and 0 <= saved.steps < self._settings.horizon):
            self._pool.give_back(simulator)
            raise BadArgument(f"got a state that does not fit {saved.cell.task}")
        simulator.start(goal, goal_visible=self._settings.goal_visible)
        simulator.set_state(simulator_state)
        self.close()
        self._episode = self._new(saved.cell, simulator)

    def render(self) -> Array | None:
        """The table from a corner, (480, 480, 3); None before the first start.

        After an episode it is the last one's, until another world uses its simulator. Raises
        UsageError if MuJoCo cannot draw on this machine.
        """
        episode = self._episode or self._last
        if episode is None:
            return None
        return self._cameras().take(episode.simulator, _VIDEO, goal_marked=True)["image"]

    def close(self) -> None:
        """Give the simulator back; `start` may still be called."""
        if self._episode is not None:
            self._pool.give_back(self._episode.simulator)
            self._last, self._episode = self._episode, None

    def _new(self, cell: Cell, simulator: Simulator) -> _Episode:
        return _Episode(cell, simulator, self._settings.observations.of_task(cell.task))

    def _pictured(self, observation: Arrays, simulator: Simulator) -> Arrays:
        """The observation with the tensors of its camera. A hidden goal is not marked."""
        view = self._settings.observations.view
        if view is None:
            return observation
        marked = self._settings.goal_visible
        return {**observation, **self._cameras().take(simulator, view, goal_marked=marked)}

    def _live(self) -> _Episode:
        if self._episode is None:
            raise UsageError("no episode is running; call start first")
        return self._episode


_VIDEO = CameraView("corner2")  # sees the table, the arm and the goal
