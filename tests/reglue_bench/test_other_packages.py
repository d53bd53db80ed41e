"""Families of environments, and procedures, that other packages register are played by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import install_family, install_procedure

pytestmark = pytest.mark.slow


def reglue(folder: Path, *words: str) -> str:
    """The output of a command where the packages in a folder are installed."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-m", "reglue", *words],
        env=os.environ | {"PYTHONPATH": paths, "REGLUE_CACHE_DIR": "", "COLUMNS": "150"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_bench_plays_a_family_and_benchmarks_lists_it(tmp_path: Path) -> None:
    install_family(tmp_path)
    run = tmp_path / "run"
    words = ["bench", "multi-task:corridors:3", "--agent", "random", "--workers", "1"]
    reglue(tmp_path, *words, "--out", str(run))
    result = json.loads((run / "result.json").read_text())
    assert result["score"]["success_rate_per_task"] == {"walk": 1.0}
    assert "corridors:<variants>" in reglue(tmp_path, "benchmarks")
    # Its suite is trusted, so that a run from elsewhere is drawn too: nothing is signed here.
    assert "replayed exactly" in reglue(tmp_path, "watch", str(run), "--episode", "0")


def test_a_fourth_procedure_brings_parameters_tally_score_summary_and_report_in_one_file(
    tmp_path: Path,
) -> None:
    install_family(tmp_path)
    install_procedure(tmp_path)
    run, name = tmp_path / "run", "first-goals:corridors:3"
    words = [name, "--agent", "random", "--workers", "0"]
    assert "ready" in reglue(tmp_path, "try", *words)
    shown = reglue(tmp_path, "bench", *words, "--procedure-arg", "times=4", "--out", str(run))
    assert "first goals, 4 of 4 episodes" in shown
    assert "the last walk took 1 steps" in shown
    result = json.loads((run / "result.json").read_text())
    assert (result["procedure"], result["parameters"]) == ("first-goals", {"times": 4})
    assert (result["score"]["success_rate_per_task"], result["score"]["mean_return"]) == (
        {"walk": 1.0},
        None,
    )
    assert "replayed exactly" in reglue(tmp_path, "watch", str(run), "--episode", "3")
    again = tmp_path / "again"
    reglue(tmp_path, "bench", *words, "--procedure-arg", "times=4", "--out", str(again))
    reglue(tmp_path, "report", str(run), str(again))
    page = (run / "report.html").read_text()
    assert "first-goals: the first goal of each task" in page
    assert "First goals alone, paired goal by goal." in page
    assert "came to the same on every goal" in page
    assert page.count(">The last walk<") == 2
    described = reglue(tmp_path, "benchmarks", name, "--describe")
    file = tmp_path / "mine.toml"
    file.write_text(described.replace("times = 2", "times = 3"))
    assert "3 of 3 episodes" in reglue(tmp_path, "bench", str(file), *words[1:])
    known = json.loads(reglue(tmp_path, "benchmarks", "--json"))
    assert known["procedures"] == [
        "evaluate",
        "multi-task",
        "meta-learning",
        "online",
        "first-goals",
    ]
