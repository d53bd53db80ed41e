"""Runs commands in this process, in a folder, without the user's settings."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, TextIO
from unittest import mock

from reglue.__main__ import main

_CACHE = "REGLUE_CACHE_DIR"
_WIDTH = "100"  # of the terminal, in columns


class Said(NamedTuple):
    """The exit code of a command, and its outputs with paths relative to its folder."""

    code: int
    stdout: str
    stderr: str


def command(words: str, folder: Path) -> Said:
    """Run a line `reglue …` in `folder`."""
    before = signal.getsignal(signal.SIGTERM)
    with ExitStack() as leaving:
        stdout, stderr = (leaving.enter_context(_written_to(each)) for each in (1, 2))
        with (
            chdir(folder),
            mock.patch.dict(os.environ, {"COLUMNS": _WIDTH}),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            for name in {each for each in os.environ if each.startswith("REGLUE_")} - {_CACHE}:
                del os.environ[name]
            try:
                code = main(shlex.split(words)[1:])
            except SystemExit as left:
                code = int(str(left.code))
            finally:
                signal.signal(signal.SIGTERM, before)
        return Said(code, *(_text(each, folder) for each in (stdout, stderr)))


@contextmanager
def _written_to(descriptor: int) -> Iterator[TextIO]:
    """A file in place of stdout or stderr, also for child processes."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", buffering=1) as file:
        saved = os.dup(descriptor)
        os.dup2(file.fileno(), descriptor)
        try:
            yield file
        finally:
            os.dup2(saved, descriptor)
            os.close(saved)


def _text(printed: TextIO, folder: Path) -> str:
    printed.seek(0)
    return printed.read().replace(f"{folder}/", "")
