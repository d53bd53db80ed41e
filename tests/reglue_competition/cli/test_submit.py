from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reglue.examples.constant import Constant
from reglue_bench import evaluate
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import Store
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.images.test_image import Made, tar
from tests.reglue_competition.page.competition_builder import end

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


TWO = (
    PHASE.replace("multi-task:gridworld", "evaluate:cart-pole").replace(
        'evaluate:cart-pole" }', 'evaluate:cart-pole", options = { num_episodes = 2 } }'
    )
    + """
[[phases]]
name = "private"
kind = "private"
agents = "submitted"
opens = 2100-01-01T00:00:00Z
closes = 2101-01-01T00:00:00Z
benchmarks = [{ benchmark = "evaluate:cart-pole", options = { num_episodes = 2 } }]
"""
)


def played(store: Store, folder: Path, team: str, image: str | None) -> str:
    """A finished submission of a new team in the open phase: its id."""
    entered = store.enter(store.add_team(team), f"{team}s", datetime.now(UTC), image=image)
    out = folder / "runs" / entered.id / "0"
    result = evaluate(
        "evaluate:cart-pole", agent=Constant(), out=out, secret=16 * "a", num_episodes=2, workers=0
    )
    end(store, entered, result)
    return entered.id


def test_chosen_images_go_on_into_the_phase_that_is_open(folder: Path, say: Say) -> None:
    (folder / "competition.toml").write_text(TWO.replace("AGENTS", "both"))
    words = ("competition", "advance", str(folder), "public")
    assert say("competition", "open", str(folder), "public").returncode == 0
    images = {"A": f"sha256:{'1' * 64}", "B": f"sha256:{'2' * 64}", "C": f"sha256:{'3' * 64}"}
    images["E"] = f"sha256:{'5' * 64}"
    with CompetitionFolder.read(folder).store() as store:
        for team in ("A", "B", "C", "D", "E"):
            submission = played(store, folder, team, images.get(team))
            if team == "C":
                store.rule(submission, "off the board", "it cheats")
        store.retire_team("E")
    done = say(*words)
    assert (done.returncode, "public, and the same open" in done.stderr) == (2, True)
    assert say("competition", "close", str(folder), "public", "--yes").returncode == 0
    assert say("competition", "open", str(folder), "private").returncode == 0
    done = say(*words)
    assert done.returncode == 0, done.stderr
    assert "D: 'Ds', its best, is not entered: its agent connects by itself" in done.stdout
    assert "E: 'Es', its best, is not entered: the team is retired" in done.stdout
    with CompetitionFolder.read(folder).store() as store:
        entered = {each.team: each for each in store.submissions("private")}
        assert {team: each.image for team, each in entered.items()} == {
            team: images[team] for team in ("A", "B")
        }
        assert {each.status for each in entered.values()} == {"waiting"}
    done = say(*words)  # again
    assert (done.returncode, done.stdout.count("it is in phase private already")) == (0, 2)
    done = say("competition", "advance", str(folder), "none")
    assert (done.returncode, "there is no phase 'none'" in done.stderr) == (2, True)


def test_a_machine_that_plays_no_images_says_so_before(
    folder: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "competition.toml").write_text(PHASE.replace("AGENTS", "both"))
    monkeypatch.setenv("PATH", str(folder))
    done = say("competition", "check", str(folder))
    assert done.returncode == 0, done.stderr
    lack = "warning: images of public cannot be played on this machine: there is neither docker nor"
    assert lack in done.stdout.replace("\n", " ")
    (folder / "competition.toml").write_text(PHASE.replace("AGENTS", "remote"))
    assert "warning" not in say("competition", "check", str(folder)).stdout


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


def test_an_agent_in_python_is_entered_with_the_files_beside_it(folder: Path, say: Say) -> None:
    agent = folder.parent / "my-agent/agent.py"
    agent.parent.mkdir()
    agent.write_text("class MyAgent: pass\n")
    python = f"{PHASE}[images]\npython = 'reglue-test-python:1'\n"
    (folder / "competition.toml").write_text(python.replace("AGENTS", "submitted"))
    assert say("competition", "open", str(folder), "public").returncode == 0
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    asked = ["competition", "submit", str(folder), "Team A", f"{agent}:MyAgent", "--name", "first"]
    done = say(*asked)
    assert done.returncode == 0, done.stderr
    (digest,) = re.findall("project:[0-9a-f]{64}", done.stdout)
    file = CompetitionFolder.read(folder).image_file(digest)
    (folder / "images" / f"{64 * '0'}.tar").touch()  # of nobody
    done = say("competition", "images", str(folder), "--json")
    (ours, nobodys) = json.loads(done.stdout)
    assert (ours["digest"], ours["bytes"]) == (digest, file.stat().st_size)
    assert (ours["needed_for"], nobodys["needed_for"]) == ("public, until it is revealed", "")
    done = say("competition", "images", str(folder))
    assert "1 of 2 may go, 0.000 GiB" in done.stdout
    done = say("competition", "images", str(folder), "--delete", "--yes")
    assert (done.returncode, "they were deleted" in done.stdout) == (0, True)
    assert [*(folder / "images").iterdir()] == [file]


def test_an_image_enters_the_phase_that_is_named(folder: Path, say: Say, archive: Path) -> None:
    before, public = PHASE.split("[[phases]]")
    beside = public.replace("public", "practice").replace("AGENTS", "submitted")
    remote = public.replace("AGENTS", "remote")
    (folder / "competition.toml").write_text(f"{before}[[phases]]{beside}[[phases]]{remote}")
    for name in ("practice", "public"):
        assert say("competition", "open", str(folder), name).returncode == 0
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    asked = ["competition", "submit", str(folder), "Team A", str(archive), "--name", "first"]
    done = say(*asked)
    assert (done.returncode, "phase public plays agents that connect" in done.stderr) == (2, True)
    done = say(*asked, "--phase", "practise")
    assert (done.returncode, "no phase 'practise'" in done.stderr) == (2, True)
    assert not list(folder.glob("images/*.tar"))
    done = say(*asked, "--phase", "practice")
    assert (done.returncode, "waits in phase practice" in done.stdout) == (0, True)


def test_what_may_not_be_entered_leaves_nothing(folder: Path, say: Say, archive: Path) -> None:
    opened(folder, say, "remote")
    (archive.parent / "no.tar").write_bytes(b"#!/bin/sh\n")
    for team, file, name, words in (
        ("Team A", "agent.tar", "first", "plays agents that connect by themselves"),
        ("Team B", "agent.tar", "first", "there is no team 'Team B'"),
        ("Team A", "no.tar", "first", "the archive is refused: it is no archive"),
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
