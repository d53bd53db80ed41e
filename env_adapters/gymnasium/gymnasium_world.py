"""Plays the cells of one Gymnasium environment, one after another, in one slot."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from env_adapters.gymnasium.space_tensors import Tensors
from env_adapters.gymnasium.state_codec import StateCodec, philox_generator, philox_words
from env_adapters.gymnasium_library import mujoco
from env_adapters.states import (
    EpisodeState,
    GeneratorState,
    read_episode_state,
    read_generator_state,
)
from reglue.environments.validation import conforming_flag, conforming_reward, say_unknown_names
from reglue.environments.world import Step
from reglue.error_message import brief
from reglue.errors import BadArgument, NotAnEnvironment, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Played
from reglue.rng import Rng
from reglue.spec import Array, Arrays, TaskSpec

_DRIVER = "SDL_VIDEODRIVER"


@contextmanager
def without_window() -> Iterator[None]:
    """Let pygame draw without a display, for which SDL would otherwise look.

    An SDL driver that the user has set in the environment is not changed.
    """
    if _DRIVER in os.environ:
        yield
        return
    os.environ[_DRIVER] = "dummy"
    try:
        yield
    finally:
        del os.environ[_DRIVER]


_SUCCESS = ("is_success", "success")  # gymnasium-robotics' words

_SEEDS = 2**31  # some environments' own generators take no more


@dataclass(slots=True)
class Episode:
    """A running episode."""

    cell: Cell
    steps: int = 0


class Goals(Protocol):
    """Goals; goal k is variant k of the task."""

    def __len__(self) -> int: ...

    def aim(self, env: Any, variant: int) -> None:
        """Make the next reset of `env` start that variant."""


class GymnasiumWorld:
    """Plays any environment; see reglue.environments.world.

    Resets are seeded with a number drawn from the cell's seed and repeat, or with the seed itself
    if the cell `seeds_reset`. So the episodes of an environment that follows Gymnasium's rules are
    functions of their cells.
    """

    clips = True
    """Whether actions are clipped to their Box; not all environments do that themselves."""

    def __init__(
        self,
        task: str,
        make: Callable[[], Any],
        observations: Tensors,
        actions: Tensors,
        *,
        goals: Goals | None = None,
    ) -> None:
        """Make the world; without `goals` the task has one variant."""
        self._task, self._make, self._goals = task, make, goals
        self._observations, self._actions = observations, actions
        self._env: Any = None  # made at the first start
        self._episode: Episode | None = None
        self.reports_success = False
        """Whether a step's `info` has had a flag of success, true or false."""

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError; the previous episode then goes on."""
        self._check_cell(cell)
        env = self._open()
        self._episode = None
        observation = self._begin(env, cell)
        say_unknown_names(observation, getattr(self._observations.space, "spaces", ()))
        self._episode = Episode(cell)
        return self._observations.arrays(observation)

    def step(self, action: Arrays) -> Step:
        """Take one step. Raises IllegalAction, with nothing changed.

        In EVALUATE an episode terminates at its first success.
        """
        self._live()
        chosen = self._actions.value(action, clip=self.clips)
        observation, reward, terminated, truncated, success = self._take(chosen)
        seen = self._observations.arrays(observation)
        return Step(reward, seen, terminated, truncated, success)

    def writes(self, spec: TaskSpec) -> bool:
        ours = (self._observations.plain_specs, self._actions.plain_specs)
        return ours == (spec.observations, spec.actions)

    def values(self, actions: Arrays) -> Sequence[Any]:
        """Values of the action space."""
        return self._actions.values(actions, clip=self.clips)

    def step_into(self, answer: Played, at: int, action: Any) -> None:
        observation, reward, terminated, truncated, success = self._take(action)
        self._observations.put(answer.observations, at, observation)
        answer.rewards[at] = reward
        if terminated:
            answer.terminated[at] = True
        if truncated:
            answer.truncated[at] = True
        if success:
            answer.success[at] = True

    def _take(self, action: Any) -> tuple[Any, float, bool, bool, bool]:
        """Take one step: its observation and reward, and whether it terminated, was truncated and
        is a success.
        """
        live = self._episode or self._live()
        answer = self._env.step(action)
        if type(answer) is not tuple or len(answer) != 5 or type(answer[4]) is not dict:
            answer = _parts("step", answer)
        observation, reward, terminated, truncated, info = answer
        live.steps += 1
        flag = _success(info) if info else None
        if flag is not None:
            self.reports_success = True
        success = flag is True
        if type(terminated) is not bool:  # few steps pay for the call
            terminated = conforming_flag("terminated", terminated)
        if type(truncated) is not bool:
            truncated = conforming_flag("truncated", truncated)
        terminated = terminated or (success and live.cell.phase == Phase.EVALUATE)
        if terminated or truncated:
            self._episode = None
        if type(reward) is not float or not math.isfinite(reward):
            reward = conforming_reward(reward)
        return observation, reward, terminated, truncated, success

    def render(self) -> Array | None:
        """The environment's picture; None unless its `render_mode` is "rgb_array"."""
        if self._env is None:
            return None
        with warnings.catch_warnings(), without_window():
            warnings.simplefilter("ignore")  # some warn if they do not draw
            try:
                picture = self._env.render()
            except NotImplementedError:
                return None
        return np.array(picture) if isinstance(picture, np.ndarray) else None

    def close(self) -> None:
        """Close the environment; `start` makes another."""
        env, self._env, self._episode = self._env, None, None
        if env is not None:
            env.close()

    def _open(self) -> Any:
        if self._env is None:
            self._env = self._make()
        return self._env

    def _begin(self, env: Any, cell: Cell) -> Any:
        if self._goals is not None:
            self._goals.aim(env, cell.variant)
        return self._reset(env, cell)

    def _reset(self, env: Any, cell: Cell) -> Any:
        clear_physics(env.unwrapped)
        seed = reset_seed(cell)
        if getattr(env.unwrapped, "takes_progress", False):
            run = {"episode": cell.repeat, "steps": cell.steps}
            return _parts("reset", env.reset(seed=seed, options=run))[0]
        return _parts("reset", env.reset(seed=seed))[0]

    def _check_cell(self, cell: Cell) -> None:
        if cell.task != self._task:
            raise UnknownName("task in this suite", cell.task, [self._task])
        variants = 1 if self._goals is None else len(self._goals)
        if not 0 <= cell.variant < variants:
            wanted = f"0 to {variants - 1}" if variants > 1 else "0, the only one"
            raise BadArgument(self._task, got=f"variant {cell.variant}", wanted=wanted)

    def _live(self) -> Episode:
        if self._episode is None:
            raise UsageError("no episode is running; call start first")
        return self._episode


