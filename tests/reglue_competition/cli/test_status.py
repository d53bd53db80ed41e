from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import tomli_w

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import FILE, Definition
from reglue_competition.phases import Secrets
from reglue_competition.store import Run, Store
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.page.competition_builder import (
    Made,
    begin,
    end,
    enter,
    in_practice,
    play,
)
from tests.waiting import PATIENCE_S


@pytest.fixture
def played(folder: Path, say: Say) -> tuple[str, str]:
    """Ids of a submission that is finished, and of one that waits."""
    assert say("competition", "open", str(folder), "practice").returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        team, other = store.add_team("=Team A"), store.add_team("Team B")
        now = datetime.now(UTC)
        done, waits = (
            store.enter(team, "sarsa", now - timedelta(seconds=1)),
            store.enter(other, "random", now),
        )
        store.record_run(Run(done.id, 0, "evaluate:x", "complete", "", 0.5, 0.4, 0.6, '{"a": 1}'))
        store.set_status(done.id, "playing")
        store.set_status(done.id, "finished")
    return done.id, waits.id


def test_status_says_what_broke_and_how_long_submissions_wait(
    folder: Path, say: Say, played: tuple[str, str]
) -> None:
    with CompetitionFolder.read(folder).store() as store:
        store.set_status(played[1], "broken", "the disk was full")
        store.enter(store.team("Team B"), "random", datetime.now(UTC))
        store.close_phase("practice")
        closed = store.phases()[0].closed_at
    assert closed is not None
    told = json.loads(say("competition", "status", str(folder), "--json").stdout)
    assert told["phases"][0]["broken"] == {"Team B": 1}
    until = closed + timedelta(hours=48)
    assert [each["waits_until"] for each in told["queue"]] == [until.isoformat()]
    shown = say("competition", "status", str(folder)).stdout
    assert "practice: Team B has 1 broken submission\n" in shown
    assert f"withdrawn if its agent does not come by {until:%Y-%m-%d %H:%M} UTC" in shown
    runs = json.loads(say("competition", "runs", str(folder), "--json").stdout)
    assert [each["broken"] for each in runs] == [0, 1, 1]


def test_status_says_when_the_next_round_begins(folder: Path, say: Say) -> None:
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("# round_every_s =", "round_every_s ="))
    words = ["competition", "status", str(folder)]
    assert "round" not in say(*words).stdout
    assert say("competition", "open", str(folder), "practice").returncode == 0
    told = json.loads(say(*words, "--json").stdout)
    dates = [each["next_round"] for each in told["phases"]]
    assert dates[1:] == [None, None]
    begins = datetime.fromisoformat(dates[0])
    assert timedelta(0) < begins - datetime.now(UTC) <= timedelta(days=1)
    shown = say(*words).stdout
    assert f"practice: the next round begins at {begins:%Y-%m-%d %H:%M:%S} UTC\n" in shown


def test_runs_are_shown_by_submission(folder: Path, say: Say, played: tuple[str, str]) -> None:
    words = ["competition", "runs", str(folder), "--team", "=Team A"]
    (told,) = json.loads(say(*words, "--json").stdout)
    assert (told["id"], told["status"]) == (played[0], "finished")
    assert told["runs"][0]["result"] == {"a": 1}
    shown = say(*words).stdout
    assert "finished" in shown
    assert told["id"] in shown  # on one line, to be copied
    assert json.loads(say(*words, "--phase", "public", "--json").stdout) == []


def test_an_export_holds_all_but_secrets(
    folder: Path, say: Say, played: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    done = say("competition", "export", str(folder), "--json", "--out", str(out))
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())
    assert {len(told[key]) for key in ("teams", "submissions")} == {2}
    assert told["runs"][0]["score"] == 0.5
    assert "definition applied" in [event["kind"] for event in told["events"]]
    assert told["definition"]["name"] == "my-comp"
    assert "sha256" not in {key for token in told["tokens"] for key in token}


def organised(folder: Path, of: Definition) -> Made:
    """A competition's folder, as commands read it."""
    (folder / FILE).write_text(tomli_w.dumps(of.model_dump(exclude_none=True)), encoding="utf-8")
    Secrets.create(folder / "secrets")
    return begin(folder, of)


def test_a_leaderboard_is_exported_as_a_table(tmp_path: Path, say: Say) -> None:
    made = organised(tmp_path, in_practice())
    with Store(made.url) as store:
        for team, rate in (("Ada", 0.9), ("Ben", 0.2)):
            end(store, enter(store, made, team, "x"), play(rate), play(rate / 2))
    words = ("competition", "export", str(tmp_path))
    done = say(*words, "--csv", "--board", "warm-up")
    assert done.returncode == 0, done.stderr
    first, second = csv.DictReader(io.StringIO(done.stdout))
    assert (first["rank"], first["team"], first["benchmark_1"]) == ("1", "Ada", "MT10")
    assert (second["rank"], second["team"]) == ("2", "Ben")
    assert float(first["low"]) < float(first["score"]) < float(first["high"])
    assert 0.75 * float(first["score_1"]) + 0.25 * float(first["score_2"]) == pytest.approx(
        float(first["score"])
    )
    ruled = ("competition", "ruling", str(tmp_path), made.submissions["x"], "off")
    assert say(*ruled).returncode == 2  # without a reason
    assert say(*ruled, "--why", "It read its goals").returncode == 0
    assert (
        say("competition", "void", str(tmp_path), "warm-up", "2", "--why", "broken").returncode == 0
    )
    table = csv.DictReader(io.StringIO(say(*words, "--csv", "--board", "warm-up").stdout))
    columns = ("team", "rank", "standing", "why", "chosen_by")
    assert [tuple(each[name] for name in columns) for each in table] == [
        ("Ada", "1", "ranked", "", "best"),
        ("Ben", "", "off the board", "It read its goals", ""),
    ]
    told = json.loads(say("competition", "status", str(tmp_path), "--json").stdout)
    assert [(each["team"], each["standing"]) for each in told["rulings"]] == [
        ("Ben", "off the board")
    ]
    assert told["phases"][0]["void"] == {"2": "broken"}
    said = say("competition", "status", str(tmp_path)).stdout
    assert "off the board, Ben: It read its goals" in said
    assert "warm-up: benchmark 2 is void: broken" in said
    wrong = say(*words, "--csv", "--board", "warm")
    assert (wrong.returncode, "warm-up" in wrong.stderr) == (2, True)
    assert say(*words, "--json", "--board", "warm-up").returncode == 2


