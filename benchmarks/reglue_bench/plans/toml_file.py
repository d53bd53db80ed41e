"""Reads TOML files, and reports their mistakes by file, line and key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from env_adapters.environment_configs.lines import line_of
from glue_server.commands.command import got_and_wanted
from reglue.errors import UnknownName, UsageError


@dataclass(frozen=True, slots=True)
class TomlFile:
    """One that was read."""

    path: Path
    text: str
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises UsageError if it cannot be read, or is no TOML."""
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path, text, tomllib.loads(text))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{path} is not TOML: {error}") from error

    def error(self, place: str, words: object) -> UsageError:
        """A mistake at a key, such as `tasks.reach.variants`, or in a table."""
        return UsageError(f"{self.path}:{line_of(self.text, place)}: {place}: {words}")

    def errors(self, problems: ValidationError, known: Iterable[str] = ()) -> UsageError:
        """The mistakes that pydantic found; `known` are keys of tables that have no others."""
        told = (self._error(each, known) for each in problems.errors())
        return UsageError("; ".join(map(str, told)))

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Has UsageErrors of what is done about a place name it."""
        try:
            yield
        except UsageError as error:
            raise self.error(place, error) from error

    def _error(self, problem: Any, known: Iterable[str]) -> UsageError:
        place = ".".join(map(str, problem["loc"]))
        match problem["type"]:
            case "missing":
                words = "is missing"
            case "extra_forbidden":
                words = str(UnknownName("key", str(problem["loc"][-1]), known))
            case _:
                words = got_and_wanted(problem)
        return self.error(place, words)
