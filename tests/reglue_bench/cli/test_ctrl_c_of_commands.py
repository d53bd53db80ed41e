"""Ctrl-C, once and twice, at many moments: `reglue bench` ends soon, and can be resumed."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.results.result import read_result
from tests.reglue_bench.bakeoffs import wait_for_rows
from tests.reglue_bench.benching import bench_words, commanded, resumed_rows
from tests.reglue_bench.toys import rows
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """The rows of a run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    with commanded(bench_words(folder, "Slow", "--workers", "1", pause_s=0.0)) as command:
        code, said = command.ended()
    assert code == 0, said
    return rows(read_result(folder))


@pytest.mark.parametrize(
    ("agent", "gaps_s"), [("Seeded", ()), ("Seeded", (0.05,)), ("Stays", (0.0, 0.4))]
)
def test_a_run_that_is_interrupted_ends_soon_and_resumes_to_the_same_rows(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]], agent: str, gaps_s: tuple[float, ...]
) -> None:
    """One that stays has to be ended by force, which takes a while that a second one hits."""
    folder = tmp_path / "run"
    with commanded(
        bench_words(folder, "Slow", "--workers", "1", agent=agent, pause_s=0.05)
    ) as command:
        command.wait_for("0 of 30 episodes are done")
        wait_for_rows(folder, 1)
        command.process.send_signal(signal.SIGINT)
        for gap_s in gaps_s:
            time.sleep(gap_s)
            command.process.send_signal(signal.SIGINT)
        code, said = command.ended()
        assert not command.left_behind()
    assert code == 130, said
    assert "Traceback" not in said
    ended = read_result(folder).ended_early
    assert ended is not None
    assert ended.status == "interrupted"
    assert resumed_rows(folder, "--environment-timeout", "100") == undisturbed


@pytest.mark.parametrize("how", ["sleep", "catch"])
def test_an_environment_of_this_process_that_hangs_is_ended_by_the_second_ctrl_c(
    tmp_path: Path, how: str
) -> None:
    """By the first one, unless it catches whatever comes."""
    folder, fuse = tmp_path / "run", tmp_path / "fuse"
    fuse.write_bytes(bytes(1))
    words = bench_words(folder, "Hanging", "--workers", "0", fuse=str(fuse), how=how)
    with commanded(words) as command:
        command.wait_for("0 of 30 episodes are done")
        until(lambda: not fuse.stat().st_size, "it hangs")
        command.process.send_signal(signal.SIGINT)
        if how == "catch":
            until(fuse.with_suffix(".caught").exists, "it caught the first one")
            command.process.send_signal(signal.SIGINT)
        code, said = command.ended()
        assert not command.left_behind()
    assert code == 130, said
    assert len(resumed_rows(folder)) == 30


def test_a_run_whose_environment_hangs_in_a_worker_plays_on(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    folder, fuse = tmp_path / "run", tmp_path / "fuse"
    fuse.write_bytes(bytes(1))
    words = bench_words(
        folder, "Hanging", "--workers", "1", "--environment-timeout", "3", fuse=str(fuse)
    )
    with commanded(words) as command:
        code, said = command.ended()
        assert not command.left_behind()
    assert code == 0, said
    assert rows(read_result(folder)) == undisturbed


def test_a_run_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    """Nor a worker that hangs, nor an agent that stays."""
    folder, fuse = tmp_path / "run", tmp_path / "fuse"
    fuse.write_bytes(bytes(1))
    words = bench_words(folder, "Hanging", "--workers", "1", agent="Stays", fuse=str(fuse))
    with commanded(words) as command:
        command.wait_for("0 of 30 episodes are done")
        until(lambda: not fuse.stat().st_size, "it hangs")
        command.process.kill()
        assert not command.left_behind()
