"""The times at which phases open and close."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reglue.errors import Refused
from reglue_competition.competition_folder import note_admission
from reglue_competition.runs import phase_calendar
from reglue_competition.store import MOST_WAIT, Event
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.competitions import (
    AFTER,
    CLOSES,
    OPENS,
    Clock,
    phase,
    practice,
    private,
)
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import corridor, hosting
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]


def test_phases_open_and_close_once_whatever_the_clock_says_later(tmp_path: Path) -> None:
    day = timedelta(days=1)
    clock = Clock(OPENS - day)
    with hosting(tmp_path, clock=clock) as server:
        states = []
        for date in (clock.now, OPENS, OPENS - 2 * day, CLOSES, OPENS + day, CLOSES + day):
            clock.now = date
            server.queue.tick()
            states.append(server.store.phases()[0].state)
        assert states == ["planned", "open", "open", "closed", "closed", "closed"]
        commitment = server.hosted.commitment("public")
        assert server.store.phases()[0].plan_commitment == commitment


def test_a_phase_is_opened_before_its_date_where_the_organiser_asks(tmp_path: Path) -> None:
    with hosting(tmp_path, clock=lambda: OPENS - timedelta(days=1)) as server:
        server.store.ask_open("public")
        server.queue.tick()
        (public,) = server.store.phases()
        assert public.state == "open"
        assert public.plan_commitment == server.hosted.commitment("public")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("multi-task:tests.worlds:Nowhere", "Nowhere"),
        ("evaluate:openenv:http://127.0.0.1:1", "Connection refused"),
    ],
)
def test_a_phase_that_cannot_be_played_is_not_opened(tmp_path: Path, name: str, why: str) -> None:
    missing = {"benchmark": name}
    with hosting(tmp_path, phase(benchmarks=[missing])) as server:

        def refusals() -> list[Event]:
            return list(server.store.events_of("phase not opened", phase="public"))

        server.runs_until(lambda: bool(refusals()), "it is noted")
        server.queue.tick()
        server.queue.tick()
        assert server.store.phases()[0].state == "planned"
        (told,) = refusals()
        assert why in told.detail["why"]


def test_a_phase_that_is_not_admitted_does_not_open_by_its_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phase_calendar, "_AGAIN_S", 0.0)
    with hosting(tmp_path, phase(benchmarks=[corridor()], needs_admission=None)) as server:
        server.queue.tick()
        assert server.store.phases()[0].state == "planned"
        (told,) = server.store.events_of("phase not opened", phase="public")
        assert "it was not admitted" in told.detail["why"]
        drawn, committed = server.hosted.benchmarks("public"), server.hosted.commitment("public")
        note_admission(server.store, "public", drawn, committed, passed=False)
        server.queue.tick()
        assert server.store.phases()[0].state == "planned"
        note_admission(server.store, "public", drawn, committed, passed=True)
        server.queue.tick()
        assert server.store.phases()[0].state == "open"


def test_practice_goes_on_while_other_phases_open_and_close(tmp_path: Path) -> None:
    day = timedelta(days=1)
    phases = (
        practice(closes=AFTER + day, benchmarks=[corridor()]),
        phase(opens=OPENS + day, benchmarks=[corridor()]),
        private(benchmarks=[corridor()]),
    )
    clock = Clock(OPENS)
    with hosting(tmp_path, *phases, clock=clock) as server:
        states = []
        for date in (OPENS, OPENS + day, CLOSES, AFTER, AFTER + day):
            clock.now = date
            server.queue.tick()
            states.append([each.state for each in server.store.phases()])
        assert states == [
            ["open", "planned", "planned"],
            ["open", "open", "planned"],
            ["open", "closed", "open"],
            ["open", "closed", "closed"],
            ["closed", "closed", "closed"],
        ]


@pytest.mark.parametrize(("world", "state"), [("Corridor", "open"), ("Nowhere", "planned")])
def test_two_phases_that_are_due_open_at_once_unless_one_cannot_be_played(
    tmp_path: Path, world: str, state: str
) -> None:
    played = corridor() | {"benchmark": f"multi-task:tests.worlds:{world}"}
    phases = (practice(benchmarks=[played]), phase(benchmarks=[corridor()]))
    with hosting(tmp_path, *phases) as server:
        assert [each.state for each in server.store.phases()] == [state, "open"]


@pytest.mark.parametrize(
    ("looks_before", "states"), [(True, ["planned", "open"]), (False, ["open", "planned"])]
)
def test_a_phase_that_is_due_waits_in_silence_for_one_that_is_open(
    tmp_path: Path, looks_before: bool, states: list[str]
) -> None:
    """Of two that are due or requested the first opens."""
    clock = Clock(OPENS - timedelta(days=1))
    phases = (phase(benchmarks=[corridor()]), private(benchmarks=[corridor()]))
    with hosting(tmp_path, *phases, clock=clock) as server:
        server.store.ask_open("private")
        if looks_before:
            server.queue.tick()
        clock.now = OPENS
        server.queue.tick()
        assert [each.state for each in server.store.phases()] == states
        assert not server.store.events_of("phase not opened", phase="public")
        assert not server.store.events_of("phase not opened", phase="private")


def test_an_agent_comes_in_vain_before_the_phase_is_open(tmp_path: Path) -> None:
    with (
        hosting(tmp_path, clock=lambda: datetime(2025, 12, 31, tzinfo=UTC)) as server,
        joined(server.team("ours"), Seeded()) as agent,
        raises(Refused, "public", "2026-01-01"),
    ):
        agent.result(PATIENCE_S)


def test_a_submission_that_waits_is_withdrawn_48_hours_after_its_phase(tmp_path: Path) -> None:
    """Its agent may never come, and nothing else ends it; a replay waits as long again."""
    clock = Clock(datetime.now(UTC))
    with hosting(tmp_path, clock=clock) as server:
        server.queue._awaited_until = 0.0  # no agent looks for this server any more
        server.team("ours")
        entered, again = server.enter("ours"), server.enter("ours", "again")
        server.store.set_status(entered.id, "playing")
        server.store.set_status(entered.id, "waiting", "the server was away")
        server.store.set_status(again.id, "failed")
        server.store.close_phase("public")
        (phase,) = server.store.phases()
        assert server.submission("ours", "Seeded").waits_until(phase) == clock.now + MOST_WAIT
        clock.now += timedelta(hours=24)
        server.store.ask_replay(again.id)
        for hours, statuses in (
            (23.9, ["waiting", "waiting"]),
            (0.2, ["withdrawn", "waiting"]),
            (23.8, ["withdrawn", "waiting"]),
            (0.2, ["withdrawn", "withdrawn"]),
        ):
            clock.now += timedelta(hours=hours)
            server.queue.tick()
            found = [server.submission("ours", name) for name in ("Seeded", "again")]
            assert [each.status for each in found] == statuses
        assert "within 48 h" in found[0].detail
        server.store.reveal_phase("public")


def test_an_open_phase_waits_for_its_agents(tmp_path: Path) -> None:
    clock = Clock(datetime.now(UTC))
    with hosting(tmp_path, clock=clock) as server:
        server.queue._awaited_until = 0.0
        server.team("ours")
        server.enter("ours")
        clock.now += timedelta(days=30)
        server.queue.tick()
        assert server.submission("ours").status == "waiting"
