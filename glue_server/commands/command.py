"""The common part of the commands: running them, and their failures."""

from __future__ import annotations

import errno
import functools
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

from glue_server.console import begin_here, with_short_paths
from glue_server.processes.interrupts import interrupt_at_sigterm
from reglue.error_message import printable
from reglue.errors import BadArgument, ReglueError, UsageError, is_interrupt

OK, FAULTS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

_OF_PATHS = {errno.EACCES: FAULTS, errno.EPERM: FAULTS, errno.ENAMETOOLONG: WRONG_USAGE}
"""Exit codes of the errors of paths that only the system finds."""

_WrongWords: Any = typer.BadParameter.__base__  # what is wrong with a command line, in any way


class Command:
    """A function that declares flags by Typer, as `reglue NAME`."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.name, self.function = function.__name__.rstrip("_"), function
        self.app = _app()
        self.app.command(cls=_Parsing, help=function.__doc__)(_with_absolute_paths(function))

    @property
    def click(self) -> Any:
        """Typer's command: its parameters and their help."""
        return typer.main.get_command(self.app)

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Run it with these arguments, by default the process's, and exit with its code."""
        begin_here()
        logging.basicConfig(level=logging.WARNING, format="reglue: %(message)s", stream=sys.stderr)
        interrupt_at_sigterm()  # a scheduler's stops a run, which can be resumed
        arguments = sys.argv[1:] if argv is None else list(argv)
        try:
            code = self.app(args=arguments, prog_name=f"reglue {self.name}", standalone_mode=False)
        except _WrongWords as error:
            self._fail(_of_words(error), WRONG_USAGE)
        except UsageError as error:
            self._fail(error, WRONG_USAGE)
        except ReglueError as error:
            self._fail(error, FAULTS)
        except BaseException as error:
            if is_interrupt(error):
                sys.exit(INTERRUPTED)
            if isinstance(error, OSError) and error.errno in _OF_PATHS:
                words = ReglueError(error.filename, error.strerror)
                self._fail(words, _OF_PATHS[error.errno])
            raise
        sys.exit(code or OK)

    def _fail(self, error: ReglueError | None, code: int) -> NoReturn:
        if error is not None:
            message = f"reglue {self.name}: {error.with_flags()}"
            print(with_short_paths(printable(message)), file=sys.stderr)
        sys.exit(code)


class Commands(Command):
    """Functions that declare flags by Typer, each as `reglue NAME FUNCTION`, or called as the keys
    of a mapping.

    Commands among them are `reglue NAME THEIRS FUNCTION`.
    """

    def __init__(
        self,
        name: str,
        about: str,
        functions: Sequence[Callable[..., None] | Commands]
        | Mapping[str, Callable[..., None] | Commands],
    ) -> None:
        self.name = name
        self.app = _app(help=about, no_args_is_help=True)
        self.app.callback()(lambda: None)  # else one function alone would have no name
        if not isinstance(functions, Mapping):
            functions = {_called(each): each for each in functions}
        for called, each in functions.items():
            if isinstance(each, Commands):
                self.app.add_typer(each.app, name=called)
            else:
                command = self.app.command(called, cls=_Parsing, help=each.__doc__)
                command(_with_absolute_paths(each))

    def every(self) -> Iterator[tuple[str, Any]]:
        """The words of each function, such as `team add`, and Typer's command."""
        yield from _every(self.click, "")


def _called(command: Callable[..., None] | Commands) -> str:
    return command.name if isinstance(command, Commands) else command.__name__.rstrip("_")


def _every(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from _every(each, f"{before}{name} ")
        else:
            yield f"{before}{name}", each


class _Parsing(TyperCommand):
    """Says of a flag what it got, and not only what it wanted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse like Typer. Raises BadParameter."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            problems: Sequence[Any] = getattr(error.__cause__, "errors", list)()  # pydantic's
            if problems:
                from glue_server.host_settings import got_and_wanted

                what, facts = got_and_wanted(problems[0])
                error.message = BadArgument(what, **facts).args[0]
            raise


def _with_absolute_paths(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose paths stay the same if the user's code changes the working directory."""

    @functools.wraps(function)
    def run(**words: Any) -> None:
        function(**{name: _absolute(value) for name, value in words.items()})

    return run


def _absolute(value: Any) -> Any:
    match value:
        case Path():
            return value.absolute()
        case list():
            return [_absolute(each) for each in value]
    return value


def _of_words(error: Any) -> UsageError | None:
    """Typer's error as ours, in one line; None if it showed the help instead."""
    message = error.message[:1].lower() + error.message[1:].rstrip(".")
    match type(error).__name__:  # Typer exports no more than BadParameter
        case "NoArgsIsHelpError":
            return None
        case "NoSuchOption":
            near = ", ".join(error.possibilities or ())
            way = f"did you mean {near}?" if near else f"see `{error.ctx.command_path} --help`"
            return UsageError(f"there is no option {error.option_name}; {way}")
        case "MissingParameter":
            _, _, known = " ".join(error.format_message().split()).partition("Choose from: ")
            wanted = f"{error.param.help}, one of {known}" if known else error.param.help
            return UsageError(f"{_label(error.param)} is missing: {wanted}")
        case "BadParameter":
            got, _, wanted = message.partition(" is not one of ")
            facts = {"got": got, "wanted": f"one of {wanted}"} if wanted else {}
            return UsageError(_label(error.param), *() if facts else (message,), **facts)
    return UsageError(message)


def _label(parameter: Any) -> str:
    """An option's longest name, or what the help calls an argument."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name)


def _app(**more: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False, **more
    )
