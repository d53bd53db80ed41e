"""A team says on the page which of its scores counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from reglue_competition.definition import Definition
from reglue_competition.store import Store
from tests.reglue_competition.competitions import Clock
from tests.reglue_competition.page.competition_builder import (
    Made,
    begin,
    end,
    enter,
    in_practice,
    play,
)
from tests.reglue_competition.page.conftest import Open, form_token, log_in

FROZEN = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
BUTTON = "Let this one count"
BY_TEAM, BY_DEFAULT = "chosen by the team", "its last, as the team has chosen none"


def choosing(freeze_at: datetime | None = None) -> Definition:
    of = in_practice(ranking={"teams": 2, "choose": "team"})
    first = of.phases[0].model_copy(update={"freeze_at": freeze_at})
    return of.model_copy(update={"phases": (first, *of.phases[1:])})


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Two teams, of which Ada has two scores."""
    found = begin(tmp_path, choosing())
    with Store(found.url) as store:
        for team, name, rate in (("Ada", "best", 0.97), ("Ada", "last", 0.5), ("Ben", "ben", 0.6)):
            end(store, enter(store, found, team, name), play(rate), play(rate, seed=3))
    return found


def board(client: TestClient) -> set[str]:
    """The ids of the submissions on the leaderboard, as it is now."""
    client.app_state["site"].look()
    client.app_state["site"].rank()
    table = client.get("/").text.split("<tbody>")[1].split("</tbody>")[0]
    return set(re.findall(r'href="/submissions/(\w+)"', table))


def choose(client: TestClient, page: str, submission: str) -> httpx2.Response:
    token = form_token(client.get(page))
    return client.post(f"/submissions/{submission}/choice", data={"form_token": token})


def test_what_a_team_chooses_is_on_the_leaderboard(made: Made, opened: Open) -> None:
    best, last, ben = (made.submissions[name] for name in ("best", "last", "ben"))
    ada, anybody = opened(made), opened(made)
    log_in(ada, made.teams["Ada"])
    assert board(anybody) == {last, ben}
    board(ada)
    for client in (ada, anybody):
        assert BY_DEFAULT in client.get(f"/submissions/{last}").text
    assert BY_DEFAULT in ada.get("/team").text
    sent = choose(ada, f"/submissions/{best}", best)
    assert sent.url.path == f"/submissions/{best}"
    assert (BY_TEAM in sent.text, BUTTON in sent.text) == (True, False)
    told = ada.get("/team").text
    assert (told.count(BY_TEAM), BY_DEFAULT in told) == (1, False)
    assert board(anybody) == {best, ben}
    assert BY_TEAM in anybody.get(f"/submissions/{best}").text
    assert BY_DEFAULT not in anybody.get(f"/submissions/{last}").text


def test_a_team_chooses_for_itself_until_its_phase_is_closed(made: Made, opened: Open) -> None:
    best, ben = made.submissions["best"], made.submissions["ben"]
    ada, anybody = opened(made), opened(made)
    log_in(ada, made.teams["Ada"])
    assert BUTTON in ada.get(f"/submissions/{best}").text
    assert BUTTON not in anybody.get(f"/submissions/{best}").text
    assert BUTTON not in ada.get(f"/submissions/{ben}").text
    assert choose(ada, "/team", ben).status_code == 403
    with Store(made.url) as store:
        store.close_phase("warm-up")
        board(ada)
        assert BUTTON not in ada.get(f"/submissions/{best}").text
        assert choose(ada, "/team", best).status_code == 409
        assert store.choices("warm-up") == {}


def test_the_last_counts_again_once_the_chosen_one_is_withdrawn(made: Made, opened: Open) -> None:
    best, last, ben = (made.submissions[name] for name in ("best", "last", "ben"))
    ada = opened(made)
    log_in(ada, made.teams["Ada"])
    choose(ada, "/team", best)
    with Store(made.url) as store:
        store.rule(best, "withdrawn", "a bug", team=store.team("Ada"))
    assert board(ada) == {best, last, ben}  # struck through, and the two that count
    assert BY_DEFAULT in ada.get(f"/submissions/{last}").text
    told = ada.get(f"/submissions/{best}").text
    assert (BY_TEAM in told, BUTTON in told) == (False, False)


def test_a_frozen_leaderboard_shows_no_later_choice(tmp_path: Path, opened: Open) -> None:
    made, clock = begin(tmp_path, choosing(FROZEN)), Clock(FROZEN - DAY)
    with Store(made.url, clock=clock) as store:
        first, second = (enter(store, made, "Ada", name) for name in ("first", "second"))
        for each in (first, second):
            end(store, each, play(0.5), play(0.5))
        ada = store.team("Ada")
        store.choose(first.id, ada)
        clock.now = FROZEN
        store.choose(second.id, ada)
        anybody, team = opened(made), opened(made)
        log_in(team, made.teams["Ada"])

        def counts() -> list[list[bool]]:
            """Whether either submission counts, as the team and as anybody reads it."""
            return [
                [BY_TEAM in client.get(f"/submissions/{each.id}").text for each in (first, second)]
                for client in (team, anybody)
            ]

        assert board(anybody) == {first.id}
        assert counts() == [[False, True], [True, False]]
        store.close_phase("warm-up")
        assert board(anybody) == board(team) == {second.id}
        assert counts() == [[False, True], [False, True]]