def test_it_is_told_how_each_teams_submission_was_chosen(tmp_path: Path, say: Say) -> None:
    of = in_practice(ranking={"teams": 2, "choose": "team"})
    made = organised(tmp_path, of)
    with Store(made.url) as store:
        for team in ("Ada", "Ben"):
            for name, rate in ((f"{team} 1", 0.5), (f"{team} 2", 0.9)):
                end(store, enter(store, made, team, name), play(rate), play(rate))
        store.choose(made.submissions["Ada 1"], store.team("Ada"))
    chosen = {
        ("Ada", made.submissions["Ada 1"], "team"),
        ("Ben", made.submissions["Ben 2"], "default"),
    }
    words = ("competition", "status", str(tmp_path))
    told = json.loads(say(*words, "--json").stdout)["chosen"]
    assert {(each["team"], each["submission"], each["by"]) for each in told} == chosen
    exported = json.loads(say("competition", "export", str(tmp_path), "--json").stdout)
    assert exported["chosen"] == told
    assert {each["phase"] for each in told} == {"warm-up"}
    assert f"{made.submissions['Ada 1']}: chosen by the team, Ada\n" in say(*words).stdout
    done = say("competition", "export", str(tmp_path), "--csv", "--board", "warm-up")
    table = csv.DictReader(io.StringIO(done.stdout))
    assert {(each["team"], each["submission"], each["chosen_by"]) for each in table} == chosen


def test_an_organiser_cancels_closes_and_has_played_again(
    folder: Path, say: Say, played: tuple[str, str]
) -> None:
    finished, waits = played
    assert say("competition", "cancel", str(folder), waits).returncode == 0
    assert say("competition", "cancel", str(folder), finished).returncode == 2
    assert say("competition", "replay", str(folder), finished).returncode == 2
    assert say("competition", "close", str(folder), "practice").returncode == 0
    assert say("competition", "open", str(folder), "practice").returncode == 2
    with CompetitionFolder.read(folder).store() as store:
        assert store.submission(waits).cancel_asked
        store.set_status(waits, "cancelled")
        assert say("competition", "replay", str(folder), waits).returncode == 0
        assert store.submission(waits).status == "waiting"
        assert store.phases()[0].state == "closed"


def test_a_server_that_runs_is_asked_to_open_a_phase(folder: Path, say: Say) -> None:
    found = CompetitionFolder.read(folder)
    with found.only_server(), found.store() as store:
        done = say("competition", "open", str(folder), "practice")
        assert (done.returncode, done.stdout) == (
            0,
            "the server opens practice within some seconds\n",
        )
        assert (store.phases()[0].state, store.phases()[0].open_asked) == ("planned", True)
        assert say("competition", "migrate", str(folder)).returncode == 2
    assert say("competition", "open", str(folder), "practice").stdout == "practice is open\n"


def test_events_are_lines_that_a_program_follows(folder: Path, say: Say) -> None:
    words = ("competition", "events", str(folder))
    before = [json.loads(line) for line in say(*words).stdout.splitlines()]
    assert "definition applied" in {each["kind"] for each in before}
    assert [each["id"] for each in before] == sorted(each["id"] for each in before)
    last = str(before[-1]["id"])
    assert say(*words, "--after", last).stdout == ""
    program = [sys.executable, "-m", "reglue", *words, "--after", last, "--follow"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as following:
        try:
            assert following.stdout is not None
            for name in ("Team A", "Team B"):
                assert say("competition", "team", "add", str(folder), name).returncode == 0
                lines = [json.loads(following.stdout.readline()) for _ in range(2)]
                kinds = [(each["kind"], each["team"]) for each in lines]
                assert kinds == [("team added", name), ("token made", name)]
            following.send_signal(signal.SIGINT)
            assert following.wait(PATIENCE_S) == 130
        finally:
            following.kill()


def test_news_are_told_shown_and_removed(folder: Path, say: Say) -> None:
    words = ("competition", "news", str(folder))
    assert say(*words).stdout == "no news\n"
    assert "It begins today." in say(*words, "It begins today.").stdout
    (there,) = json.loads(say(*words, "--json").stdout)
    assert there["text"] == "It begins today."
    assert say(*words, "both", "--remove", str(there["id"])).returncode == 2
    assert say(*words, "--remove", str(there["id"])).stdout == "no news\n"
    assert say(*words, "--remove", str(there["id"])).returncode == 2
