"""The common part of several commands: flags, documents on stdout, a run's folder and exit code."""

from __future__ import annotations

import io
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeAlias

from typer import Context, Option

from glue_server.commands.command import FAULTS, INTERRUPTED, OK
from reglue.tools.outputs import Output, product

if TYPE_CHECKING:
    from reglue_bench.results.result import Result

TrustCode: TypeAlias = Annotated[
    bool,
    Option(
        "--trust-code",
        help="run the environment (and agent) that a run's folder names, although the run was "
        "begun elsewhere: it is other people's code, and runs as you",
        rich_help_panel="Resuming a run",
    ),
]


def _keep_stdout(context: Context, wanted: bool) -> bool:
    if wanted:
        context.with_resource(_stdout_for_the_document())
    return wanted


AsJson: TypeAlias = Annotated[
    bool,
    Option(
        "--json",
        help="print one JSON document on stdout, and everything else on stderr",
        callback=_keep_stdout,
    ),
]


MARKS = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: "[yellow]![/yellow]"}
"""Marks of checks, by whether they passed."""


def print_document(text: str) -> None:
    """Print the document of a command with `--json` on its stdout."""
    print(text, file=_STDOUT.get(), flush=True)


_STDOUT: ContextVar[TextIO | None] = ContextVar("_STDOUT", default=None)
"""The file of the document."""


@contextmanager
def _stdout_for_the_document() -> Iterator[None]:
    """Keep stdout for the document: what is printed, also by child processes, goes to stderr."""
    with product():  # fails now, if it must
        saved_stdout = os.dup(1)
    os.dup2(2, 1)
    output = Output(saved_stdout, strict=True).buffered()
    with io.TextIOWrapper(output, "utf-8") as document, redirect_stdout(sys.stderr):
        token = _STDOUT.set(document)
        try:
            yield
        finally:
            _STDOUT.reset(token)
            os.dup2(saved_stdout, 1)


def new_folder(name: str) -> Path:
    """A run's in `runs`, named by the time; another for each that begins in the same second."""
    begun = time.strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{name}-{begun}-{secrets.token_hex(3)}"


def exit_code(result: Result) -> int:
    """0 every planned cell was played; 1 not all, or with faults; 130 interrupted."""
    if result.ended_early is not None and result.ended_early.status == "interrupted":
        return INTERRUPTED
    return OK if result.complete and not result.faults else FAULTS
