"""`reglue competition appeals` and `answer`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from reglue_competition.competition_folder import CompetitionFolder
from tests.reglue_competition.cli.conftest import Say


def test_an_appeal_is_shown_until_it_is_answered(folder: Path, say: Say) -> None:
    say("competition", "open", str(folder), "practice")
    with CompetitionFolder.read(folder).store() as store:
        team = store.add_team("Ada")
        submission = store.enter(team, "x", datetime.now(UTC))
        store.set_status(submission.id, "failed")
        store.file_appeal(team, submission.id, "unfair\nand wrong")
        (appeal,) = store.appeals()
    shown = say("competition", "appeals", str(folder)).stdout
    assert f"{appeal.id}: Ada, {submission.id}" in shown
    assert "    unfair\n    and wrong\n" in shown
    words = ("competition", "answer", str(folder), str(appeal.id), "it was fair")
    assert say(*words).returncode == 0
    assert "no appeal waits" in say("competition", "appeals", str(folder)).stdout
    assert "    it was fair\n" in say("competition", "appeals", str(folder), "--all").stdout
    told = json.loads(say("competition", "appeals", str(folder), "--all", "--json").stdout)
    assert [each["answer"] for each in told] == ["it was fair"]
    again = say(*words)
    assert (again.returncode, "answered already" in again.stderr) == (2, True)


def test_a_backup_is_noted(folder: Path, say: Say, tmp_path: Path) -> None:
    assert say("competition", "backup", str(folder), str(tmp_path / "x.tar.gz")).returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        assert store.newest_event("backed up") is not None
        assert store.newest_event("nothing") is None
