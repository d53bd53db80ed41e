"""For all tests: a Hypothesis that draws the same every time, and a folder for each test."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest

from tests.orphans import ended_with_us

# The marks of pyproject.toml that a test has by what it asks for: a fixture, or a case's name.
MARKS = {
    "browser": "chromium",
    "new_cluster": "ray",
    "postgresql": "postgresql",
    "three_nodes": "ray",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test with what it needs beside Python."""
    if isinstance(item, pytest.Function):
        cases = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for name in {*item.fixturenames, *(each for each in cases if isinstance(each, str))}:
            if name in MARKS:
                item.add_marker(MARKS[name])


def pytest_configure(config: pytest.Config) -> None:
    """No deadline: machines are shared. `--hypothesis-profile=default` searches anew.

    Temporary files and the cache are in one folder, which ends with the session: tests kill
    programs that cannot clean up after themselves. Processes that still run end, too. Ctrl-C is
    heard also where a shell began this in the background, and by the programs that tests start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hypothesis.settings.register_profile("reglue", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("reglue")
    if "PYTEST_XDIST_WORKER" in os.environ:  # those share their parent's
        return
    folder = tempfile.TemporaryDirectory(prefix="reglue-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    closing = ExitStack()
    closing.enter_context(ended_with_us(Path(folder.name)))  # before TMPDIR is set: not itself
    config.add_cleanup(closing.close)
    Path(folder.name).chmod(0o711)  # agents in a sandbox are other users
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, each with PyTorch's
    os.environ["TMPDIR"] = tempfile.tempdir = folder.name
    # What JAX compiles for one test, others use.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(folder.name) / "jax")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    os.environ["REGLUE_CACHE_DIR"] = str(Path(folder.name) / "cache")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the durations of a newcomer's commands, which tests noted as a property."""
    for report in terminalreporter.getreports("passed"):
        for name, told in report.user_properties:
            if name == "transcript":
                terminalreporter.write_line(f"{name} {told}")


@pytest.fixture
def own_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop of this test is not one of the whole process."""
    from glue_server.processes import interrupts

    monkeypatch.setattr(interrupts, "_stop", interrupts._Stop())


@pytest.fixture
def more_than_1024_descriptors() -> Iterator[None]:
    """Others are open: what opens next is beyond 1023, where select.select fails."""
    wanted, limits = 4096, resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != limits[1] < wanted:
        pytest.skip(f"at most {limits[1]} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
    yield
    for descriptor in opened:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
