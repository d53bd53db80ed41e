"""Prints for people."""

from __future__ import annotations

import re
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from reglue.error_message import printable

if TYPE_CHECKING:
    from rich.console import Console

_BEGAN_IN: ContextVar[str] = ContextVar("_BEGAN_IN", default="")  # a command's working directory


def console(*, stderr: bool = False) -> Console:
    """The console for results, on stdout; for progress beside JSON, on stderr."""
    from glue_server.printable_console import PrintableConsole

    return PrintableConsole(stderr=stderr)


def say(words: str, output: Console | None = None) -> None:
    """Print a line for people as it is, but for its paths, which are short."""
    shown = with_short_paths(words)
    if output is None:
        print(printable(shown), flush=True)
    else:
        output.print(shown, markup=False, highlight=False, soft_wrap=True)


def begin_here() -> None:
    """A command begins: its user is in the present working directory, and stays there."""
    with suppress(OSError):
        _BEGAN_IN.set(str(Path.cwd()))


def with_short_paths(words: str) -> str:
    """The working directory's path left out of others, as users name them.

    Once code of the user's has moved to another folder, they are what they were.
    """
    try:
        here = str(Path.cwd())
    except OSError:  # it is gone
        return words
    if _BEGAN_IN.get() not in ("", here) or here == "/":  # addresses have slashes, too
        return words
    path = rf"(?<![\w./=-]){re.escape(here)}"
    return re.sub(rf"{path}(?![\w./-])", ".", re.sub(rf"{path}/(?=[\w.-])", "", words))
