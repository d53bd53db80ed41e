"""Images that count in one phase go on into the next, without their teams."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reglue_competition.runs.images.advancement import advance
from reglue_competition.runs.phase_calendar import Calendar
from reglue_competition.store import Store
from tests.reglue_competition.competitions import (
    CLOSES,
    OPENS,
    Clock,
    phase,
    practice,
    private,
)
from tests.reglue_competition.page.competition_builder import end, play
from tests.reglue_competition.runs.hosting import corridor, hosting

IMAGES = {team: f"sha256:{64 * digit}" for team, digit in zip("ABC", "123", strict=True)}

PHASES = (
    phase(agents="both", benchmarks=[corridor()]),
    private(agents="submitted", images_from="public", benchmarks=[corridor()]),
)


def scored(store: Store, team: str, image: str | None, score: float, at: datetime = OPENS) -> str:
    """A finished submission of the open phase: its id."""
    known = {each.name: each for each in store.teams()}
    of = known.get(team) or store.add_team(team)
    entered = store.enter(of, f"{team} {score}", at, image=image)
    end(store, entered, play(score))
    return entered.id


def test_the_server_enters_them_once_the_phase_before_is_played(
    tmp_path: Path,
) -> None:
    clock = Clock(OPENS)
    with hosting(tmp_path, *PHASES, clock=clock) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)

        def images() -> dict[str, str | None]:
            """Of each team in the private phase, once the calendar has looked."""
            calendar.keep(clock.now)
            return {each.team: each.image for each in store.submissions("private")}

        scored(store, "A", f"sha256:{64 * 'f'}", 0.1)  # another one of A counts
        scored(store, "A", IMAGES["A"], 0.9)
        struck = scored(store, "B", IMAGES["B"], 0.8)
        store.rule(struck, "off the board", "it cheats")
        scored(store, "C", IMAGES["C"], 0.7)
        scored(store, "D", None, 0.6)  # it connects by itself
        late = store.enter(store.team("C"), "still playing", OPENS, image=IMAGES["C"])
        clock.now = CLOSES + timedelta(seconds=1)
        assert images() == {}  # the one closes, and the other opens
        assert [each.state for each in store.phases()] == ["closed", "open"]
        assert images() == {}  # one of the first still plays
        end(store, late, play(0.2))
        assert images() == {"A": IMAGES["A"], "C": IMAGES["C"]}
        before = store.submissions("private")
        assert images() == {"A": IMAGES["A"], "C": IMAGES["C"]}
        again = Calendar(store, server.hosted)  # of the next server
        again.keep(clock.now)
        assert store.submissions("private") == before
        (told,) = store.events_of("images entered from another phase", phase="private")
        assert (told.detail["of"], told.detail["entered"]) == ("public", 2)


def test_they_go_into_the_phase_that_says_so_and_not_into_practice(tmp_path: Path) -> None:
    clock = Clock(OPENS)
    beside = practice(agents="both", benchmarks=[corridor()])
    with hosting(tmp_path, beside, *PHASES, clock=clock) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)
        scored(store, "A", IMAGES["A"], 0.5)
        clock.now = CLOSES + timedelta(seconds=1)
        calendar.keep(clock.now)
        calendar.keep(clock.now)
        assert [each.team for each in store.submissions("private")] == ["A"]
        assert store.submissions("practice") == []


def test_practice_gets_its_own_images_while_another_phase_is_open(tmp_path: Path) -> None:
    day = timedelta(days=1)
    own: dict[str, Any] = {"kind": "practice", "agents": "both", "benchmarks": [corridor()]}
    phases = (
        phase("first", closes=OPENS + day, **own),
        phase("second", opens=OPENS + day, images_from="first", **own),
        phase(opens=OPENS + day, agents="both", benchmarks=[corridor()]),
    )
    clock = Clock(OPENS)
    with hosting(tmp_path, *phases, clock=clock) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)
        scored(store, "A", IMAGES["A"], 0.5)
        clock.now = OPENS + day
        calendar.keep(clock.now)
        calendar.keep(clock.now)
        assert [each.team for each in store.submissions("second")] == ["A"]
        assert store.submissions("public") == []


def test_what_a_team_has_chosen_goes_on(tmp_path: Path) -> None:
    clock = Clock(OPENS)
    with hosting(tmp_path, *PHASES, clock=clock, ranking={"choose": "team"}) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)
        for team in ("A", "B"):
            chosen = scored(store, team, IMAGES[team], 0.4)
            scored(store, team, IMAGES["C"], 0.9, OPENS + timedelta(days=1))
            if team == "A":
                store.choose(chosen, store.team(team))
        clock.now = CLOSES + timedelta(seconds=1)
        calendar.keep(clock.now)
        calendar.keep(clock.now)
        entered = {each.team: each.image for each in store.submissions("private")}
        assert entered == {"A": IMAGES["A"], "B": IMAGES["C"]}


def test_one_that_is_refused_is_told_and_keeps_no_other_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(OPENS)
    with hosting(tmp_path, *PHASES, clock=clock) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)
        for team, image in IMAGES.items():
            scored(store, team, image, 0.5)
        clock.now = CLOSES + timedelta(seconds=1)
        calendar.keep(clock.now)
        own = store.enter(store.team("A"), "A's own", clock.now, image=f"sha256:{64 * 'f'}")
        store.retire_team("C")
        calendar.keep(clock.now)
        entered = {each.team: each.id for each in store.submissions("private")}
        assert sorted(entered) == ["A", "B"]
        assert entered["A"] == own.id
        (told,) = [each for each in caplog.records if each.levelno == logging.WARNING]
        assert (told.team, "is not entered" in told.message) == ("A", True)  # type: ignore[attr-defined]


def test_all_go_on_whatever_the_quotas_say(tmp_path: Path) -> None:
    clock = Clock(OPENS)
    quotas = {"at_once": 1, "in_all": 1}
    new = private(agents="submitted", quotas=quotas, benchmarks=[corridor()])
    with hosting(tmp_path, PHASES[0], new, clock=clock) as server:
        store = server.store
        many = [f"sha256:{64 * digit}" for digit in "789"]
        ids = {image: scored(store, "A", image, 0.1) for image in many}
        scored(store, "A", many[0], 0.9)  # the same image again
        scored(store, "B", None, 0.6)
        failed = store.enter(store.add_team("C"), "failed", OPENS, image=IMAGES["C"])
        end(store, failed, play(0.2), status="failed")
        broken = store.enter(store.team("C"), "broken", OPENS, image=f"sha256:{64 * 'e'}")
        end(store, broken, play(0.2), status="broken")
        clock.now = CLOSES + timedelta(seconds=1)
        Calendar(store, server.hosted).keep(clock.now)
        phases = {each.name: each for each in store.phases()}

        def go_on() -> list[tuple[str, str | None]]:
            done = advance(
                server.hosted.definition,
                store,
                server.hosted.folder.runs_path,
                phases["public"],
                phases["private"],
                clock.now,
                every=True,
            )
            return [(each.before.name, each.why_not) for each in done]

        told = go_on()
        assert {("B 0.6", "its agent connects by itself"), ("failed", "")} < {*told}
        entered = {each.image: each for each in store.submissions("private")}
        assert entered.keys() == {*many, IMAGES["C"]}
        assert entered[many[1]].name == f"{ids[many[1]]} A 0.1"
        assert "" not in {why for _, why in go_on()}
        assert len(store.submissions("private")) == len(entered)
