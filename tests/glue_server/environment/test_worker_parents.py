"""Workers, and the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.glue_server.playing import SOLVED, cells
from tests.programs import program, wait_until_gone
from tests.waiting import halt, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

HOST = f"""
import sys
from env_adapters import Cell, SuiteName
from env_adapters.suites import suite_name
from tests.glue_server.playing import Follower, cells, in_workers, played

suite = SuiteName("tests.worlds:Corridor", {{"solved": {SOLVED!r}}})
pool, port = in_workers(suite, 4, workers=2)
try:
    print(*port.processes, flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    rows = played(Follower(), pool, cells())
    print(*port.processes, *(row.status for row in rows), flush=True)
finally:
    pool.close()
"""


HOST_OF_A_THREAD = """
import threading
from env_adapters import Cell, SuiteName
from env_adapters.suites import suite_name
from tests.glue_server.playing import SOLVED, Follower, cells, in_workers, played

pools = []
def make():
    config = {"solved": SOLVED, "fuse": "FUSE"}
    pools.append(in_workers(SuiteName("tests.worlds:Hanging", config), 1, workers=1))
thread = threading.Thread(target=make)
thread.start()
thread.join()
print(*pools[0][1].processes, flush=True)
played(Follower(), pools[0][0], cells())
"""


@pytest.fixture
def host() -> Iterator[subprocess.Popen[str]]:
    """A process of its own, and a terminal's group of its own, that holds a pool."""
    with program(HOST, ROOT) as process:
        yield process


@pytest.mark.parametrize("stopped", [False, True])
def test_workers_end_when_their_parent_is_killed(
    host: subprocess.Popen[str], stopped: bool
) -> None:
    assert host.stdout is not None
    workers = [int(pid) for pid in host.stdout.readline().split()]
    descriptors = [os.pidfd_open(pid) for pid in workers]
    if stopped:
        for pid in workers:
            halt(pid)
    host.kill()
    wait_until_gone(descriptors)


def test_workers_that_a_thread_started_outlive_it_and_not_their_parent(tmp_path: Path) -> None:
    """The kernel watches threads; a worker that hangs sees for itself that its parent is gone."""
    (fuse := tmp_path / "fuse").write_bytes(bytes(1))
    with program(HOST_OF_A_THREAD.replace("FUSE", str(fuse)), ROOT) as host:
        assert host.stdout is not None
        descriptors = [os.pidfd_open(int(pid)) for pid in host.stdout.readline().split()]
        until(lambda: not fuse.stat().st_size, "the worker hangs")
        host.kill()
        wait_until_gone(descriptors)


def test_workers_do_not_hear_the_terminals_ctrl_c(host: subprocess.Popen[str]) -> None:
    """Ctrl-C goes to the whole group; the parent plays on with the workers that it had."""
    assert host.stdout is not None
    workers = host.stdout.readline().split()
    os.killpg(host.pid, signal.SIGINT)
    assert host.stdout.readline().split() == [*workers, *["ok"] * len(cells())]
