"""The environments of a schedule: when each is made and closed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import gymnasium
import numpy as np

from env_adapters.configured import Configured, Env, configured
from env_adapters.curricula.environment_state import can_be_kept
from env_adapters.curricula.named_env import NamedEnv
from env_adapters.curricula.schedule import Entry, Interpolation, Pool
from env_adapters.environment_configs import check_interpolation, interpolate, sample
from env_adapters.environment_configs.distributions import extremes
from env_adapters.environment_configs.values import ConfigError, inside
from env_adapters.gymnasium.gymnasium_world import forget_physics
from reglue.errors import BadArgument, CannotLoad, UsageError
from reglue.rng import Rng

_Choice: TypeAlias = "Source | tuple[_Choice, ...]"
"""A source, or a pool of choices."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One environment's properties."""

    path: str  # its first place in the schedule
    observations: Any
    actions: Any
    name: Any
    can_be_kept: bool  # in mid-episode


class EnvironmentCache:
    """Makes an environment when an episode needs it, and drops it when no later entry does."""

    def __init__(self, entries: Sequence[Entry], env_kwargs: Mapping[str, Any]) -> None:
        """Raises ConfigError. Nothing is made yet."""
        self._entries, self._env_kwargs = entries, env_kwargs
        self._places: dict[int, tuple[Source, str]] = {}  # by id, with its first path
        sources = Sources(env_kwargs)
        choices: dict[int, _Choice] = {}  # by id: what is repeated is one entry
        for entry in entries:
            if id(entry) not in choices:
                choices[id(entry)] = self._choice(entry.what, entry.path, sources)
        self._choices = [choices[id(entry)] for entry in entries]
        self._last_use = {
            id(source): place
            for place, choice in enumerate(self._choices)
            for source in _sources(choice)
        }
        self._prepared: dict[int, Source] = {}  # by id, those that hold an environment

    def another(self) -> EnvironmentCache:
        """One of the same schedule, which makes its own environments."""
        return EnvironmentCache(self._entries, self._env_kwargs)

    def kinds(self) -> list[Kind]:
        """The properties of all: makes, inspects and closes each. Raises ConfigError."""
        return [kind for source, path in self._places.values() for kind in _kinds(source, path)]

    def prepare(
        self, entry: int, pool: Rng, alpha: float, generator: np.random.Generator
    ) -> Prepared:
        """For an episode of that entry; `pool` chooses from a pool. Raises ConfigError."""
        choice = self._choices[entry]
        while isinstance(choice, tuple):
            choice = choice[pool.below(len(choice))]
        with standing(self._places[id(choice)][1]):
            prepared = choice.prepare(alpha, generator)
        self._prepared[id(choice)] = choice
        for key, source in list(self._prepared.items()):
            if self._last_use[key] < entry:
                source.close()
                del self._prepared[key]
        return prepared

    def close(self) -> None:
        """Close every environment that was made here."""
        for source in self._prepared.values():
            source.close()
        self._prepared = {}

    def _choice(self, what: Any, path: str, sources: Sources) -> _Choice:
        if isinstance(what, Pool):
            paths = (inside(f"{path}.pool", place) for place in range(len(what.members)))
            return tuple(
                self._choice(*member, sources) for member in zip(what.members, paths, strict=True)
            )
        if isinstance(what, Interpolation):
            path = f"{path}.interpolate"
            with standing(path):
                source = sources.between(what.one, what.other)
        else:
            with standing(path):
                source = sources.of(what)
        self._places.setdefault(id(source), (source, path))
        return source


