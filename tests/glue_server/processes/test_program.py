"""An agent's program, and what is said of its end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from glue_server.processes.program import ProgramProcess
from tests.waiting import halt


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
