"""`reglue …` in this process: what needs no process of its own is spared the loading of one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

import pytest

from reglue.__main__ import main

Say: TypeAlias = Callable[..., CompletedProcess[str]]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Say]:
    """Runs a command, in a folder, and tells how it left and what it printed."""
    before = signal.getsignal(signal.SIGTERM)

    def say(*words: str, folder: Path | None = None) -> CompletedProcess[str]:
        if folder is not None:
            monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as left:
            main(words)
        told = capfd.readouterr()
        return CompletedProcess(words, int(str(left.value.code)), told.out, told.err)

    yield say
    signal.signal(signal.SIGTERM, before)
