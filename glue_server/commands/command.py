"""What the commands share: how they run and fail."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

from glue_server.host_settings import got_and_wanted
from glue_server.processes.interrupts import interrupt
from reglue.errors import BadArgument, ReglueError, UsageError, is_interrupt, printable

OK, FAULTS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class Command:
    """A function that declares flags by Typer, as `reglue NAME`."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.name, self.function = function.__name__.rstrip("_"), function
        self.app = _app()
        self.app.command(cls=_Parsing, help=function.__doc__)(function)

    @property
    def click(self) -> Any:
        """Typer's command: its parameters and their help."""
        return typer.main.get_command(self.app)

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        """Run it with these arguments, by default the process's, and exit with its code."""
        logging.basicConfig(level=logging.WARNING, format="reglue: %(message)s", stream=sys.stderr)
        # A scheduler's SIGTERM stops a run as Ctrl-C does, so that it can be resumed.
        signal.signal(signal.SIGTERM, interrupt)
        arguments = sys.argv[1:] if argv is None else list(argv)
        try:
            self.app(args=arguments, prog_name=f"reglue {self.name}")
        except UsageError as error:
            self._fail(error, WRONG_USAGE)
        except ReglueError as error:
            self._fail(error, FAULTS)
        except BaseException as error:
            if is_interrupt(error):
                sys.exit(INTERRUPTED)
            raise
        sys.exit(OK)

    def _fail(self, error: ReglueError, code: int) -> NoReturn:
        print(printable(f"reglue {self.name}: {error.with_flags()}"), file=sys.stderr)
        sys.exit(code)


class Commands(Command):
    """Functions that declare flags by Typer, each as `reglue NAME FUNCTION`.

    Commands among them are `reglue NAME THEIRS FUNCTION`.
    """

    def __init__(
        self, name: str, about: str, functions: Sequence[Callable[..., None] | Commands]
    ) -> None:
        self.name = name
        self.app = _app(help=about, no_args_is_help=True)
        for each in functions:
            if isinstance(each, Commands):
                self.app.add_typer(each.app, name=each.name)
            else:
                called = each.__name__.rstrip("_")
                self.app.command(called, cls=_Parsing, help=each.__doc__)(each)

    def every(self) -> Iterator[tuple[str, Any]]:
        """The words of each function, such as `team add`, and Typer's command."""
        yield from _every(self.click, "")


def _every(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from _every(each, f"{before}{name} ")
        else:
            yield f"{before}{name}", each


class _Parsing(TyperCommand):
    """Says of a flag what it got, and not only what it wanted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer does. Raises BadParameter."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            problems: Sequence[Any] = getattr(error.__cause__, "errors", list)()  # pydantic's
            if problems:
                what, facts = got_and_wanted(problems[0])
                error.message = BadArgument(what, **facts).args[0]
            raise


def _app(**more: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False, **more
    )
