"""An environment that connects by itself plays the runs of a bake-off, one after another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import EnvironmentFault, PlanDiffers, UsageError
from reglue_bench.results.result import Result
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue_bench.bakeoffs import BENCHMARK, agent, bake, write
from tests.reglue_bench.remote import WORLDS, dialling
from tests.reglue_bench.toys import rows

SOLVED = json.dumps({"a": [1, 3, 0], "b": [5, 0, 2]})
HERE = BENCHMARK.replace("seed = 7", "seed = 7\nrepeat_check = false")
CONNECTS = """
[benchmark]
name = "multi-task:wait"
num_episodes = 6
slots = 2
seed = 7
repeat_check = false
"""

HOSTING: dict[str, Any] = {"environment_token": "secret-7", "reconnect_window": 0.0}

pytestmark = pytest.mark.usefixtures("token")


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGLUE_TOKEN", HOSTING["environment_token"])


def played(path: Path, world: str, *arguments: str, **options: Any) -> dict[str, Result]:
    """The results of a bake-off whose environment comes, as often as it is asked for."""
    with nothing_left(), dialling(f"{WORLDS}:{world}", *arguments) as (watcher, _):
        return bake(path, say=watcher.say, **HOSTING, **options)


def test_every_agent_plays_as_if_it_were_made_here(tmp_path: Path) -> None:
    agents = [agent("first"), agent("second", "Raises"), agent("third")]
    (tmp_path / "here").mkdir()
    here = bake(write(tmp_path / "here", *agents, benchmark=HERE))
    there = played(write(tmp_path, *agents, benchmark=CONNECTS), "Corridor", f"solved={SOLVED}")
    assert [there[name].complete for name in there] == [True, False, True]
    assert {name: rows(result) for name, result in there.items()} == {
        name: rows(result) for name, result in here.items()
    }


def test_one_that_is_lost_is_waited_for_when_the_next_agent_plays(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    path = write(tmp_path, agent("first"), agent("second"), benchmark=CONNECTS)
    results = played(path, "Mortal", f"fuse={fuse}", "dies=5", f"solved={SOLVED}")
    ended = results["first"].ended_early
    assert ended is not None
    assert ended.status == "environment_error"
    assert results["second"].complete
    with raises(PlanDiffers, tmp_path / "out" / "first", "Mortal", "Corridor", "variants.other"):
        played(path, "Corridor", 'solved={"other": [1]}', resume=True)
    assert played(path, "Mortal", f"fuse={fuse}", "dies=5", f"solved={SOLVED}", resume=True)[
        "first"
    ].complete


def test_one_is_not_waited_for_when_everything_is_played(tmp_path: Path) -> None:
    agents = [agent("first"), agent("second")]
    path = write(tmp_path, *agents, benchmark=CONNECTS)
    results = played(path, "Corridor", f"solved={SOLVED}")
    again: dict[str, Any] = {"resume": True, "connect_timeout": 0.1, **HOSTING}
    said: list[str] = []
    resumed = bake(path, say=said.append, **again)
    assert {name: rows(each) for name, each in resumed.items()} == {
        name: rows(each) for name, each in results.items()
    }
    assert said == []
    path = write(tmp_path, *agents, benchmark=CONNECTS.replace("seed = 7", "seed = 8"))
    with raises(PlanDiffers, tmp_path / "out" / "first", "seed", 7, 8):
        bake(path, **again)
    path = write(tmp_path, *agents, agent("third"), benchmark=CONNECTS)
    with raises(EnvironmentFault, "0.1 s", "connect timeout"):
        bake(path, **again)


def test_one_that_does_not_come_leaves_no_run(tmp_path: Path) -> None:
    said: list[str] = []
    path = write(tmp_path, agent("first"), agent("second"), benchmark=CONNECTS)
    with raises(EnvironmentFault, "0.2 s", "connect timeout"):
        bake(path, say=said.append, connect_timeout=0.2, **HOSTING)
    assert not (tmp_path / "out").exists()
    (line,) = said
    assert line.startswith("waiting up to 0.2 s for an environment, its token in REGLUE_TOKEN:")
    assert "secret-7" not in line


def test_it_does_not_play_two_runs_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, agent("first"), agent("second"), benchmark=CONNECTS)
    with raises(UsageError, 1, "multi-task:wait", got="at_once=2", settings={"at_once"}):
        bake(path, at_once=2)
