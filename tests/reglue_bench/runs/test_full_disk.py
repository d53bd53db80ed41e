"""`reglue bench` on a disk that is full: nothing that was committed is lost."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from reglue_bench.results.result import read_result
from tests.reglue_bench.bakeoffs import count_rows, wait_for_rows
from tests.reglue_bench.benching import bench_words, commanded, resumed_rows
from tests.reglue_bench.toys import rows


@pytest.mark.slow
def test_a_run_whose_disk_is_full_keeps_its_episodes_and_is_resumed(tmp_path: Path) -> None:
    """No file of its process can grow: as the kernel says that a disk is full."""
    folder, gate = tmp_path / "run", tmp_path / "gate"
    gated = ["--agent-arg", f"gate={gate}", "--agent-arg", "after=6"]
    with commanded(bench_words(folder, "Corridor", *gated, agent="Gated")) as command:
        committed = wait_for_rows(folder, 4)
        resource.prlimit(command.process.pid, resource.RLIMIT_FSIZE, (1, 1))
        gate.touch()
        code, said = command.ended()
        assert not command.left_behind()
    assert code == 1, said
    assert "what was committed is kept" in said
    assert f"reglue bench --resume {folder}" in said
    assert "Traceback" not in said
    assert count_rows(folder) >= committed
    assert not (folder / "result.json").exists()
    resumed = resumed_rows(folder)
    assert len(resumed) == 30
    whole = tmp_path / "whole"
    with commanded(bench_words(whole, "Corridor", *gated, agent="Gated")) as command:
        assert command.ended()[0] == 0
    assert resumed == rows(read_result(whole))
