"""Suites by name: a factory and its JSON, so that any process can build them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env_adapters.argument_checks import RENDER_KEYWORDS
from env_adapters.disk_cache import keep_cache_folder
from env_adapters.environment_suite import EnvironmentSuite
from env_adapters.given_environment import made_by, played_by
from reglue.environments.environment import Environment
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Suite, close_suite
from reglue.error_message import error_text
from reglue.errors import BadArgument, NotAnEnvironment, ReglueError, UsageError, raise_interrupt
from reglue.tools.loading import called_like_libraries, find

COMPOSED = "env_adapters.composed:Composed"
"""The factory of a suite that is made of tasks of several."""

_MEMBERS = ("spec", "variants", "standardizes", "world")  # of a Suite

_OWN_FILE = re.compile(r"([^:]+\.py):\w+")  # file.py:Class


def check_suite(suite: object, origin: str) -> None:
    """Raise NotAnEnvironment unless `suite` has a Suite's members. The message begins with
    `origin`, such as "my_suite.py:make made a list".
    """
    if missing := [name for name in _MEMBERS if not hasattr(suite, name)]:
        raise NotAnEnvironment(
            f"{origin}, which has no {', '.join(missing)}; "
            f"wanted a suite of environments, with {', '.join(_MEMBERS)}"
        )


@dataclass(frozen=True, slots=True)
class SuiteName:
    """A suite by `module:factory` or `file.py:factory`, and JSON."""

    factory: str
    config: Mapping[str, Any]

    def build(self) -> Suite:
        """Call the factory with the config's entries as keywords.

        A factory may be a class of whatever `given_environment` takes, or a function that makes
        one. Raises UsageError, also where its author's code fails.
        """
        keep_cache_folder()
        make = find(self.factory)
        try:
            suite = _made_suite(self.factory, make, self.config)
        except ReglueError:
            raise
        except (Exception, SystemExit) as error:  # the edge of somebody's suite
            if isinstance(error, Exception):
                raise_interrupt(error)
            raise UsageError(
                f"the environment {self.factory} cannot be made: {error_text(error)}"
                f"{called_like_libraries(error)}"
            ) from error
        return suite

    def environment(self) -> Environment:
        """Make what plays all slots. Raises UsageError."""
        suite = self.build()
        return suite.environment() if isinstance(suite, EnvironmentSuite) else Worlds(suite)

    def elsewhere(self) -> SuiteName:
        """The suite as another process makes it. Raises UsageError if it cannot."""
        return self

    @contextmanager
    def opened(self) -> Iterator[Suite]:
        """Make the suite, and close it afterwards. Raises UsageError."""
        suite = self.build()
        try:
            yield suite
        finally:
            close_suite(suite)

    def rendering(self) -> SuiteName:
        """The name of the same suite, with worlds that render pictures.

        A factory's function `rendering(config)` returns the config for it; for a factory with the
        keyword `render_mode` that is "rgb_array". Other suites do not change.
        """
        make = find(self.factory)
        change: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None
        change = getattr(make, "rendering", None)
        if change is not None:
            return SuiteName(self.factory, change(self.config))
        if "render_mode" in inspect.signature(make).parameters:
            return SuiteName(self.factory, {**RENDER_KEYWORDS, **self.config})
        return self

    def texts(self) -> Iterator[str]:
        """The factory, and every string in the config."""
        yield self.factory
        yield from _texts(self.config)

    def files(self) -> list[Path]:
        """The existing Python files that `texts` name as `file.py:NAME`."""
        matches = map(_OWN_FILE.fullmatch, self.texts())
        paths = dict.fromkeys(Path(match[1]) for match in matches if match)
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
class FamilyRequest:
    """The parts of a name, and the arguments, of which a family makes a suite's name."""

    rest: str  # the name after `PREFIX:`
    arguments: Mapping[str, Any]  # keywords of the suite's factory
    key: bytes | None = None  # 32 bytes from which goals are drawn; None: from their seeds
    folder: Path = Path()  # relative paths are relative to it
    on_goals_drawn: Callable[[int, int], None] | None = None
    """Called with the number of tasks that have their goals, and of all tasks."""


@dataclass(frozen=True, slots=True)
class Family:
    """Environments whose names begin alike, such as `gymnasium:CartPole-v1`.

    A package registers one as an entry point of the group `reglue.environment_families`,
    called by the prefix:

        [project.entry-points."reglue.environment_families"]
        maze = "my_mazes:FAMILY"

        FAMILY = Family(
            lambda request: SuiteName(
                "my_mazes:Maze", {"size": int(request.rest), **request.arguments}
            ),
            about="mazes of a size",
            rest="<size>",
            trusted=("my_mazes:Maze",),
        )

    Then `reglue bench online:maze:8` plays it.
    """

    make: Callable[[FamilyRequest], SuiteName]  # raises UsageError
    about: str  # one line for `reglue benchmarks`
    rest: str = ""  # form of what follows the colon, such as `<id>`; empty: the prefix is the name
    trusted: tuple[str, ...] = ()
    """Factories that a stranger's plan may name: they import no code and read no file of its
    choice.
    """
    calls_server: bool = False
    """Whether to make one waits for another program's server, which may be away or silent."""

    def resolve(
        self,
        name: str,
        arguments: Mapping[str, Any],
        key: bytes | None = None,
        *,
        folder: Path = Path(),
        on_goals_drawn: Callable[[int, int], None] | None = None,
    ) -> SuiteName:
        """The suite of one of its names; see FamilyRequest. Raises UsageError."""
        prefix, _, rest = name.partition(":")
        if self.rest and not rest:
            raise BadArgument(got=repr(name), wanted=self.form(prefix))
        return self.make(FamilyRequest(rest, dict(arguments), key, folder, on_goals_drawn))

    def form(self, prefix: str) -> str:
        """The form of its environments' names, such as `gymnasium:<id>`."""
        return f"{prefix}:{self.rest}" if self.rest else prefix


def _made_suite(factory: str, make: Callable[..., Any], config: Mapping[str, Any]) -> Suite:
    made = made_by(make, config, called=factory)
    if all(hasattr(made, name) for name in _MEMBERS):
        suite: Suite = made
        return suite
    if (first := played_by(made, make, config)) is None:
        check_suite(made, f"{factory} made a {type(made).__name__}")

    def another() -> Environment:
        environment = played_by(made_by(make, config, called=factory), make, config)
        if environment is None or environment is first:
            raise UsageError(
                got=f"the same {type(made).__name__} from two calls of {factory}",
                wanted="a new one from each",
            )
        return environment

    assert first is not None, "what is neither was refused"
    return EnvironmentSuite(first, another)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
