"""`reglue bench --record` and `reglue dataset`, as commands."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from minari import MinariDataset

from reglue_bench.run_folder import OBSERVED
from reglue_bench.runs.ledger import tables
from tests.reglue_bench.conftest import Say

pytestmark = pytest.mark.slow

RECORD = "online:gridworld --agent random --runs 2 --episodes 3 --episode-limit 20 --workers 0"


@pytest.fixture
def run(say: Say, tmp_path: Path) -> Path:
    """A run that was recorded."""
    folder = tmp_path / "run"
    done = say("bench", *RECORD.split(), "--record", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert "dataset: 6 episodes, " in done.stdout.replace("\n", "")
    return folder


def test_a_recorded_run_is_shown_exported_and_replayed(
    run: Path, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.loads(say("dataset", "info", str(run), "--json").stdout)
    assert (told["episodes"], told["lost"], told["tasks"]) == (6, 0, {"gridworld": 6})
    shown = say("dataset", "info", str(run / "dataset"))
    assert "Discrete(70)" in shown.stdout
    assert "reported by none of 6 episodes" in shown.stdout  # 20 steps seldom reach the goal
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    done = say("dataset", "export", str(run), "--id", "mine/grid-v1", "--without-organiser")
    assert "6 episodes, " in done.stdout.replace("\n", "")
    assert len(MinariDataset(tmp_path / "minari" / "mine" / "grid-v1" / "data")) == 6
    again = say("dataset", "export", str(run), "--id", "mine/grid-v1")
    assert (again.returncode, "a dataset mine/grid-v1 already" in again.stderr) == (2, True)
    replayed = say("dataset", "replay", str(run))
    assert (replayed.returncode, replayed.stdout) == (0, "6 of 6 episodes are equal to the bit\n")
    some = say("dataset", "replay", str(run / "dataset"), "--episodes", "2")
    assert some.stdout == "2 of 2 episodes are equal to the bit\n"


def test_filters_choose_episodes(run: Path, say: Say, tmp_path: Path) -> None:
    done = say("dataset", "export", str(run), str(tmp_path / "all"), "--task", "gridworld")
    assert "6 episodes" in done.stdout
    told = say("dataset", "info", str(run), "--json").stdout
    done = say("dataset", "export", str(run), str(tmp_path / "won"), "--successful")
    assert f"{json.loads(told)['successes']} episodes" in done.stdout
    assert len(MinariDataset(tmp_path / "won" / "data")) == json.loads(told)["successes"]


def test_what_was_trained_on_is_recorded_and_replayed(say: Say, tmp_path: Path) -> None:
    """Its last episodes are truncated by the run, where the environment would have gone on."""
    words = "multi-task:gridworld --agent random --train-steps 50 --num-episodes 2 --workers 0"
    done = say("bench", *words.split(), "--record", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    told = json.loads(say("dataset", "info", str(tmp_path / "run"), "--json").stdout)
    assert told["steps"] > 50
    replayed = say("dataset", "replay", str(tmp_path / "run"))
    count = told["episodes"]
    assert replayed.stdout == f"{count} of {count} episodes are equal to the bit\n"


def test_a_replay_that_differs_says_where(run: Path, say: Say, tmp_path: Path) -> None:
    """One byte of one observation, with a digest that fits."""
    shutil.copytree(run, tmp_path / "changed")
    with closing(sqlite3.connect(tmp_path / "changed" / OBSERVED)) as connection, connection:
        [blob] = connection.execute("SELECT zlib FROM part WHERE number = 2").fetchone()
        rows = bytearray(zlib.decompress(blob))
        rows[8 * 3] ^= 1
        blob = zlib.compress(rows)
        connection.execute(
            "UPDATE part SET zlib = ?, digest = ? WHERE number = 2",
            (blob, tables.digest_of_blob(blob)),
        )
    done = say("dataset", "replay", str(tmp_path / "changed"))
    assert done.returncode == 1
    assert "not replayed: step 3 of " in done.stdout
    assert "5 of 6 episodes are equal to the bit" in done.stdout


def test_what_is_filtered_needs_the_organisers_fields(run: Path, say: Say, tmp_path: Path) -> None:
    say("dataset", "export", str(run), str(tmp_path / "public"), "--without-organiser")
    done = say("dataset", "export", str(tmp_path / "public"), str(tmp_path / "b"), "--successful")
    assert (done.returncode, "without the organiser's fields" in done.stderr) == (2, True)
