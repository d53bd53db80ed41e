"""Rulings of the organiser or a team on a score, on the leaderboard and beside it."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from reglue_competition.store import Store
from tests.reglue_competition.page.competition_builder import (
    HOSTILE,
    Made,
    begin,
    end,
    enter,
    play,
)
from tests.reglue_competition.page.conftest import Open, form_token, log_in


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Three teams, of which Ada has two scores."""
    found = begin(tmp_path)
    with Store(found.url) as store:
        for team, name, rate in (
            ("Ada", "best", 0.97),
            ("Ada", "second", 0.6),
            ("Ben", "ben", 0.55),
            ("Cleo", "cleo", 0.05),
        ):
            end(store, enter(store, found, team, name), play(rate), play(rate, seed=3))
    return found


def rows(client: TestClient) -> list[tuple[str, str, str]]:
    """Rank, team and ruling of each row of the leaderboard; `~`: it is struck through."""
    client.app_state["site"].look()
    client.app_state["site"].rank()
    body = client.get("/").text.split("<tbody>")[1].split("</tbody>")[0]
    found = []
    for row in body.split("<tr")[1:]:
        rank = re.search(r'class="rank"[^>]*>(\S+?)<span', row)
        team = re.search(r'<a href="/submissions/\w+">([^<]+)</a>', row)
        ruling = re.search(r'<span class="badge info">([^<]+)</span>', row)
        assert rank, row
        assert team, row
        struck = "~" if 'class="struck"' in row else ""
        found.append((rank[1], struck + team[1], ruling[1] if ruling else ""))
    return found


def send(client: TestClient, page: str, address: str, **fields: str) -> httpx2.Response:
    token = form_token(client.get(page))
    return client.post(address, data={"form_token": token, **fields})


def test_a_score_off_the_board_is_struck_through_and_the_next_best_counts(
    made: Made, opened: Open
) -> None:
    organiser, anybody = opened(made), opened(made)
    assert rows(anybody)[0] == ("1", "Ada", "")
    log_in(organiser, made.organiser)
    page = f"/submissions/{made.submissions['best']}"
    address = f"/organiser{page}/ruling"
    sent = send(organiser, page, address, action="off the board", text=f"It cheated. {HOSTILE}")
    assert sent.url.path == page
    assert f"It cheated. {escape(HOSTILE)}" in sent.text
    found = rows(anybody)
    assert [team for _, team, _ in found] == ["Ada", "Ben", "Cleo", "~Ada"]
    assert found[-1] == ("–", "~Ada", "off the board")
    assert f"It cheated. {escape(HOSTILE)}" in anybody.get("/").text
    assert "There are 3 teams here" in anybody.get("/").text  # Ada, Ben and Cleo
    assert "Off the board" in anybody.get(page).text
    send(organiser, page, address, action="ranked")
    assert [team for _, team, _ in rows(anybody)] == ["Ada", "Ben", "Cleo"]


def test_an_unranked_score_has_a_place_and_no_rank(made: Made, opened: Open) -> None:
    client = opened(made)
    with Store(made.url) as store:
        store.rule(made.submissions["ben"], "unranked", "a baseline")
    assert rows(client) == [
        ("1", "Ada", ""),
        ("–", "Ben", "unranked"),
        ("2", "Cleo", ""),
    ]


def test_a_team_withdraws_its_own_score_alone(made: Made, opened: Open) -> None:
    ada = opened(made)
    log_in(ada, made.teams["Ada"])
    mine, theirs = (f"/submissions/{made.submissions[name]}" for name in ("best", "ben"))
    assert "Withdraw this score" not in ada.get(theirs).text
    assert send(ada, "/team", f"{theirs}/withdrawal", text="no").status_code == 403
    refused = send(ada, mine, f"/organiser{mine}/ruling", action="ranked", text="")
    assert refused.status_code == 403
    answers = [send(ada, mine, f"{mine}/withdrawal", text=" ").status_code for _ in range(2)]
    assert answers == [409, 409]
    sent = send(ada, mine, f"{mine}/withdrawal", text="a bug of ours")
    assert "Withdrawn" in sent.text
    assert "a bug of ours" in sent.text
    assert "Withdraw this score" not in sent.text
    assert rows(opened(made))[-1] == ("–", "~Ada", "withdrawn")


def test_a_void_benchmark_counts_in_no_total(made: Made, opened: Open) -> None:
    client = opened(made)
    before = client.get("/").text
    with Store(made.url) as store:
        (score,) = [run.score for run in store.runs(made.submissions["ben"]) if run.index == 0]
        store.void("warm-up", 1, "its goal cannot be reached")
    rows(client)
    text = client.get("/").text
    assert score is not None
    assert f"{100 * score:.1f} %" in text
    assert "void: its goal cannot be reached" in text
    assert "MT10, 100 % of the score" in text
    page = client.get(f"/submissions/{made.submissions['ben']}").text
    assert "success, void: its goal cannot be reached" in page
    with Store(made.url) as store:
        store.void("warm-up", 1, "")
    rows(client)
    places = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    assert places.findall(client.get("/").text) == places.findall(before)


def test_a_ruling_needs_a_known_action(made: Made, opened: Open) -> None:
    organiser = opened(made)
    log_in(organiser, made.organiser)
    page = f"/submissions/{made.submissions['best']}"
    for action in ("withdrawn", "", "gone"):
        sent = send(organiser, page, f"/organiser{page}/ruling", action=action, text="x")
        assert sent.status_code == 400
