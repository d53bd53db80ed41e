"""The guarantees of tests/conftest.py for every test."""

from __future__ import annotations

from pathlib import Path

from tests.programs import run_python

TEST = """
import signal, subprocess, sys
import pytest

def test_interrupts():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    child = [sys.executable, "-c", "import signal; signal.raise_signal(signal.SIGINT)"]
    assert subprocess.run(child, stderr=subprocess.DEVNULL).returncode == -signal.SIGINT
"""
# As `make test &` in a script does.
PYTEST = """
import os, signal, subprocess, sys
os.environ.pop("PYTEST_XDIST_WORKER", None)  # it is the first one
signal.signal(signal.SIGINT, signal.SIG_IGN)
words = ["-m", "pytest", "-q", "--config-file=/dev/null", "-p", "tests.conftest", sys.argv[1]]
sys.exit(subprocess.run([sys.executable, *words]).returncode)
"""


def test_ctrl_c_is_heard_where_the_caller_ignores_it(tmp_path: Path) -> None:
    """By tests, and by the programs that they start."""
    test = tmp_path / "test_that.py"
    test.write_text(TEST)
    assert "1 passed" in run_python(PYTEST, str(test)).stdout
