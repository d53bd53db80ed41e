"""Images that count in one phase go on into the next, without their teams."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from reglue_competition.runs.phase_calendar import Calendar
from reglue_competition.store import Store
from tests.reglue_competition.competitions import CLOSES, OPENS, Clock, phase, private
from tests.reglue_competition.page.competition_builder import end, play
from tests.reglue_competition.runs.hosting import corridor, hosting

IMAGES = {team: f"sha256:{64 * digit}" for team, digit in zip("ABC", "123", strict=True)}

PHASES = (
    phase(agents="both", benchmarks=[corridor()]),
    private(agents="submitted", images_from="public", benchmarks=[corridor()]),
)


def scored(store: Store, team: str, image: str | None, score: float) -> str:
    """A finished submission of the open phase: its id."""
    known = {each.name: each for each in store.teams()}
    of = known.get(team) or store.add_team(team)
    entered = store.enter(of, f"{team} {score}", OPENS, image=image)
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


def test_what_a_team_has_chosen_goes_on(tmp_path: Path) -> None:
    clock = Clock(OPENS)
    with hosting(tmp_path, *PHASES, clock=clock, ranking={"choose": "team"}) as server:
        store, calendar = server.store, Calendar(server.store, server.hosted)
        for team in ("A", "B"):
            chosen = scored(store, team, IMAGES[team], 0.4)
            scored(store, team, IMAGES["C"], 0.9)
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
