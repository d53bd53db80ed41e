"""An archived competition: everything of it can be read, and nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reglue_competition.cli.conftest import Say
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]


PLAYS = """
import json, sys
from pathlib import Path
from tests.reglue_bench.cli.commands import command

said = [command(f"reglue competition {words}", Path.cwd()) for words in sys.argv[1:]]
print(json.dumps([[each.code, each.stderr] for each in said]))
"""


def read_only(folder: Path, *commands: str) -> list[tuple[int, str]]:
    """Each `reglue competition …` in one process where that folder is mounted to be read alone:
    how it left, and what it printed to stderr.
    """
    mounted = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    mounted += ["--ro-bind", str(folder), str(folder), "--"]
    done = subprocess.run(
        [*mounted, sys.executable, "-c", PLAYS, *commands],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return [(code, stderr) for code, stderr in json.loads(done.stdout)]


def test_a_folder_that_cannot_be_written_is_read_and_backed_up(
    folder: Path, say: Say, tmp_path: Path
) -> None:
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    backup = tmp_path / "backup.tar.gz"
    commands = (
        f"status {folder}",
        f"runs {folder}",
        f"check {folder}",
        f"export {folder} --json",
        f"team list {folder}",
        f"backup {folder} {backup}",
    )
    for words, (code, stderr) in zip(commands, read_only(folder, *commands), strict=True):
        assert code == 0, (words, stderr)
    assert say("competition", "restore", str(backup), str(tmp_path / "again")).returncode == 0
    listed = say("competition", "team", "list", str(tmp_path / "again"), "--json")
    assert '"Team A"' in listed.stdout


def test_what_cannot_be_written_is_said_at_once(folder: Path) -> None:
    [(code, stderr)] = read_only(folder, f"team add {folder} 'Team B'")
    assert code == 1
    assert "readonly database" in stderr
    assert "did not answer" not in stderr
