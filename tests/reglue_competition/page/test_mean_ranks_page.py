"""A leaderboard by mean ranks: percent and returns beside each other."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from reglue_competition.cli.database_export import write_board
from reglue_competition.store import Store
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_competition.competitions import definition, phase
from tests.reglue_competition.page.competition_builder import (
    Made,
    begin,
    end,
    enter,
    play,
)
from tests.reglue_competition.page.conftest import Open, log_in

RATES_AND_RETURNS = {"Ada": (0.9, -150.0), "Ben": (0.9, -100.0), "Cleo": (0.2, -300.0)}
"""Ben 1.5 and 1, Ada 1.5 and 2, Cleo 3 and 3; the first counts threefold."""

MEANS = [("1", "Ben", "1.375"), ("2", "Ada", "1.625"), ("3", "Cleo", "3.000")]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Three teams, and a baseline that is better than each."""
    benchmarks = [{"benchmark": "MT10", "weight": 3}, {"benchmark": "online:mountain-car"}]
    ranking = {"total": "mean rank", "choose": "last", "ties": "score"}
    found = begin(tmp_path, definition(phase(benchmarks=benchmarks), ranking=ranking))
    with Store(found.url) as store:
        for team, (rate, best) in {**RATES_AND_RETURNS, "base": (2.0, -50.0)}.items():
            results = play(rate), learned(Learned(label=team, best=best))
            end(store, enter(store, found, team, team), *results)
        store.rule(found.submissions["base"], "unranked", "a baseline")
    return found


def places(client: TestClient) -> list[tuple[str, str, str]]:
    """The rank, team and total in each row of the leaderboard."""
    body = client.get("/").text.split("<tbody>")[1].split("</tbody>")[0]
    row = r'data-column="rank">(\S+?)<.*?<a href="\S+">(\w+)<.*?data-column="mean rank">(\S+?)<'
    return re.findall(row, body, re.DOTALL)


def test_the_lowest_mean_rank_is_first(made: Made, opened: Open) -> None:
    client = opened(made)
    assert places(client) == [*MEANS, ("–", "base", "–")]
    text = client.get("/").text
    assert "Ben has the lowest mean rank." in text
    assert "75 % of the mean rank" in text
    assert "depends on who else is here" in text
    assert "no interval" not in text
    assert 'class="bars"' not in text
    assert "depends on who else is here" in client.get("/rules").text


def test_mean_ranks_of_rates_alone_are_no_percent(made: Made, opened: Open) -> None:
    client = opened(made)
    with Store(made.url) as store:
        store.void("public", 1, "its goal cannot be reached")
    client.app_state["site"].look()
    client.app_state["site"].rank()
    means = [("1", "Ada", "1.500"), ("2", "Ben", "1.500"), ("3", "Cleo", "3.000")]
    assert places(client) == [*means, ("–", "base", "–")]


def test_a_submission_has_its_mean_rank_and_its_scores(made: Made, opened: Open) -> None:
    client = opened(made)
    ada, base = (client.get(f"/submissions/{made.submissions[n]}").text for n in ("Ada", "base"))
    assert '<p class="number">1.625</p>' in ada
    assert "mean rank among the teams on the leaderboard, rank <strong>2</strong>" in ada
    assert 'class="number"' not in base
    assert "It has no score here" not in base
    assert "100.0 %" in base
    log_in(client, made.teams["Ada"])
    assert '<td data-column="mean rank">1.625' in client.get("/team").text


def test_the_table_has_a_column_of_mean_ranks(made: Made) -> None:
    text = io.StringIO()
    with Store(made.url) as store:
        write_board(store, "public", made.folder / "runs", text)
    rows = [*csv.DictReader(io.StringIO(text.getvalue()))]
    assert [(r["rank"], r["team"], r["mean_rank"], r["low"]) for r in rows] == [
        ("1", "Ben", "1.375", ""),
        ("2", "Ada", "1.625", ""),
        ("3", "Cleo", "3.0", ""),
        ("", "base", "", ""),
    ]
    assert "score" not in rows[0]
    assert float(rows[0]["score_2"]) > float(rows[1]["score_2"])
