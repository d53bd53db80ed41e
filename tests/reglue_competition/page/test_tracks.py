"""Leaderboards over some of a phase's benchmarks."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from reglue.errors import UnknownName
from reglue_competition.cli.database_export import write_board
from reglue_competition.definition import Track
from reglue_competition.store import Store
from tests.error_facts import raises
from tests.reglue_competition.page.competition_builder import (
    Made,
    begin,
    end,
    enter,
    in_practice,
    play,
)
from tests.reglue_competition.page.conftest import Open

MAZE = "/phases/warm-up/tracks/maze"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Two benchmarks, of which the second one is a track, too."""
    of = in_practice()
    first = of.phases[0].model_copy(update={"tracks": (Track(name="maze", benchmarks=(2,)),)})
    found = begin(tmp_path, of.model_copy(update={"phases": (first, *of.phases[1:])}))
    with Store(found.url) as store:
        for team, name, arm, maze in (
            ("Ada", "arm", 0.95, 0.2),
            ("Ada", "both", 0.6, 0.5),
            ("Bertha", "maze", 0.3, 0.95),
        ):
            end(store, enter(store, found, team, name), play(arm), play(maze, seed=3))
    return found


def board(client: TestClient, page: str) -> list[str]:
    """The names of the submissions on a leaderboard, from its top."""
    table = client.get(page).text.split("<tbody>")[1].split("</tbody>")[0]
    return re.findall(r'href="/submissions/(\w+)"', table)


def test_a_track_ranks_what_is_best_in_it(made: Made, opened: Open) -> None:
    client = opened(made)
    arm, both, maze = (made.submissions[name] for name in ("arm", "both", "maze"))
    assert board(client, "/") == [arm, maze]
    assert board(client, MAZE) == [maze, both]
    whole, track = client.get("/").text, client.get(MAZE).text
    assert f'<a href="{MAZE}">maze</a>' in whole
    assert f'<a href="{MAZE}" aria-current="page">maze</a>' in track
    heads = [re.findall(r'<th scope="col">([^<]*)</th>', page) for page in (whole, track)]
    assert heads == [["score", "MT10", "hidden benchmark 2", "faults"], ["score", "faults"]]
    assert client.get("/phases/warm-up/tracks/arm").status_code == 404
    assert client.get("/phases/private/tracks/maze").status_code == 404


def test_what_is_off_the_board_is_so_in_a_track(made: Made, opened: Open) -> None:
    with Store(made.url) as store:
        for each in store.submissions():
            store.rule(each.id, "off the board", "for a test")
    client = opened(made)
    client.app_state["site"].look()
    client.app_state["site"].rank()
    assert "off the board" in client.get(MAZE).text


def test_a_track_is_exported(made: Made) -> None:
    with Store(made.url) as store:
        text = io.StringIO()
        write_board(store, "warm-up", made.folder / "runs", text, "maze")
        first, second = csv.DictReader(io.StringIO(text.getvalue()))
        assert [first["team"], second["team"]] == ["Bertha", "Ada"]
        assert (second["submission"], second["score"]) == (
            made.submissions["both"],
            second["score_2"],
        )
        assert "score_1" not in first
        with raises(UnknownName, "maze", got="mazes"):
            write_board(store, "warm-up", made.folder / "runs", text, "mazes")
