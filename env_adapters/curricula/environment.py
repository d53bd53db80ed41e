"""A schedule as one Gymnasium environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from env_adapters.configs.environments import Env
from env_adapters.curricula.schedule import Entry, Interpolation, Pool, ScheduleError
from env_adapters.curricula.sources import Source, Sources
from env_adapters.curricula.spaces import Actions, Fit, Observations, task_ids
from env_adapters.curricula.timeline import Place, Timeline
from reglue.chance import Chance
from reglue.errors import UnknownName, UsageError

_SEEDS = 2**31  # some environments' own generators take no more
_POOLS = 2**63  # keys of pools lie above those of episodes


_Choice: TypeAlias = "Source | tuple[_Choice, ...]"
"""A source, or a pool of choices."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """An entry, and what its episodes may come from."""

    entry: Entry
    choice: _Choice


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a source's environment is like."""

    path: str
    observations: Any
    actions: Any
    name: Any


class Curriculum(gymnasium.Env[Any, Any]):
    """Plays its entries one after another; the last one goes on for ever.

    The k-th episode is a function of (schedule, seed, k, steps before it): which entry it is
    of, what a pool gives, what is drawn of distributions and the seed of the
    environment's own chance. `reset(options={"episode": k, "steps": n})` says how far the
    run is; without, episodes and steps are counted here, and a reset in mid-episode counts
    none. `reset(seed=…)` has the episode's chance follow from that seed, all but pools.

    By steps (`episodic=False`), the step at which an entry is over ends its episode: it is
    truncated. `fit` says what becomes of spaces that differ, see `env_adapters.curricula.spaces`.
    With `task_id` observations are a Dict that holds `task_id` too: the name, which must be
    numbers then.
    """

    takes_progress = True
    """Whether `reset` wants to be told how far a run is."""

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
        """Raises UsageError for environments that cannot be, or do not fit together."""
        sources = Sources(env_kwargs)
        self._stages = [
            _Stage(entry, _choice(entry.what, entry.path, sources)) for entry in entries
        ]
        self._last_use = {
            id(source): place
            for place, stage in enumerate(self._stages)
            for source in _sources(stage.choice)
        }
        self._timeline = Timeline([entry.duration for entry in entries])
        self._episodic, self._seed = episodic, seed
        self._episodes, self._steps = 0, 0
        self._env: Env | None = None
        self._end: int | None = None  # the step at which the entry is over
        self._prepared: dict[int, Source] = {}  # by id, those that hold an environment
        found = self._kinds()
        self._actions = Actions([(each.path, each.actions) for each in found], fit)
        self._observations = Observations([(each.path, each.observations) for each in found], fit)
        self.action_space = self._actions.space
        self.observation_space = self._observations.space
        self._tells_names = task_id
        if task_id:
            numbers = task_ids([(each.path, each.name) for each in found])
            self.observation_space = _with_task_id(self.observation_space, numbers)

    @property
    def unwrapped(self) -> Curriculum:
        """This one: it has the name of the environment that is on."""
        return self

    @property
    def name(self) -> Any:
        """Of the environment that is on, see NamedEnv. Raises AttributeError if it has none."""
        return self._live().unwrapped.name  # type: ignore[attr-defined]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode, or the one that `options` say."""
        super().reset(seed=seed)
        self._go_to(options or {})
        place = self._timeline.at(self._episodes if self._episodic else self._steps)
        chance = Chance(self._seed, self._episodes)
        generator = self.np_random if seed is not None else np.random.Generator(chance.bits)
        source = self._source(place)
        env, inner = source.prepare(self._alpha(place), generator)
        self._drop_unused(place.entry, source)
        self._env = env
        self._end = None if self._episodic else place.end
        observation, info = env.reset(seed=int(generator.integers(_SEEDS)), options=inner or None)
        return self._seen(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step in the environment that is on."""
        env = self._live()
        native = self._actions.native(action, env.action_space)
        observation, reward, terminated, truncated, info = env.step(native)
        self._steps += 1
        if self._end is not None and self._steps >= self._end:
            truncated = truncated or not terminated
        self._episodes += bool(terminated or truncated)
        return self._seen(observation), reward, terminated, truncated, info

    def render(self) -> Any:
        """As the environment that is on."""
        return self._live().render()

    def close(self) -> None:
        """Close all that was made here."""
        for source in self._prepared.values():
            source.close()
        self._prepared, self._env = {}, None

    def _seen(self, observation: Any) -> Any:
        seen = self._observations.shown(observation, self._live().observation_space)
        if not self._tells_names:
            return seen
        told = {"task_id": np.array(self.name, np.float64, ndmin=1)}
        return (seen if isinstance(seen, dict) else {"observation": seen}) | told

    def _live(self) -> Env:
        if self._env is None:
            raise UsageError("no episode is on; call reset first")
        return self._env

    def _go_to(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            if name not in ("episode", "steps"):
                raise UnknownName("option of a curriculum", name, ("episode", "steps"))
            if not isinstance(value, int) or value < 0:
                raise UsageError(f"{name}: got {value!r}, wanted a whole number from 0")
        self._episodes = options.get("episode", self._episodes)
        self._steps = options.get("steps", self._steps)

    def _source(self, place: Place) -> Source:
        choice = self._stages[place.entry].choice
        chance = Chance(self._seed, _POOLS + self._episodes)
        while isinstance(choice, tuple):
            choice = choice[chance.below(len(choice))]
        return choice

    def _alpha(self, place: Place) -> float:
        """How far the entry is: by episodes the k-th of n is k/n, from 1."""
        duration = self._stages[place.entry].entry.duration
        return min(1.0, (place.within + self._episodic) / duration) if duration else 1.0

    def _drop_unused(self, entry: int, source: Source) -> None:
        """Close what no entry from this one on needs."""
        self._prepared[id(source)] = source
        for key, each in list(self._prepared.items()):
            if self._last_use[key] < entry:
                each.close()
                del self._prepared[key]

    def _kinds(self) -> list[_Kind]:
        """Of each source, where it stands first; made one by one, and closed."""
        found: dict[int, _Kind] = {}
        for stage in self._stages:
            for source in _sources(stage.choice):
                if id(source) not in found:
                    found[id(source)] = _kind(source, stage.entry.path)
        return list(found.values())


def _with_task_id(seen: Any, numbers: Any) -> Any:
    entries = seen.spaces if isinstance(seen, spaces.Dict) else {"observation": seen}
    return spaces.Dict({**entries, "task_id": numbers})


def _kind(source: Source, path: str) -> _Kind:
    try:
        env, _ = source.prepare(0.0, np.random.Generator(Chance(0).bits))
    except UsageError as error:
        raise ScheduleError(path, str(error)) from error
    name = getattr(env.unwrapped, "name", None)
    kind = _Kind(path, env.observation_space, env.action_space, name)
    source.close()
    return kind


def _choice(what: Any, path: str, sources: Sources) -> _Choice:
    """Raises ScheduleError."""
    if isinstance(what, Pool):
        return tuple(
            _choice(member, f"{path}.pool[{place}]", sources)
            for place, member in enumerate(what.members)
        )
    try:
        if isinstance(what, Interpolation):
            return sources.between(what.one, what.other)
        return sources.of(what)
    except UsageError as error:
        raise ScheduleError(path, str(error)) from error


def _sources(choice: _Choice) -> Iterator[Source]:
    if isinstance(choice, tuple):
        for each in choice:
            yield from _sources(each)
    else:
        yield choice
