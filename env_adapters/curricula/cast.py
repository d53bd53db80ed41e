"""The environments of a schedule: when each is made and closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from env_adapters.curricula.kept import can_be_kept
from env_adapters.curricula.schedule import Entry, Interpolation, Pool
from env_adapters.curricula.sources import Prepared, Source, Sources, standing
from env_adapters.environment_configs.values import inside
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
