"""What the commands share: how they run, print and fail."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import typer
from rich.console import Console

from glue_server.processes.interrupts import interrupt
from reglue.errors import ReglueError, UsageError, is_interrupt

OK, FAULTS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class Command:
    """A function that declares flags by Typer, as `reglue NAME`."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.name, self.function = function.__name__.rstrip("_"), function
        self.app = _app()
        self.app.command(help=function.__doc__)(function)

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
        print(f"reglue {self.name}: {error}", file=sys.stderr)
        sys.exit(code)


class Commands(Command):
    """Functions that declare flags by Typer, each as `reglue NAME FUNCTION`."""

    def __init__(self, name: str, about: str, functions: Sequence[Callable[..., None]]) -> None:
        self.name = name
        self.app = _app(help=about, no_args_is_help=True)
        for function in functions:
            self.app.command(function.__name__, help=function.__doc__)(function)


def _app(**more: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False, **more
    )


def console() -> Console:
    """The console for results, on stdout."""
    return Console()


def say(words: str) -> None:
    """Print a line as it is, for people."""
    console().print(words, markup=False, highlight=False, soft_wrap=True)
