"""What the commands share: how they run, print and fail."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import typer
from rich.console import Console

from glue_server.processes.interrupts import interrupt
from reglue.errors import ReglueError, UsageError

OK, FAULTS, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def run_command(function: Callable[..., None], argv: Sequence[str] | None) -> NoReturn:
    """Run a Typer function as `reglue NAME`, and exit with its code."""
    logging.basicConfig(level=logging.WARNING, format="reglue: %(message)s", stream=sys.stderr)
    # A scheduler's SIGTERM stops a run as Ctrl-C does, so that it can be resumed.
    signal.signal(signal.SIGTERM, interrupt)
    app = typer.Typer(
        add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
    )
    app.command(help=function.__doc__)(function)
    name = function.__name__.rstrip("_")
    try:
        app(args=list(argv or ()), prog_name=f"reglue {name}")
    except UsageError as error:
        _fail(name, error, WRONG_USAGE)
    except ReglueError as error:
        _fail(name, error, FAULTS)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(OK)


def console() -> Console:
    """The console for results, on stdout."""
    return Console()


def say(words: str) -> None:
    """Print a line as it is, for people."""
    console().print(words, markup=False, highlight=False, soft_wrap=True)


def _fail(name: str, error: ReglueError, code: int) -> NoReturn:
    print(f"reglue {name}: {error}", file=sys.stderr)
    sys.exit(code)
