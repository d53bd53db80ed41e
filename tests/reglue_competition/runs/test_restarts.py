"""Submissions that an earlier server left: playing, ended, or without a farewell."""

from __future__ import annotations

from pathlib import Path

import pytest

from reglue.net.join_string import JoinString
from reglue_competition.runs import farewells
from reglue_competition.runs.submission import run_folder
from reglue_competition.store.records import Status
from tests.reglue_bench.agents import Raises, Seeded
from tests.reglue_bench.bakeoffs import count_rows
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.runs.corridor_submissions import joined, joined_process, of_folder
from tests.reglue_competition.runs.hosting import corridor, hosting

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]

_FAILED: tuple[Status, ...] = ("failed",)
_FINISHED: tuple[Status, ...] = ("finished",)


def test_submissions_wait_for_agents_that_are_away_since_their_server_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They keep what was played, hold no place, and go on when their agents join again."""
    monkeypatch.setattr(farewells, "MARGIN_S", -5.0)
    long = phase(benchmarks=[corridor(num_episodes=20)])
    with hosting(tmp_path, long, play={"places": 1}) as server:
        server.team("new")
        server.enter("new")
        with joined_process(server.team("away"), "Pausing"):
            server.runs_until_status("playing", "away")
            run = run_folder(server.folder(server.submission("away")), 0)
            server.runs_until(lambda: count_rows(run) >= 2, "it has played some")
            server.queue.close(10.0)
        assert server.submission("away").status == "playing"
        played = count_rows(run)
    with hosting(tmp_path, long, play={"places": 1}) as server:
        server.runs_until_status("waiting", "away", "new")
        assert len(server.store.runs()) == 0
        token = {team: server.store.new_token(server.store.team(team)) for team in ("away", "new")}
        where = {team: JoinString(server.gateway.address, each) for team, each in token.items()}
        with joined(where["new"], Seeded()):
            server.runs_until_status("finished", "new")
        assert server.submission("away").status == "waiting"
        with joined(where["away"], Seeded(), name="Pausing"):
            server.runs_until_status("finished", "away")
        away = server.submission("away")
        assert 2 <= played < 40
        assert of_folder(server.folder(away), 1) == server.alone(tmp_path / "x", Seeded(), away)
        assert len(server.store.submissions()) == 2


def test_a_fault_before_an_outage_is_not_forgiven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was killed after the fault was committed, and before the status was."""
    monkeypatch.setattr(farewells, "MARGIN_S", -5.0)
    with hosting(tmp_path) as server:
        with joined(server.team("ours"), Raises()):
            server.runs_until_status("failed", "ours")
        of = server.submission("ours").id
        server.store.set_status(of, "playing", from_statuses=_FAILED)
    with hosting(tmp_path) as server:
        server.runs_until_status("failed", "ours")
        assert server.submission("ours").detail.startswith("agent_error")


def test_what_was_played_to_its_end_before_an_outage_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farewells, "MARGIN_S", -5.0)
    with hosting(tmp_path) as server:
        with joined(server.team("ours"), Seeded()):
            server.runs_until_status("finished", "ours")
        of = server.submission("ours").id
        server.store.set_status(of, "playing", from_statuses=_FINISHED)
    with hosting(tmp_path) as server:
        server.runs_until_status("finished", "ours")


def test_an_agent_that_was_not_told_how_it_ended_enters_no_other_submission(
    tmp_path: Path,
) -> None:
    """Its server was killed between the two: it hears of it from the next one, once."""
    with hosting(tmp_path) as server:
        where = server.team("ours")
        first = server.enter("ours")
        server.store.set_status(first.id, "finished")
    with hosting(tmp_path) as server:
        where = JoinString(server.gateway.address, where.token)
        for count in (1, 2):
            with joined(where, Seeded()) as agent:
                server.runs_until(agent.done, "it is told")
                assert agent.result() == "the submission is finished, thank you"
            assert len(server.store.submissions(team="ours")) == count
    with hosting(tmp_path) as server:
        server.enter("ours")
    with hosting(tmp_path) as server:
        where = JoinString(server.gateway.address, where.token)
        with joined(where, Seeded()):
            server.runs_until_status("finished", "ours")
        assert len(server.store.submissions(team="ours")) == 3
