"""An agent's program, and what is said of its end."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from glue_server.processes.program import ProgramLog, ProgramProcess
from tests.waiting import PATIENCE_S, halt, until


def sleeping(tmp_path: Path) -> ProgramProcess:
    return ProgramProcess(["sleep", "1000"], environment={}, log_file=tmp_path / "log", folder="/")


def test_a_program_that_we_end_is_not_said_to_have_been_killed(tmp_path: Path) -> None:
    program = sleeping(tmp_path)
    halt(program.pid)  # it takes no SIGTERM
    program.end(within_s=0.0)
    assert program.exit_code == -signal.SIGKILL
    words = program.ended()
    assert words is not None
    assert "Reglue" in words
    assert "SIGKILL" not in words


def test_a_program_that_somebody_else_ends_is_said_to_have_been_killed(tmp_path: Path) -> None:
    program = sleeping(tmp_path)
    os.kill(program.pid, signal.SIGKILL)
    program.end(within_s=60.0)
    assert (
        program.ended() == "the agent's process was killed by SIGKILL, perhaps for want of memory"
    )


def test_a_log_goes_on_where_another_thread_has_read_what_woke_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `last_lines` does, which is asked for at any time."""
    read, found = os.read, threading.Event()

    def late(descriptor: int, most: int) -> bytes:
        if found.is_set():
            return read(descriptor, most)
        found.set()
        raise BlockingIOError

    monkeypatch.setattr(os, "read", late)
    log = ProgramLog(tmp_path / "log")
    os.write(log.writer, b"one\n")
    assert found.wait(PATIENCE_S)
    kept = tmp_path / "log"
    until(lambda: kept.read_bytes() == b"one\n", "the line is kept")
    log.close_writer()
    log.close()


def test_a_log_that_is_closed_is_whole_and_keeps_its_last_lines(tmp_path: Path) -> None:
    """A child that left its program's group may hold the pipe open: it is not waited for."""
    log = ProgramLog(tmp_path / "log")
    os.write(log.writer, b"one\ntwo\nthree\n")
    log.close()
    log.close()
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\nthree\n"
    assert log.last_lines(2) == "two\nthree"
    log.close_writer()