def reset_seed(cell: Cell) -> int:
    """The seed of the reset that begins a cell's episode."""
    return cell.seed if cell.seeds_reset else Rng(cell.seed, cell.repeat).below(_SEEDS)


def clear_physics(env: Any) -> None:
    """Reset MuJoCo's data, such as the warm start that the last episode's solver has left.

    Most environments do that in their own reset; HandManipulate does not.
    """
    data = getattr(env, "data", None)
    if type(data).__module__.startswith("mujoco."):
        mujoco().mj_resetData(env.model, data)


_PARTS = {
    "reset": ("observation", "info"),
    "step": ("observation", "reward", "terminated", "truncated", "info"),
}


def _parts(routine: str, answer: Any) -> Any:
    """The result of `reset` or `step`. Raises NotAnEnvironment if it is not Gymnasium's tuple."""
    wanted = _PARTS[routine]
    if not isinstance(answer, (tuple, list)) or len(answer) != len(wanted):
        raise NotAnEnvironment(
            f"{routine}() returned {brief(answer)}, wanted ({', '.join(wanted)})"
        )
    if not isinstance(answer[-1], Mapping):
        raise NotAnEnvironment(f"{routine}()'s info", got=brief(answer[-1]), wanted="a dict")
    return answer


def _success(info: Mapping[str, Any]) -> bool | None:
    """The success flag; None if it is absent or None. Gymnasium has no standard name for it."""
    if info.get("is_success") is None and info.get("success") is None:
        return None
    flags = {
        name: conforming_flag(f"info[{name!r}]", info[name])
        for name in _SUCCESS
        if info.get(name) is not None
    }
    if len({*flags.values()}) > 1:
        raise NotAnEnvironment("info", got=flags, wanted="one of them, or two that agree")
    return any(flags.values())


