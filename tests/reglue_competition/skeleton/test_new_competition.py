"""The files of `init` are a competition that can be played."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from env_adapters.suite_names import FamilyRequest
from reglue import Phase
from reglue.errors import UsageError
from reglue.messages.environment_messages import Cell
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import FILE, read_definition
from reglue_competition.skeleton import hidden_tasks
from reglue_competition.skeleton.new_competition import write_competition
from reglue_competition.store import Organiser
from tests.error_facts import raises
from tests.packages import register
from tests.reglue_competition.postgresql import PostgreSQL

TEMPLATE = Path(hidden_tasks.__file__).parent / FILE


def test_the_template_reads_without_an_error() -> None:
    found = read_definition(TEMPLATE)
    assert [phase.kind for phase in found.phases] == ["practice", "public", "private"]


def test_every_key_that_is_commented_out_may_be_set(tmp_path: Path) -> None:
    shown = re.sub(r"(?m)^# (?=\w+ = )", "", TEMPLATE.read_text())
    (tmp_path / FILE).write_text(shown)
    found = read_definition(tmp_path / FILE)
    assert (found.quotas.in_all, found.play.run_s, found.play.turn_grid_s) == (50, 3600, 0.05)
    assert found.play.round_every_s == 86400
    assert found.database


def test_hidden_tasks_are_played_where_their_package_is_installed(tmp_path: Path) -> None:
    write_competition(tmp_path, name="my-comp", title="x", address="a:1", database=None)
    tasks = tmp_path / "tasks"
    points = tomllib.loads((tasks / "pyproject.toml").read_text())["project"]["entry-points"]
    register(tasks, "my_comp_tasks", points)
    paths = os.pathsep.join([str(tasks), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "reglue", "competition", "check", str(tmp_path), "--draw"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "multi-task:my-comp:20: 1 task, 20 goals" in done.stdout


def test_treasures_follow_from_the_key_alone() -> None:
    first, again, other = (
        hidden_tasks.named(FamilyRequest("30", {}, key)).config
        for key in (b"a" * 32, b"a" * 32, b"b" * 32)
    )
    assert first == again != other
    with raises(UsageError, "number of maps", got="'many'"):
        hidden_tasks.named(FamilyRequest("many", {}))


def test_a_treasure_can_be_found_by_what_is_seen() -> None:
    world = hidden_tasks.Maps(treasures=[[7, 0]]).world()
    for seed in range(20):
        seen = world.start(Cell("find", 0, seed, 0, Phase.EVALUATE))["observation"]
        move = 0
        for _ in range(hidden_tasks.HORIZON):
            step = world.step({"action": np.array(move)})
            if step.terminated:
                break
            seen = step.observation["observation"]
            move = move if seen[2] == 1 else (move + 1) % 4
        assert step.success
        assert step.reward == 0


class Killed(BaseException):
    """Stands for the end of a process."""


def test_one_that_was_killed_before_its_folder_was_there_can_be_made_again(
    tmp_path: Path, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its database holds all that it held then, and another's is refused all the same."""

    def killed(*_: object) -> None:
        raise Killed

    url = postgresql.emptied_database()
    token = secrets.token_hex(24)
    what = {"title": "x", "address": "a:1", "database": url, "token": token}
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(Killed):
            write_competition(tmp_path / "mine", name="mine", **what)
    assert not (tmp_path / "mine").exists()
    assert write_competition(tmp_path / "mine", name="mine", **what) == token
    with CompetitionFolder.read(tmp_path / "mine").store() as store:
        assert store.definition().name == "mine"
        assert isinstance(store.bearer(token), Organiser)
    with raises(UsageError, "holds a competition", "database another"):
        write_competition(tmp_path / "other", name="other", **what)
