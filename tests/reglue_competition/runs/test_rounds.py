"""Submissions that play in rounds: `play.round_every_s`."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from reglue.net.join_string import JoinString
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.competitions import OPENS, Clock
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import Hosting, hosting
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("cleared")

HOUR = timedelta(hours=1)
ROUNDS = {"places": 2, "round_every_s": 3600.0}


def test_what_was_entered_before_a_round_begins_plays_in_it(tmp_path: Path) -> None:
    clock = Clock(OPENS + timedelta(minutes=10))
    with hosting(tmp_path, play=ROUNDS, clock=clock) as server, ExitStack() as agents:
        for name in ("first", "second"):
            agents.enter_context(joined(server.team(name), Seeded()))
        comes(server, "first", "second")
        assert (
            waits(server, "first") == "waiting for the round that begins at 2026-01-01 01:00:00 UTC"
        )
        clock.now = OPENS + HOUR - timedelta(seconds=1)
        server.queue.tick()
        assert statuses(server) == {"first": "waiting", "second": "waiting"}
        clock.now = OPENS + HOUR
        assert waits(server, "first") == "waiting for its turn"
        agents.enter_context(joined(server.team("late"), Seeded()))
        comes(server, "late")
        server.runs_until_status("finished", "first", "second")
        assert statuses(server)["late"] == "waiting"
        clock.now = OPENS + 2 * HOUR
        server.runs_until_status("finished", "late")


def test_a_round_begins_once_whichever_server_is_there(tmp_path: Path) -> None:
    clock = Clock(OPENS + timedelta(minutes=10))
    with hosting(tmp_path, play=ROUNDS, clock=clock) as server:
        server.team("ours")
        server.store.enter(server.store.team("ours"), "agent", clock())
    with hosting(tmp_path, play=ROUNDS, clock=clock) as server:
        clock.now = OPENS + timedelta(minutes=50)
        token = server.store.new_token(server.store.team("ours"))
        with joined(JoinString(server.gateway.address, token), Seeded(), name="agent"):
            comes(server, "ours")
            server.queue.tick()
            assert statuses(server) == {"ours": "waiting"}
            clock.now = OPENS + HOUR
            server.runs_until_status("finished", "ours")
        assert len(server.store.submissions()) == 1


def test_the_last_round_begins_when_the_organiser_closes_the_phase(tmp_path: Path) -> None:
    clock = Clock(OPENS + timedelta(minutes=10))
    with (
        hosting(tmp_path, play=ROUNDS, clock=clock) as server,
        joined(server.team("ours"), Seeded()),
    ):
        comes(server, "ours")
        server.queue.tick()
        assert statuses(server) == {"ours": "waiting"}
        server.store.close_phase("public")
        server.runs_until_status("finished", "ours")


def comes(server: Hosting, *teams: str) -> None:
    """Wait until their agents are here."""

    def here() -> bool:
        entered = [each for team in teams for each in server.store.submissions(team=team)]
        return len(entered) == len(teams) and all(
            server.entries.is_connected(e.id) for e in entered
        )

    until(here, "they wait")


def waits(server: Hosting, team: str) -> str:
    return server.entries.waits(server.submission(team).id)


def statuses(server: Hosting) -> dict[str, str]:
    return {each.team: each.status for each in server.store.submissions()}
