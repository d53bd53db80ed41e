"""A schedule: environments, and how long each is played. It is read and checked before any
environment is made, except by the caller's `primary_interpreter`.

A schedule is a list of `[what, duration]`. `what` is an environment (see
`env_adapters.configured`), or a dict of one key:

- `{"pool": [what, …]}`: one of them, drawn for each episode;
- `{"interpolate": [config, config]}`: from the first to the second;
- `{"repeat": schedule}`: that many times, in place of a duration;
- a key of the caller's own readers.

Source: Meta Arcade, "Building Curricula".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from env_adapters.environment_configs.values import ConfigError, inside, is_whole
from reglue.errors import UnknownName

Reader: TypeAlias = Callable[..., Sequence[Any]]
"""`reader(data, duration, *, episodic, across_workers, **env_kwargs)` returns a schedule, in which
it has divided durations among workers itself."""

Interpreter: TypeAlias = Callable[..., Any]
"""`interpreter(what, **env_kwargs)` returns an environment, or what describes one."""

_MOST = 1_000_000
"""Entries, with repeats written out."""

_DEEPEST = 50
"""The most levels of nested schedules and pools."""


_KEYS = ("pool", "repeat", "interpolate")


@dataclass(frozen=True, slots=True)
class Pool:
    """Several environments, of which one is drawn for each episode."""

    members: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Interpolation:
    """A change from one config to another."""

    one: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """A part of the schedule without repeats."""

    what: Any  # a Pool, an Interpolation, or an environment's description
    duration: int  # episodes or steps, of one worker
    path: str  # its path in the schedule, for messages


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads a schedule; the arguments of `make_curriculum` that this needs."""

    episodic: bool
    across_workers: int
    readers: Mapping[str, Reader]
    env_kwargs: Mapping[str, Any]
    interpreter: Interpreter | None = None

    def entries(self, schedule: Any, path: str = "schedule") -> list[Entry]:
        """The schedule's entries, in order, with repeats written out. Raises ConfigError."""
        if not isinstance(schedule, list | tuple) or not schedule:
            raise ConfigError(path, got=repr(schedule), wanted="a list of [what, duration]")
        entries: list[Entry] = []
        for place, entry in enumerate(schedule):
            entries += self._entry(entry, inside(path, place))
            if len(entries) > _MOST:
                raise ConfigError(path, f"got more than {_MOST} entries, repeats written out")
        return entries

    def _entry(self, entry: Any, path: str) -> list[Entry]:
        if not isinstance(entry, list | tuple) or len(entry) != 2:
            raise ConfigError(path, got=repr(entry), wanted="[what, duration]")
        what, duration = entry
        duration = _duration(duration, path)
        key = self._special_key(what, self.readers, path)
        if key == "repeat":
            return self._repeat(what[key], duration, path)
        if key in self.readers:
            return self._read(key, what[key], duration, path)
        return [Entry(self._read_what(what, path), duration // self.across_workers, path)]

    def _repeat(self, schedule: Any, times: int, path: str) -> list[Entry]:
        once = self.entries(schedule, f"{path}.repeat")
        if len(once) * times > _MOST:
            raise ConfigError(path, f"got more than {_MOST} entries, repeats written out")
        return once * times

    def _read(self, key: str, data: Any, duration: int, path: str) -> list[Entry]:
        read = self.readers[key](
            data,
            duration,
            episodic=self.episodic,
            across_workers=self.across_workers,
            **self.env_kwargs,
        )
        whole = Reading(self.episodic, 1, self.readers, self.env_kwargs)
        return whole.entries(read, f"{path}.{key}")

    def _special_key(self, what: Any, readers: Mapping[str, Reader], path: str) -> str:
        """The key of an entry such as a pool; "" for an environment. Raises ConfigError."""
        if path.count("[") > _DEEPEST:
            raise ConfigError(path, f"got more than {_DEEPEST} nested schedules and pools")
        if not isinstance(what, dict):
            return ""
        keys = [key for key in what if key in _KEYS or key in readers]
        if not keys and self.interpreter is not None:
            return ""
        if not keys and "env" not in what and "game_elements" not in what:
            key = str(next(iter(what), ""))
            unknown = UnknownName("scheduling key", key, [*_KEYS, *readers, "env"])
            raise ConfigError(path, str(unknown))
        if not keys:
            return ""
        if len(what) > 1:
            raise ConfigError(path, got=f"the keys {', '.join(map(str, what))}", wanted="one")
        return str(keys[0])

    def _read_what(self, what: Any, path: str) -> Any:
        """A Pool, an Interpolation, or an environment's description."""
        key = self._special_key(what, {}, path)
        if key == "pool":
            members = what[key]
            if not isinstance(members, list | tuple) or not members:
                raise ConfigError(
                    f"{path}.pool", got=repr(members), wanted="a list of environments"
                )
            return Pool(
                tuple(
                    self._read_what(each, inside(f"{path}.pool", k))
                    for k, each in enumerate(members)
                )
            )
        if key == "interpolate":
            ends = what[key]
            if not isinstance(ends, list | tuple) or len(ends) != 2:
                raise ConfigError(f"{path}.interpolate", got=repr(ends), wanted="[config, config]")
            return Interpolation(*ends)
        if key:
            raise ConfigError(path, got=f"a {key} in a pool", wanted="environments")
        if self.interpreter is None:
            return what
        return self.interpreter(what, **self.env_kwargs)


def _duration(value: Any, path: str) -> int:
    if not is_whole(value) or value < 0:
        raise ConfigError(path, got=f"the duration {value!r}", wanted="an integer from 0")
    return int(value)
