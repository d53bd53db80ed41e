"""A family of environments that another package registers is played by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.packages import install_family


def reglue(folder: Path, *words: str) -> str:
    """What a command prints where the packages in a folder are installed."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-m", "reglue", *words],
        env=os.environ | {"PYTHONPATH": paths, "REGLUE_CACHE_DIR": "", "COLUMNS": "150"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_bench_plays_it_and_benchmarks_lists_it(tmp_path: Path) -> None:
    install_family(tmp_path)
    run = tmp_path / "run"
    words = ["bench", "multi-task:corridors:3", "--agent", "random", "--workers", "1"]
    reglue(tmp_path, *words, "--out", str(run))
    result = json.loads((run / "result.json").read_text())
    assert result["success_rate_per_task"] == {"walk": 1.0}
    assert "corridors:<variants>" in reglue(tmp_path, "benchmarks")
    # Its suite is trusted, so that a run from elsewhere is drawn too: nothing is signed here.
    assert "replayed exactly" in reglue(tmp_path, "watch", str(run), "--episode", "0")
