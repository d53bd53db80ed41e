"""A server that is killed in a run: the run waits until it is back, or ends and is resumed."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import reglue
from reglue.spec import Array
from tests.leftovers import child_processes, nothing_left
from tests.reglue.bridges.server_programs import DM_ENV_RPC, OPENENV, ServerProgram

pytestmark = pytest.mark.slow

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
        with DM_ENV_RPC.serving() as (pid, port):
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
        with DM_ENV_RPC.serving(port):
            again = reglue.evaluate(**options, out=out, resume=True)
    assert again.complete
    assert rows(again) == rows(whole)
    assert again.episodes_retried >= lost


def kill_a_worker() -> None:
    """Kill a worker process of this process."""
    for child in child_processes():
        if b"glue_server.environment.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(child, signal.SIGKILL)
            return
    raise AssertionError("no worker")


@pytest.mark.parametrize(
    ("workers", "kills_worker"),
    [(0, False), (2, False), (2, True)],
    ids=["here", "workers", "killed worker"],
)
@pytest.mark.parametrize("program", [DM_ENV_RPC, OPENENV], ids=["dm-env-rpc", "openenv"])
def test_a_killed_server_that_comes_back_in_time_changes_no_row(
    program: ServerProgram, workers: int, kills_worker: bool
) -> None:
    turns, kill_at = 0, 8

    def play(seen: Mapping[str, Array]) -> dict[str, Array]:
        nonlocal turns
        turns += 1
        if turns == kill_at:
            kill()
            if kills_worker:
                kill_a_worker()
        return program.act(seen)

    with (
        nothing_left(),
        program.serving() as (pid, port),
        program.coming_back(pid, port) as kill,
    ):
        options: dict[str, Any] = {
            "benchmark": f"evaluate:{program.name.format(port)}",
            "num_episodes": 9,
            "slots": 3,
            "workers": workers,
            "environment_args": dict(program.arguments),
        }
        undisturbed = reglue.evaluate(**options, agent=program.act)
        disturbed = reglue.evaluate(**options, agent=play)
    assert rows(disturbed) == rows(undisturbed)
    assert disturbed.complete
    assert disturbed.episodes_retried == 0
