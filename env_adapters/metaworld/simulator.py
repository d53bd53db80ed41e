"""Sets, reads and restores, to the bit, one Meta-World environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.disk_cache import DiskCache, cache_folder
from env_adapters.metaworld.resets import SettledStates
from env_adapters.metaworld.shared_env import Models, SharedEnvs
from reglue.errors import BadArgument
from reglue.spec import Arrays

MAX_HORIZON = 500
"""Steps after which Meta-World's environments refuse to go on (`max_path_length`)."""

Floats = npt.NDArray[np.float64]

_Step = Callable[[npt.NDArray[Any]], tuple[Floats, Any, Any]]  # observation, reward, success


@dataclass(frozen=True, slots=True)
class SimulatorState:
    """The state that an episode changes; everything else follows from task and goal.

    Source: metaworld 3.1.1, where the flags `pickCompleted`,
    `placeCompleted` and `reachCompleted` are written only by the old reward
    functions ("v1"), and `_last_stable_obs` is never read, so neither is saved.
    """

    physics: Floats  # MuJoCo's integration state, (n,), n depends on the task
    previous: Floats  # the last frame, (18,): observations stack two
    steps: int  # since the episode began
    first_distance: float | None  # bin-picking's object to its target at the first step

    def to_arrays(self) -> Arrays:
        """The state without `steps`, by name; float64."""
        arrays = {"physics": self.physics, "previous": self.previous}
        if self.first_distance is not None:
            arrays["first_distance"] = np.array(self.first_distance)
        return arrays

    @classmethod
    def from_arrays(cls, steps: int, arrays: Arrays) -> SimulatorState:
        """The state with these arrays. Raises UsageError for arrays that are no state."""
        names = {"physics", "previous", *(arrays.keys() & {"first_distance"})}
        if arrays.keys() != names or any(array.dtype != np.float64 for array in arrays.values()):
            raise BadArgument(
                got=f"a state of {sorted(arrays)}", wanted=f"{sorted(names)} in float64"
            )
        first = arrays.get("first_distance")
        if first is not None and first.shape != ():
            raise BadArgument(got=f"a first_distance of shape {first.shape}", wanted="one number")
        return cls(
            arrays["physics"], arrays["previous"], steps, None if first is None else float(first)
        )


class Simulator:
    """Plays one task; an episode is a function of the goal and the actions alone.

    The first simulator of a task takes 24 MB and 100 ms, or 20 ms with a cached model; further
    ones take turns in its environment (see `shared_env`). `resets` explains the cost of a start.
    There is no seed: once the goal is set, nothing in the 50 tasks draws a random number. `fast` is
    for comparisons: it changes a step's cost, and no bit; see env_adapters.metaworld.fast_step.
    """

    def __init__(self, task: str, envs: SharedEnvs, *, fast: bool = True) -> None:
        self.task = task
        self._share = envs.share(task)
        self._shared = self._share.env
        self._env, stand_in_env = self._shared.env, self._shared.stand_in_env
        self._step: _Step = (
            stand_in_env.step if stand_in_env and fast else partial(_plain_step, self._env)
        )

    @property
    def steps(self) -> int:
        """Steps since the episode began."""
        return int(self._share.attributes["curr_path_length"])

    @property
    def model(self) -> Any:
        """The MjModel that simulators share; after `get_state` it has this one's positions."""
        return self._env.model

    def start(self, goal: Sequence[float], *, goal_visible: bool) -> Floats:
        """Begin an episode; its first observation, (39,). Raises UsageError.

        The goal must be one that Meta-World drew: some tasks wait forever for a
        goal that is far enough from their object.
        """
        size = self._env._random_reset_space.low.size
        if len(goal) != size:
            raise BadArgument(self.task, got=f"a goal of {len(goal)} numbers", wanted=size)
        self._share.take()
        return self._shared.resets.start(goal, goal_visible=goal_visible)

    def step(self, action: npt.NDArray[Any]) -> tuple[Floats, Any, bool]:
        """Observation (39,), reward and success flag after `action`, (4,) float32 or float64.

        The reward is of the type that Meta-World makes it: float, np.float32 or np.float64.

        The action is passed on unchanged: Meta-World clips the motion, MuJoCo the
        gripper. Clipping the gripper beforehand would change rewards in their last
        bits, since several tasks compute in float32 or float64 by whether it is above 1.
        """
        self._share.take()
        observation, reward, success = self._step(action)
        return observation, reward, bool(success == 1.0)

    def get_state(self) -> SimulatorState:
        """A copy of everything that the episode has changed so far."""
        self._share.take()
        return SimulatorState(
            self._shared.physics.read(),
            self._env._prev_obs.copy(),
            self.steps,
            getattr(self._env, "_target_to_obj_init", None),
        )

    def fits(self, state: SimulatorState) -> bool:
        """Whether `state` has the sizes of this task's."""
        sizes = (self._share.physics.shape, self._share.attributes["_prev_obs"].shape)
        return (state.physics.shape, state.previous.shape) == sizes

    def set_state(self, state: SimulatorState) -> None:
        """Continue from `state`, after `start` with the same goal."""
        self._share.take()
        self._shared.physics.restore(state.physics)
        self._env._prev_obs = state.previous.copy()
        self._env.curr_path_length = state.steps
        if hasattr(self._env, "_target_to_obj_init"):
            self._env._target_to_obj_init = state.first_distance


def _plain_step(env: Any, action: npt.NDArray[Any]) -> tuple[Floats, Any, Any]:
    observation, reward, _, _, info = env.step(action)
    return observation, reward, info["success"]


class SimulatorPool:
    """A pool of simulators, used again for later episodes of their task. For one thread.

    At most `most_idle` simulators are idle; the one that has been idle longest is dropped.
    Environments and models are never dropped: those of all 50 tasks take 1.2 GB.
    """

    def __init__(self, most_idle: int = 64) -> None:
        self._most_idle = most_idle
        cache = DiskCache(cache_folder())
        self._envs = SharedEnvs(Models(cache), SettledStates(cache))
        self._idle: list[Simulator] = []  # the longest idle first

    def take(self, task: str) -> Simulator:
        """A simulator of `task`; return it with `give_back`."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place].task == task:
                return self._idle.pop(place)
        return Simulator(task, self._envs)

    def give_back(self, simulator: Simulator) -> None:
        """Return a simulator whose episode is over or abandoned."""
        self._idle.append(simulator)
        if len(self._idle) > self._most_idle:
            self._idle.pop(0)
