from __future__ import annotations

import re
from pathlib import Path

import pytest

from reglue_competition.competition_folder import CompetitionFolder
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.test_images import Made, tar

PHASE = """
name = "my-comp"
title = "Treasures"

[[phases]]
name = "public"
kind = "public"
agents = "AGENTS"
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
benchmarks = [{ benchmark = "multi-task:gridworld" }]
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Of an image."""
    file = tmp_path / "agent.tar"
    file.write_bytes(tar(Made().saved()))
    return file


def opened(folder: Path, say: Say, agents: str = "submitted") -> Path:
    """With a phase that is open for such agents, and a team."""
    (folder / "competition.toml").write_text(PHASE.replace("AGENTS", agents))
    assert say("competition", "open", str(folder), "public").returncode == 0
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    return folder


def test_an_image_waits_for_its_turn(folder: Path, say: Say, archive: Path) -> None:
    opened(folder, say)
    done = say("competition", "submit", str(folder), "Team A", str(archive), "--name", "first")
    assert done.returncode == 0, done.stderr
    (digest,) = re.findall("sha256:[0-9a-f]{64}", done.stdout)
    found = CompetitionFolder.read(folder)
    assert found.image_file(digest).stat().st_mode & 0o777 == 0o600
    with found.store() as store:
        (entered,) = store.submissions()
    assert (entered.name, entered.status, entered.image) == ("first", "waiting", digest)
    assert entered.id in done.stdout


def test_what_may_not_be_entered_leaves_nothing(folder: Path, say: Say, archive: Path) -> None:
    opened(folder, say, "remote")
    (archive.parent / "no.tar").write_bytes(b"#!/bin/sh\n")
    for team, file, name, words in (
        ("Team A", "agent.tar", "first", "plays agents that connect by themselves"),
        ("Team B", "agent.tar", "first", "there is no team 'Team B'"),
        ("Team A", "no.tar", "first", "the image is refused: it is no archive"),
        ("Team A", "none.tar", "first", "cannot be read"),
        ("Team A", "agent.tar", "\n", "wanted letters that can be seen"),
    ):
        asked = ["competition", "submit", str(folder), team, str(archive.parent / file)]
        done = say(*asked, "--name", name)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
        assert not list(folder.glob("images/*"))
    say("competition", "team", "remove", str(folder), "Team A")
    done = say("competition", "submit", str(folder), "Team A", str(archive), "--name", "first")
    assert (done.returncode, "team Team A is retired" in done.stderr) == (2, True)


def test_a_refusal_leaves_the_image_of_another_submission(
    folder: Path, say: Say, archive: Path
) -> None:
    opened(folder, say)
    asked = ["competition", "submit", str(folder), "Team A", str(archive), "--name"]
    assert say(*asked, "first").returncode == 0
    done = say(*asked, "second")
    assert (done.returncode, "allows a team 1 submissions" in done.stderr) == (2, True)
    assert len(list(folder.glob("images/*.tar"))) == 1
