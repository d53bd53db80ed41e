"""The environments of a schedule: how each is made, and when it is closed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import gymnasium
import numpy as np

from env_adapters.configured import Configured, Env, configured
from env_adapters.curricula.environment_state import can_be_saved
from env_adapters.curricula.named_env import NamedEnv
from env_adapters.curricula.schedule import Entry, Interpolation, Pool
from env_adapters.environment_configs import check_interpolation, interpolate, sample
from env_adapters.environment_configs.distributions import extremes
from env_adapters.environment_configs.values import ConfigError, inside
from env_adapters.gymnasium.gymnasium_world import clear_physics
from reglue.errors import BadArgument, CannotLoad, UsageError
from reglue.rng import Rng

_Choice: TypeAlias = "Source | tuple[_Choice, ...]"
"""A source, or a pool of these."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties of one environment."""

    path: str  # where it first is in the schedule
    observations: Any
    actions: Any
    name: Any
    can_be_saved: bool  # in mid-episode


class EnvironmentCache:
    """Makes an environment when an episode needs it, and drops it when no later entry does."""

    def __init__(self, entries: Sequence[Entry], env_kwargs: Mapping[str, Any]) -> None:
        """Raises ConfigError. Nothing is made yet."""
        self._entries, self._env_kwargs = entries, env_kwargs
        self._paths: dict[int, tuple[Source, str]] = {}  # by id, with its first path
        sources = Sources(env_kwargs)
        choices: dict[int, _Choice] = {}  # by id: a repeated entry is one object
        for entry in entries:
            if id(entry) not in choices:
                choices[id(entry)] = self._choice(entry.what, entry.path, sources)
        self._choices = [choices[id(entry)] for entry in entries]
        self._last_use = {
            id(source): place
            for place, choice in enumerate(self._choices)
            for source in _sources(choice)
        }
        self._open: dict[int, Source] = {}  # by id, those that hold an environment

    def another(self) -> EnvironmentCache:
        """A cache for the same schedule, which makes environments of its own."""
        return EnvironmentCache(self._entries, self._env_kwargs)

    def kinds(self) -> list[Kind]:
        """Make, inspect and close each environment; their properties. Raises ConfigError."""
        return [kind for source, path in self._paths.values() for kind in _kinds(source, path)]

    def prepare(
        self, entry: int, pool: Rng, alpha: float, generator: np.random.Generator
    ) -> Prepared:
        """The environment for an episode of `entry`, an index.

        `pool` chooses members of pools; `alpha` and `generator` as in Source. Raises ConfigError.
        """
        choice = self._choices[entry]
        while isinstance(choice, tuple):
            choice = choice[pool.below(len(choice))]
        with errors_at(self._paths[id(choice)][1]):
            prepared = choice.prepare(alpha, generator)
        self._open[id(choice)] = choice
        for key, source in list(self._open.items()):
            if self._last_use[key] < entry:
                source.close()
                del self._open[key]
        return prepared

    def close(self) -> None:
        """Close every environment that was made here."""
        for source in self._open.values():
            source.close()
        self._open = {}

    def _choice(self, what: Any, path: str, sources: Sources) -> _Choice:
        if isinstance(what, Pool):
            paths = (inside(f"{path}.pool", place) for place in range(len(what.members)))
            return tuple(
                self._choice(*member, sources) for member in zip(what.members, paths, strict=True)
            )
        if isinstance(what, Interpolation):
            path = f"{path}.interpolate"
            with errors_at(path):
                source = sources.between(what.one, what.other)
        else:
            with errors_at(path):
                source = sources.of(what)
        self._paths.setdefault(id(source), (source, path))
        return source


def _kinds(source: Source, path: str) -> list[Kind]:
    try:
        with errors_at(path):
            return [
                Kind(path, env.observation_space, env.action_space, _name(env), can_be_saved(env))
                for env in source.extremes()
            ]
    finally:
        source.close()


def _name(env: Any) -> Any:
    return getattr(env.unwrapped, "name", None)


def _sources(choice: _Choice) -> Iterator[Source]:
    if isinstance(choice, tuple):
        for each in choice:
            yield from _sources(each)
    else:
        yield choice


Prepared: TypeAlias = tuple[Env, dict[str, Any]]
"""An environment, and the options of its reset."""


