"""Flags that several commands have."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Annotated, TextIO, TypeAlias

from typer import Context, Option

TrustCode: TypeAlias = Annotated[
    bool,
    Option(
        "--trust-code",
        help="run the environment (and agent) that a run's folder names, although the run was "
        "begun elsewhere: it is other people's code, and runs as you",
        rich_help_panel="Resuming a run",
    ),
]


def _keep_stdout(context: Context, asked: bool) -> bool:
    if asked:
        context.with_resource(_kept_stdout())
    return asked


AsJson: TypeAlias = Annotated[
    bool,
    Option(
        "--json",
        help="print one JSON document on stdout, and everything else on stderr",
        callback=_keep_stdout,
    ),
]


def print_document(text: str) -> None:
    """Print the document of a command with `--json` on its stdout."""
    print(text, file=_STDOUT.get(), flush=True)


_STDOUT: ContextVar[TextIO | None] = ContextVar("_STDOUT", default=None)
"""The file of the document."""


@contextmanager
def _kept_stdout() -> Iterator[None]:
    """Keep stdout for the document: what is printed, also by child processes, goes to stderr."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "w", encoding="utf-8") as kept, redirect_stdout(sys.stderr):
        token = _STDOUT.set(kept)
        try:
            yield
        finally:
            _STDOUT.reset(token)
            os.dup2(own, 1)
