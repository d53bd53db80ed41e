"""A dm_env_rpc server that is gone for good ends the run, which is resumed once it is back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import reglue
from tests.leftovers import nothing_left

KILLS = """
import os, signal
from pathlib import Path

import numpy as np

FUSE = Path(__file__).with_name("fuse")  # the server's process id
calls = 0

def play(seen):
    global calls
    calls += 1
    if calls > 7 and FUSE.exists():
        os.kill(int(FUSE.read_text()), signal.SIGKILL)
        FUSE.unlink()
    place = seen["place"]
    gear = np.sign(place[:, 0]).astype(np.int8)
    return {"push": np.tanh(place[:, :2]).astype(np.float32), "gear": gear}
"""


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[int, int]]:
    """The process id and the port of a server of its own process."""
    words = [sys.executable, "-m", "tests.reglue.bridges.dm_servers", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.pid, int(server.stdout.readline().rpartition(":")[2])
        finally:
            server.kill()


def options_of(folder: Path, port: int, **settings: Any) -> dict[str, Any]:
    (folder / "kills.py").write_text(KILLS)
    arguments = {"length": 5, "seed_setting": "seed", "answer_timeout_s": 1}
    return {
        "benchmark": f"evaluate:dm-env-rpc:127.0.0.1:{port}",
        "agent": f"{folder / 'kills.py'}:play",
        "num_episodes": 9,
        "environment_args": arguments,
        "raise_faults": False,
        **settings,
    }


def rows(result: reglue.Result) -> list[Any]:
    return [(row.k, row.seed, row.status, row.return_, row.steps) for row in result.episodes]


@pytest.mark.parametrize(("slots", "workers"), [(1, 0), (3, 0), (3, 2)])
def test_a_killed_server_ends_the_run_and_a_resumed_one_has_the_rows_of_a_whole_one(
    tmp_path: Path, slots: int, workers: int
) -> None:
    fuse, out = tmp_path / "fuse", tmp_path / "run"
    with nothing_left():
        with serving() as (pid, port):
            options = options_of(tmp_path, port, slots=slots, workers=workers)
            whole = reglue.evaluate(**options)
            fuse.write_text(str(pid))
            first = reglue.evaluate(**options, out=out)
        assert not fuse.exists()
        assert first.ended_early is not None
        assert f"the dm_env_rpc server at 127.0.0.1:{port}" in first.ended_early.what
        lost = first.status_counts["environment_lost"]
        assert 1 <= lost <= slots
        assert first.status_counts.keys() <= {"ok", "missing", "environment_lost"}
        with serving(port):
            again = reglue.evaluate(**options, out=out, resume=True)
    assert again.complete
    assert rows(again) == rows(whole)
    assert again.episodes_retried >= lost
