"""A schedule as one Gymnasium environment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env_adapters.configured import Env
from env_adapters.curricula.environment_cache import EnvironmentCache
from env_adapters.curricula.schedule import Entry, Interpreter, Reader, Reading
from env_adapters.environment_configs.values import ConfigError, is_whole
from env_adapters.fitting import FITS, Fit
from env_adapters.fitting.common_spaces import Actions, Observations
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.rng import Rng

_SEEDS = 2**31  # some environments' own generators take no more
_POOLS = 2**63  # keys of pools lie above those of episodes


class Curriculum(gymnasium.Env[Any, Any]):
    """Plays its entries one after another; the last one never ends.

    The k-th episode is a function of (schedule, seed, k, steps before it): its entry, the choice
    from a pool, the draws of distributions and the environment's seed. `reset(options={"episode":
    k, "steps": n})` says how many episodes and steps the run has had. Without it the environment
    counts episodes and steps itself, and an episode that is reset before its end does not count.
    `reset(seed=…)` seeds everything in the episode except pools.

    With `episodic=False` the last step of an entry truncates its episode. `fit` says how spaces
    that differ are combined, see `env_adapters.fitting`.
    With `task_id` observations are a Dict that also holds `task_id`: the environment's name, which
    must consist of numbers.
    """

    takes_progress = True
    """Whether `reset` takes the options `episode` and `steps`."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        episodic: bool,
        seed: int,
        env_kwargs: Mapping[str, Any],
        fit: Fit = "equal",
        task_id: bool = False,
    ) -> None:
        """Raises ConfigError for environments that cannot be made or combined."""
        self._environments = EnvironmentCache(entries, env_kwargs)
        self._durations = [entry.duration for entry in entries]
        self._timeline = Timeline(self._durations)
        self._episodic, self._seed = episodic, seed
        self._episodes, self._steps = 0, 0
        self._env: Env | None = None
        self._end: int | None = None  # the step that ends the entry
        kinds = self._environments.kinds()
        self.can_be_saved = all(each.can_be_saved for each in kinds)
        """Whether every environment can save its state (`environment_state.can_be_saved`)."""
        self._actions = Actions([(each.path, each.actions) for each in kinds], fit)
        self._observations = Observations([(each.path, each.observations) for each in kinds], fit)
        self.action_space = self._actions.space
        self.observation_space = self._observations.space
        self.render_mode = env_kwargs.get("render_mode")
        self._shows_names = task_id
        if task_id:
            numbers = _task_ids([(each.path, each.name) for each in kinds])
            self.observation_space = _with_task_id(self.observation_space, numbers)

    def another(self) -> Curriculum:
        """A Curriculum that plays the same schedule from its beginning, in environments of its own,
        which are not inspected again.
        """
        other = copy(self)
        other._environments = self._environments.another()
        other._episodes, other._steps, other._env = 0, 0, None
        return other

    @property
    def unwrapped(self) -> Curriculum:
        """This environment: its name is that of the present one."""
        return self

    @property
    def playing(self) -> Env:
        """The present environment. Raises UsageError if no episode is running."""
        if self._env is None:
            raise UsageError("no episode is running; call reset first")
        return self._env

    @property
    def name(self) -> Any:
        """The present environment's name, see NamedEnv. Raises AttributeError if it has none."""
        return self.playing.unwrapped.name  # type: ignore[attr-defined]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode, or the one that `options` name."""
        super().reset(seed=seed)
        self._go_to(options or {})
        place = self._timeline.at(self._episodes if self._episodic else self._steps)
        rng = Rng(self._seed, self._episodes)
        generator = self.np_random if seed is not None else np.random.Generator(rng.bits)
        pool = Rng(self._seed, _POOLS + self._episodes)
        env, inner = self._environments.prepare(place.entry, pool, self._alpha(place), generator)
        self._env = env
        self._native = self._actions.of(env.action_space)
        self._to_common = self._observations.of(env.observation_space)
        self._end = None if self._episodic else place.end
        observation, info = env.reset(seed=int(generator.integers(_SEEDS)), options=inner or None)
        return self._seen(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        env = self.playing
        observation, reward, terminated, truncated, info = env.step(self._native(action))
        self._steps += 1
        if self._end is not None and self._steps >= self._end:
            truncated = truncated or not terminated
        self._episodes += bool(terminated or truncated)
        return self._seen(observation), reward, terminated, truncated, info

    def skip(self, steps: int) -> None:
        """Count `steps` that another world took in this episode."""
        self._steps += steps

    def render(self) -> Any:
        return self.playing.render()

    def close(self) -> None:
        """Close every environment that was made here."""
        self._environments.close()
        self._env = None

    def _seen(self, observation: Any) -> Any:
        seen = self._to_common(observation)
        if not self._shows_names:
            return seen
        task_id = {"task_id": np.array(self.name, np.float64, ndmin=1)}
        return (seen if isinstance(seen, dict) else {"observation": seen}) | task_id

    def _go_to(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            if name not in ("episode", "steps"):
                raise UnknownName("option of a curriculum", name, ("episode", "steps"))
            if not is_whole(value) or value < 0:
                raise BadArgument(name, got=repr(value), wanted="an integer from 0")
        self._episodes = int(options.get("episode", self._episodes))
        self._steps = int(options.get("steps", self._steps))

    def _alpha(self, place: Place) -> float:
        """The share of the entry that has been played: k/n in episode k of n, counted from 1."""
        duration = self._durations[place.entry]
        return min(1.0, (place.within + self._episodic) / duration) if duration else 1.0


def _with_task_id(seen: Any, numbers: Any) -> Any:
    entries = seen.spaces if isinstance(seen, spaces.Dict) else {"observation": seen}
    return spaces.Dict({**entries, "task_id": numbers})


def _task_ids(names: Sequence[tuple[str, Any]]) -> Any:
    """The Box of names that are numbers or equally long lists of numbers. Raises ConfigError."""
    wanted = 0
    for path, name in names:
        try:
            numbers = np.array(name, np.float64, ndmin=1)
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
            raise ConfigError(
                path, got=f"the name {name!r}", wanted="numbers: they are the task_id"
            )
        wanted = wanted or numbers.size
        if numbers.size != wanted:
            as_first = f"{wanted} numbers as at {names[0][0]}"
            raise ConfigError(path, got=f"the name {name!r}", wanted=as_first)
    return spaces.Box(-np.inf, np.inf, (wanted,), np.float64)


@dataclass(frozen=True, slots=True)
class Place:
    """The entry that an episode plays, and where in it the episode begins."""

    entry: int  # its index in the schedule
    within: int  # episodes or steps of this entry before the episode
    end: int | None  # episodes or steps of the run at which the entry ends; None: never


class Timeline:
    """Entries one after another, each as long as `durations` says.

    The last entry never ends. An entry of duration 0 is played for one episode, or one step, by
    which the next entry is shorter: entry i ends at the sum of the durations up to it, and at least
    one episode or step after the entry before it. Source: Meta Arcade, `curriculum_tools`.
    """

    def __init__(self, durations: Sequence[int]) -> None:
        self._ends: list[int] = []
        total = end = 0
        for duration in durations:
            total += duration
            end = max(total, end + 1)
            self._ends.append(end)

    def at(self, position: int) -> Place:
        """The entry after `position` episodes or steps of the run."""
        last = len(self._ends) - 1
        entry = min(bisect_right(self._ends, position), last)
        begin = self._ends[entry - 1] if entry else 0
        return Place(entry, position - begin, self._ends[entry] if entry < last else None)


def make_curriculum(  # noqa: PLR0913 - the original's, and ours
    schedule: Any,
    *,
    primary_interpreter: Interpreter | None = None,
    episodic: bool = False,
    across_workers: int = 1,
    seed: int = 0,
    key_readers: Mapping[str, Reader] | None = None,
    fit: Fit = "equal",
    task_id: bool = False,
    **env_kwargs: Any,
) -> tuple[Curriculum, int]:
    """An environment that plays `schedule`, and the schedule's total duration.

    `schedule` is a list of `[what, duration]`, see `env_adapters.curricula.schedule`.
    Durations count steps, or episodes if `episodic`. Each of `across_workers` copies gets its
    share of every duration, rounded down. All draws follow from `seed`.
    `primary_interpreter(what, **env_kwargs)` makes the environment of each entry, and of each
    member of a pool, from whatever the schedule has in its place; you close these environments.
    `key_readers` read entries of other keys. `fit` says how spaces that differ are combined
    (`env_adapters.fitting`). `task_id` shows numeric names in observations.
    `env_kwargs` are passed to every environment that is made here. Raises ConfigError, which says
    what is wrong and where in the schedule.
    """
    _check_integer("across_workers", across_workers, 1)
    _check_integer("seed", seed, 0)
    _check_flag("episodic", episodic)
    _check_flag("task_id", task_id)
    if fit not in FITS:
        raise ConfigError("fit", str(UnknownName("fit", str(fit), FITS)))
    if primary_interpreter is not None and not callable(primary_interpreter):
        raise ConfigError(
            "primary_interpreter", got=repr(primary_interpreter), wanted="a function of an entry"
        )
    readers = {} if key_readers is None else key_readers
    _check_readers(readers)
    entries = Reading(episodic, across_workers, readers, env_kwargs, primary_interpreter).entries(
        schedule
    )
    if not entries:
        raise ConfigError("schedule", "got nothing to play, since every entry is repeated 0 times")
    env = Curriculum(
        entries, episodic=episodic, seed=int(seed), env_kwargs=env_kwargs, fit=fit, task_id=task_id
    )
    return env, sum(entry.duration for entry in entries)


def interpolation(
    config1: Any, config2: Any, duration: int, *, episodic: bool = False, **env_kwargs: Any
) -> Curriculum:
    """From one config to the other within `duration`, as Meta Arcade's `MetaArcadeInterpolate-v0`.

    Raises ConfigError.
    """
    schedule = [[{"interpolate": [config1, config2]}, duration]]
    return make_curriculum(schedule, episodic=episodic, **env_kwargs)[0]


def _check_integer(name: str, value: object, least: int) -> None:
    if not is_whole(value) or not least <= value < 2**63:
        raise ConfigError(name, got=repr(value), wanted=f"an integer from {least} below 2**63")


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(name, got=repr(value), wanted="True or False")


def _check_readers(value: object) -> None:
    if not isinstance(value, Mapping) or not all(map(callable, value.values())):
        raise ConfigError("key_readers", got=repr(value), wanted="functions by their keys")