_TIME_LIMIT = "_elapsed_steps"  # where the wrapper TimeLimit counts


class ExactWorld(GymnasiumWorld):
    """Plays an environment that has a StateCodec: Restorable and Seeded too.

    Episodes draw from `Rng(cell.seed, cell.repeat)` alone, by NumPy's distributions. If the cell
    `seeds_reset`, they draw from the generator that Gymnasium makes, and their state cannot be
    saved. Actions are not clipped: these environments clip motions themselves, and the rewards of
    some depend on the numbers beyond the bounds.
    """

    clips = False

    def __init__(  # noqa: PLR0913 - from OneEnvironment
        self,
        task: str,
        make: Callable[[], Any],
        observations: Tensors,
        actions: Tensors,
        *,
        horizon: int,
        codec: StateCodec,
        mark: Mapping[str, str],
        goals: Goals | None = None,
    ) -> None:
        super().__init__(task, make, observations, actions, goals=goals)
        self._horizon = horizon
        self._codec = codec
        self._mark = mark  # states of worlds with another mark are refused

    def get_state(self) -> bytes:
        """The episode's state, for worlds with the same id, options and versions.

        Raises UsageError if no episode is running.
        """
        live, env = self._live(), self._env.unwrapped
        arrays, generator = self._codec.read(env), philox_words(env.np_random)
        return EpisodeState(self._mark, live.cell, live.steps, arrays, generator).to_bytes()

    def set_state(self, state: bytes) -> None:
        """Leave the present episode for the one in `state`.

        Raises UsageError, with nothing changed, for a damaged state or another suite's.
        """
        saved = read_episode_state(state)
        generator = philox_generator(saved.generator)
        env = self._open()
        self._check_mark(saved.suite)
        self._check_cell(saved.cell)
        if self._episode is None:  # the environment is new, or its episode has ended
            self._begin(env, saved.cell)
        if saved.steps < 0 or 0 < self._horizon <= saved.steps:
            raise BadArgument(f"got a state after {saved.steps} steps of {self._horizon}")
        self._codec.write(env.unwrapped, saved.inside)
        env.unwrapped.np_random = generator
        if env.has_wrapper_attr(_TIME_LIMIT):
            env.set_wrapper_attr(_TIME_LIMIT, saved.steps)
        self._episode = Episode(saved.cell, saved.steps)

    def get_random_seed(self) -> bytes:
        """The generator's state. Raises UsageError if no episode is running."""
        self._live()
        return GeneratorState(self._mark, philox_words(self._env.unwrapped.np_random)).to_bytes()

    def set_random_seed(self, seed: bytes) -> None:
        """Set the generator's state. Raises UsageError with nothing changed."""
        self._live()
        saved = read_generator_state(seed)
        self._check_mark(saved.suite)
        self._env.unwrapped.np_random = philox_generator(saved.generator)

    def _open(self) -> Any:
        if self._env is None:
            env = super()._open()
            self._mark = {**self._mark, **self._codec.identity(env.unwrapped)}
        return self._env

    def _reset(self, env: Any, cell: Cell) -> Any:
        if cell.seeds_reset:
            return _parts("reset", env.reset(seed=cell.seed))[0]
        env.unwrapped.np_random = np.random.Generator(Rng(cell.seed, cell.repeat).bits)
        return _parts("reset", env.reset())[0]

    def _check_mark(self, suite: Mapping[str, str]) -> None:
        for name in sorted({*suite, *self._mark}):
            got, wanted = suite.get(name, "none"), self._mark.get(name, "none")
            if got != wanted:
                raise BadArgument(got=f"a state saved with {name} {got}", wanted=wanted)
