"""Ending processes, and the description of their end."""

from __future__ import annotations

import signal

import pytest

from glue_server.processes.children import exit_words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "exit code 3"),
        (128 + signal.SIGSEGV, "exit code 139 (SIGSEGV)"),
        (-signal.SIGABRT, "killed by SIGABRT"),
        (-signal.SIGKILL, "killed by SIGKILL, perhaps for want of memory"),
        (-(signal.SIGRTMIN + 1), "killed by signal 35"),
    ],
)
def test_an_exit_code_is_told_in_words(code: int, words: str) -> None:
    assert exit_words(code) == words