class Source(Protocol):
    """Makes one environment of a schedule, or one whose config changes during an entry."""

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        """The environment for one episode. `alpha` is the share of its entry that has been played,
        0 to 1; `generator` draws from distributions.
        """

    def extremes(self) -> Iterator[Env]:
        """For inspection: the environment with each distribution at its lowest, then at its
        highest. An environment that is made here has begun an episode. Raises UsageError.
        """

    def close(self) -> None:
        """Close the environment, unless the caller made it; `prepare` makes another."""


class ObjectSource:
    """A Gymnasium environment that the caller has made."""

    def __init__(self, env: Env) -> None:
        self._env = env

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        return self._env, {}

    def extremes(self) -> Iterator[Env]:
        yield self._env

    def close(self) -> None:
        pass  # the caller closes it


class ConfigSource:
    """The environment of a config, set to values between that and another, if there is one."""

    def __init__(self, one: Configured, other: dict[str, Any] | None = None) -> None:
        """Raises ConfigError if the two cannot be interpolated."""
        if other is not None:
            first, second = one.config["env"], other["env"]
            if first != second:
                wanted = "one environment, whose values change"
                raise ConfigError("env", got=f"{first} and {second}", wanted=wanted)
            check_interpolation(one.config, other)
        self._environment, self._other = one, other

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        return _prepare(self._environment, sample(self._at(alpha), generator))

    def extremes(self) -> Iterator[Env]:
        for alpha in (0.0,) if self._other is None else (0.0, 1.0):
            yield from _begin_at_extremes(self._environment, self._at(alpha))

    def close(self) -> None:
        self._environment.close()

    def _at(self, alpha: float) -> dict[str, Any]:
        config = self._environment.config
        return config if self._other is None else interpolate(config, self._other, alpha)


class Sources:
    """Sources by their descriptions: equal descriptions share one source."""

    def __init__(self, env_kwargs: Mapping[str, Any]) -> None:
        self._env_kwargs = env_kwargs
        self._sources: dict[str, Source] = {}

    def of(self, what: Any) -> Source:
        """The source of an environment, a name, a path or a config. Raises UsageError."""
        if isinstance(what, gymnasium.Env):
            if getattr(what.unwrapped, "takes_progress", False):
                raise BadArgument(got="a curriculum", wanted="its schedule: `repeat` it once")
            return self._shared(f"given {id(what)}", ObjectSource(what))
        environment = configured(what, self._env_kwargs)
        return self._shared(json.dumps(environment.config), ConfigSource(environment))

    def between(self, one: Any, other: Any) -> Source:
        """The source between two configs. Raises UsageError, also for environments without a
        config.
        """
        first, last = (self._end(k, end) for k, end in enumerate((one, other)))
        with errors_at("[0]"):
            source = ConfigSource(first, last.config)
        return self._shared(json.dumps([first.config, last.config]), source)

    def _end(self, place: int, what: Any) -> Configured:
        if isinstance(what, gymnasium.Env):
            raise BadArgument(got=what, wanted="two configs, between whose values it changes")
        with errors_at(f"[{place}]"):
            return configured(what, self._env_kwargs)

    def _shared(self, key: str, source: Source) -> Source:
        return self._sources.setdefault(key, source)


@contextmanager
def errors_at(path: str) -> Iterator[None]:
    """Turn a UsageError inside into a ConfigError at `path`."""
    try:
        yield
    except ConfigError as error:
        raise error.within(path) from error
    except UsageError as error:
        raise ConfigError(path, str(error)) from error


def _prepare(environment: Configured, config: dict[str, Any]) -> Prepared:
    """The environment of a config without distributions, its physics cleared."""
    env, options = environment.prepare(config)
    clear_physics(env.unwrapped)
    return NamedEnv(env, config.get("name", config["env"])), options


def _begin_at_extremes(environment: Configured, config: dict[str, Any]) -> Iterator[Env]:
    for end in extremes(config):
        try:
            env, options = _prepare(environment, end)
            env.reset(seed=0, options=options or None)
        except UsageError:
            raise
        except Exception as error:  # the edge of somebody's environment
            what = f"{type(error).__name__}: {error}"
            raise CannotLoad(f"{config['env']} cannot begin an episode: {what}") from error
        yield env