def _kinds(source: Source, path: str) -> list[Kind]:
    try:
        with standing(path):
            return [
                Kind(path, env.observation_space, env.action_space, _name(env), can_be_kept(env))
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
    """One environment, or one that changes between two."""

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        """The environment for one episode. `alpha` says how far its entry is, 0 to 1; `generator`
        draws from distributions.
        """

    def extremes(self) -> Iterator[Env]:
        """For inspection: the environment at each end of its config's range. An environment that
        is made here has begun an episode, which shows that it can. Raises UsageError.
        """

    def close(self) -> None:
        """Close it; `prepare` makes what it needs."""


class Given:
    """A Gymnasium environment that the caller has made."""

    def __init__(self, env: Env) -> None:
        self._env = env

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        """Always the same."""
        return self._env, {}

    def extremes(self) -> Iterator[Env]:
        """As it is."""
        yield self._env

    def close(self) -> None:
        """Nothing: the caller closes it."""


class Described:
    """One that a config describes."""

    def __init__(self, environment: Configured) -> None:
        self._environment = environment

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        """Drawn from its distributions."""
        return _prepared(self._environment, sample(self._environment.config, generator))

    def extremes(self) -> Iterator[Env]:
        """At the ends of its distributions."""
        return _begun(self._environment, self._environment.config)

    def close(self) -> None:
        """Close it."""
        self._environment.close()


class Between:
    """From one config to another: the first's environment, set to values between the two."""

    def __init__(self, one: Configured, other: dict[str, Any]) -> None:
        """Raises ConfigError if the two cannot be interpolated."""
        got, wanted = other["env"], one.config["env"]
        if got != wanted:
            raise ConfigError("env", f"got {wanted} and {got}, wanted one: its values change")
        check_interpolation(one.config, other)
        self._environment, self._other = one, other

    def prepare(self, alpha: float, generator: np.random.Generator) -> Prepared:
        """As far as `alpha` says."""
        return _prepared(self._environment, sample(self._between(alpha), generator))

    def extremes(self) -> Iterator[Env]:
        """At the ends of both configs' distributions."""
        yield from _begun(self._environment, self._between(0.0))
        yield from _begun(self._environment, self._between(1.0))

    def close(self) -> None:
        """Close it."""
        self._environment.close()

    def _between(self, alpha: float) -> dict[str, Any]:
        config: dict[str, Any] = interpolate(self._environment.config, self._other, alpha)
        return config


class Sources:
    """One source for equal descriptions."""

    def __init__(self, env_kwargs: Mapping[str, Any]) -> None:
        self._env_kwargs = env_kwargs
        self._found: dict[str, Source] = {}

    def of(self, what: Any) -> Source:
        """For an environment, a name, a path or a config. Raises UsageError."""
        if isinstance(what, gymnasium.Env):
            if getattr(what.unwrapped, "takes_progress", False):
                raise BadArgument("got a curriculum, wanted its schedule: `repeat` it once")
            return self._kept(f"given {id(what)}", Given(what))
        environment = configured(what, self._env_kwargs)
        return self._kept(json.dumps(environment.config), Described(environment))

    def between(self, one: Any, other: Any) -> Source:
        """Raises UsageError, also for environments that no config describes."""
        first, last = (self._end(k, end) for k, end in enumerate((one, other)))
        with standing("[0]"):
            source = Between(first, last.config)
        return self._kept(json.dumps([first.config, last.config]), source)

    def _end(self, place: int, what: Any) -> Configured:
        if isinstance(what, gymnasium.Env):
            raise BadArgument(f"got {what}, wanted two configs: values of these change")
        with standing(f"[{place}]"):
            return configured(what, self._env_kwargs)

    def _kept(self, key: str, source: Source) -> Source:
        return self._found.setdefault(key, source)


@contextmanager
def standing(path: str) -> Iterator[None]:
    """Errors inside name `path` as the place of the mistake. Raises ConfigError."""
    try:
        yield
    except ConfigError as error:
        raise error.within(path) from error
    except UsageError as error:
        raise ConfigError(path, str(error)) from error


def _prepared(environment: Configured, config: dict[str, Any]) -> Prepared:
    """With every distribution drawn."""
    env, options = environment.prepare(config)
    forget_physics(env.unwrapped)
    return NamedEnv(env, config.get("name", config["env"])), options


def _begun(environment: Configured, config: dict[str, Any]) -> Iterator[Env]:
    for end in extremes(config):
        try:
            env, options = _prepared(environment, end)
            env.reset(seed=0, options=options or None)
        except UsageError:
            raise
        except Exception as error:  # the edge of somebody's environment
            what = f"{type(error).__name__}: {error}"
            raise CannotLoad(f"{config['env']} cannot begin an episode: {what}") from error
        yield env
