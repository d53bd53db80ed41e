"""A leaderboard that stays as it was at a date, until its phase is played."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reglue_competition.store import Store
from tests.reglue_competition.competitions import CLOSES, Clock
from tests.reglue_competition.page.competition_builder import (
    begin,
    end,
    enter,
    in_practice,
    play,
)
from tests.reglue_competition.page.conftest import Open, log_in

FROZEN = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize("freezes", [True, False])
def test_what_ends_later_is_shown_when_the_phase_is_played(
    tmp_path: Path, opened: Open, *, freezes: bool
) -> None:
    of = in_practice()
    first = of.phases[0].model_copy(update={"freeze_at": FROZEN if freezes else None})
    made = begin(tmp_path, of.model_copy(update={"phases": (first, *of.phases[1:])}))
    clock = Clock(FROZEN - DAY)
    with Store(made.url, clock=clock) as store:
        early = enter(store, made, "Ada", "early")
        end(store, early, play(0.5), play(0.5))
        clock.now = FROZEN
        late, rival = enter(store, made, "Ada", "late"), enter(store, made, "Ben", "ben")
        for each in (late, rival):
            end(store, each, play(0.9), play(0.9))
        anybody, team, organiser = opened(made), opened(made), opened(made)
        log_in(team, made.teams["Ben"])
        log_in(organiser, made.organiser)
        told = "has been frozen since 2026-06-01 00:00 UTC"

        def sees(page: str) -> list[bool]:
            """Whether each reader finds the later score there."""
            clients = (anybody, team, organiser)
            return ["91.7 %" in client.get(page).text for client in clients]

        board = anybody.get("/").text
        assert (early.id in board, late.id in board, rival.id in board) == (
            freezes,
            not freezes,
            not freezes,
        )
        assert (told in board) == freezes
        assert sees("/") == 3 * [not freezes]
        assert sees(f"/submissions/{rival.id}") == [not freezes, True, True]
        assert sees(f"/submissions/{late.id}") == [not freezes, not freezes, True]
        store.close_phase("warm-up")
        for client in (anybody, team, organiser):
            client.app_state["site"].look()
            client.app_state["site"].rank()
        board = anybody.get("/").text
        assert (early.id in board, late.id in board, told in board) == (False, True, False)
        assert sees("/") == 3 * [True]
        assert sees(f"/submissions/{rival.id}") == 3 * [True]


def test_the_date_is_told_before(tmp_path: Path, opened: Open) -> None:
    of = in_practice()
    first = of.phases[0].model_copy(update={"freeze_at": CLOSES - DAY})
    made = begin(tmp_path, of.model_copy(update={"phases": (first, *of.phases[1:])}))
    assert "will be frozen at 2099-12-31 00:00 UTC" in opened(made).get("/").text
