"""An archived competition: everything of it can be read, and nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reglue_competition.cli.conftest import Say
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]


def read_only(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`reglue competition …` where that folder is mounted to be read alone."""
    mounted = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    mounted += ["--ro-bind", str(folder), str(folder), "--"]
    return subprocess.run(
        [*mounted, sys.executable, "-m", "reglue", "competition", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_folder_that_cannot_be_written_is_read_and_backed_up(
    folder: Path, say: Say, tmp_path: Path
) -> None:
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    backup = tmp_path / "backup.tar.gz"
    for words in (
        ("status", str(folder)),
        ("runs", str(folder)),
        ("check", str(folder)),
        ("export", str(folder), "--json"),
        ("team", "list", str(folder)),
        ("backup", str(folder), str(backup)),
    ):
        done = read_only(folder, *words)
        assert done.returncode == 0, (words, done.stderr)
    assert say("competition", "restore", str(backup), str(tmp_path / "again")).returncode == 0
    listed = say("competition", "team", "list", str(tmp_path / "again"), "--json")
    assert '"Team A"' in listed.stdout


def test_what_cannot_be_written_is_said_at_once(folder: Path) -> None:
    done = read_only(folder, "team", "add", str(folder), "Team B")
    assert done.returncode == 1
    assert "readonly database" in done.stderr
    assert "did not answer" not in done.stderr
