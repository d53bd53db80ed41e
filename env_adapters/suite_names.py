"""Suites by name: a factory and its JSON, so that any process can build them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env_adapters.argument_checks import DRAWS
from reglue.environments.world import Suite
from reglue.errors import NotAnEnvironment, ReglueError, UsageError, raise_interrupt
from reglue.tools.loading import check_arguments, find

_MEMBERS = ("spec", "variants", "standardizes", "world")  # of a Suite

_OWN_FILE = re.compile(r"([^:]+\.py):\w+")  # file.py:Class


def check_suite(suite: object, told: str) -> None:
    """Raise NotAnEnvironment, which begins with `told`, unless it has what a Suite has."""
    if missing := [name for name in _MEMBERS if not hasattr(suite, name)]:
        raise NotAnEnvironment(
            f"{told}, which has no {', '.join(missing)}; "
            f"wanted a suite of environments, with {', '.join(_MEMBERS)}"
        )


@dataclass(frozen=True, slots=True)
class SuiteName:
    """A suite by `module:factory` or `file.py:factory`, and JSON."""

    factory: str
    config: Mapping[str, Any]

    def build(self) -> Suite:
        """Call the factory with the config's entries as keywords.

        A factory may be a class of `gymnasium.Env`, or a function that makes one. Raises
        UsageError, also where its author's code fails.
        """
        from env_adapters.gymnasium.gymnasium_suite import suite_made_by  # costs 30 ms

        make = find(self.factory)
        check_arguments(self.factory, make, self.config)
        try:
            suite: Suite = suite_made_by(make, self.config)
            check_suite(suite, f"{self.factory} made a {type(suite).__name__}")
        except ReglueError:
            raise
        except Exception as error:  # the edge of somebody's suite
            raise_interrupt(error)
            raise UsageError(
                f"the environment {self.factory} cannot be made: {type(error).__name__}: {error}"
            ) from error
        return suite

    def drawing(self) -> SuiteName:
        """The same suite, asked for worlds whose `render` draws.

        A factory says by its function `drawing(config)` what to ask it for, or has the keyword
        `render_mode`; other suites stay as they are.
        """
        make = find(self.factory)
        change: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None
        change = getattr(make, "drawing", None)
        if change is not None:
            return SuiteName(self.factory, change(self.config))
        if "render_mode" in inspect.signature(make).parameters:
            return SuiteName(self.factory, {**DRAWS, **self.config})
        return self

    def texts(self) -> Iterator[str]:
        """Every string in it: its factory, and those anywhere in its config."""
        yield self.factory
        yield from _texts(self.config)

    def files(self) -> list[Path]:
        """The existing Python files that it names."""
        found = (_OWN_FILE.fullmatch(text) for text in self.texts())
        paths = dict.fromkeys(Path(match[1]) for match in found if match)
        return [path for path in paths if path.is_file()]

    def located(self, folder: Path) -> SuiteName:
        """The same suite, with relative Python files taken from `folder`."""
        return self._with_files(lambda name: str(folder / name))

    def relative_to(self, folder: Path) -> SuiteName:
        """The same suite, with Python files in `folder` named from there."""
        return self._with_files(lambda name: name.removeprefix(f"{folder}/"))

    def _with_files(self, change: Callable[[str], str]) -> SuiteName:
        def of(value: Any) -> Any:
            if isinstance(value, str):
                return change(value) if _OWN_FILE.fullmatch(value) else value
            if isinstance(value, list):
                return [of(each) for each in value]
            if isinstance(value, dict):
                return {key: of(each) for key, each in value.items()}
            return value

        return SuiteName(of(self.factory), of(self.config))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a family."""

    rest: str  # of the name, after `PREFIX:`; of a file, all of it
    arguments: Mapping[str, Any]  # keywords of the suite's factory
    key: bytes | None = None  # 32 bytes that draw goals and the like; None: their seeds do
    folder: Path = Path()  # relative paths are relative to it
    drawing: Callable[[int, int], None] | None = None  # told how many tasks have goals, of how many


@dataclass(frozen=True, slots=True)
class Family:
    """Environments whose names begin alike, such as `gymnasium:CartPole-v1`.

    A package registers one as an entry point of the group `reglue.environment_families`,
    called by the prefix:

        [project.entry-points."reglue.environment_families"]
        maze = "my_mazes:FAMILY"

        FAMILY = Family(
            lambda asked: SuiteName("my_mazes:Maze", {"size": int(asked.rest), **asked.arguments}),
            about="mazes of a size",
            rest="<size>",
            trusted=("my_mazes:Maze",),
        )

    Then `reglue bench online:maze:8` plays it.
    """

    make: Callable[[Asked], SuiteName]  # raises UsageError
    about: str  # one line for `reglue benchmarks`
    rest: str = ""  # form of what follows the colon, such as `<id>`; empty: the prefix is the name
    trusted: tuple[str, ...] = ()
    """Factories that may be made of anybody's plan: they import and read nothing that it names."""

    def form(self, prefix: str) -> str:
        """How the names of its environments look, such as `gymnasium:<id>`."""
        return f"{prefix}:{self.rest}" if self.rest else prefix


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
