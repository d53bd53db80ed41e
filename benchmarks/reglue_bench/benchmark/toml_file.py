"""Reads TOML files, and reports their mistakes by file, line and key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import ValidationError

from env_adapters.environment_configs.lines import line_of
from env_adapters.environment_configs.values import inside
from glue_server.host_settings import got_and_wanted
from reglue.errors import UnknownName, UsageError, joined
from reglue.tools.text_file import read_text

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to an entry."""


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file that has been read."""

    path: Path
    text: str
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises UsageError if it cannot be read, or is no TOML."""
        text = read_text(path)
        try:
            return cls(path, text, tomllib.loads(text))
        except ValueError as error:
            raise UsageError(f"{path} is not TOML: {error}") from error

    def error(
        self, place: str, what: object = "", *, got: object = "", wanted: object = ""
    ) -> UsageError:
        """A mistake at a key, such as `tasks.reach.variants`, in a table, or in all of it."""
        line = f"{self.path}:{line_of(self.text, place)}"
        return UsageError(line, place, what, got=got, wanted=wanted)

    def errors(
        self,
        problems: ValidationError,
        known: Callable[[Place], Iterable[str]] = lambda _: (),
        *,
        within: Place = (),
    ) -> UsageError:
        """The mistakes that pydantic found `within` a table.

        `known` are the keys of a table that has no others.
        """
        reported = problems.errors()
        # pydantic also reports the table around a mistake.
        first = [each for each in reported if not any(_is_within(o, each) for o in reported)]
        return joined([self._error((*within, *each["loc"]), each, known) for each in first])

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Add the name of a place to UsageErrors that are raised meanwhile."""
        try:
            yield
        except UsageError as error:
            raise self.error(place, error) from error

    def _error(
        self, place: Place, problem: Any, known: Callable[[Place], Iterable[str]]
    ) -> UsageError:
        if problem["type"] == "extra_forbidden":
            return self.error(path_of(place), UnknownName("key", str(place[-1]), known(place[:-1])))
        what, facts = got_and_wanted(problem)
        return self.error(path_of(place), what, **facts)


def _is_within(inner: Any, outer: Any) -> bool:
    """Whether one of pydantic's problems concerns an entry of the subject of another one."""
    depth = len(outer["loc"])
    return len(inner["loc"]) > depth and inner["loc"][:depth] == outer["loc"]


def path_of(place: Place) -> str:
    """A key's path as messages show it: `tasks.reach.variants`, `phases[0].opens`."""
    return reduce(inside, place, "")
