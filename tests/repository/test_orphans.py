"""Nothing that tests start outlives their pytest."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from tests.leftovers import child_processes
from tests.programs import program

_PATIENCE_S = 120.0
# A program that a test's own program starts, in a session of its own.
TEST = """
import subprocess

def test_that_never_ends():
    subprocess.run(["sh", "-c", "setsid sleep 600 & echo $! $TMPDIR; wait"])
"""
PYTEST = """
import os, pytest
os.environ.pop("PYTEST_XDIST_WORKER", None)  # it is the first one
pytest.main(["-sq", "--config-file=/dev/null", "-p", "tests.conftest", "test_that.py"])
"""


@pytest.mark.slow
def test_a_killed_pytest_leaves_neither_programs_nor_files(tmp_path: Path) -> None:
    (tmp_path / "test_that.py").write_text(TEST)
    with program(PYTEST, tmp_path) as session:
        assert session.stdout is not None
        pid, folder = session.stdout.readline().split()
        started = {int(pid), *child_processes(session.pid)}
        descriptors = [os.pidfd_open(each) for each in started]
        session.kill()
        for descriptor in descriptors:  # on a busy machine the last one removes files for long
            assert select.select([descriptor], [], [], _PATIENCE_S)[0], "a process is still there"
            os.close(descriptor)
    assert not Path(folder).exists()
