"""Episodes of a result: packed in memory, and rows again when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.result import read_result
from tests.reglue_bench.made_results import Play, make_result

ROW = EpisodeRow(
    unit=0,
    k=0,
    attempt=0,
    task="a",
    variant=0,
    repeat=0,
    phase="evaluate",
    status="ok",
    success=True,
    return_=0.1 + 0.2,
    steps=5,
)
ROWS = [
    ROW,
    replace(ROW, unit=255, task="b", status="agent_error", success=False, return_=float("-inf")),
    replace(ROW, unit=256, phase="adapt", steps=70_000),
    replace(ROW, unit=2**40, variant=2**32, attempt=3, return_=-0.0),
]


def test_rows_come_back_as_they_were_however_large_their_numbers() -> None:
    assert list(Episodes(ROWS)) == ROWS
    assert [type(row.success) for row in Episodes(ROWS)] == [bool] * 4


def test_a_row_is_found_by_its_place_from_either_end() -> None:
    episodes = Episodes(ROWS)
    assert len(episodes) == 4
    assert episodes[1] == ROWS[1]
    assert episodes[-1] == ROWS[-1]
    assert episodes[1:3] == ROWS[1:3]
    with pytest.raises(IndexError):
        episodes[4]


def test_episodes_are_equal_where_all_of_their_rows_are() -> None:
    assert Episodes(ROWS) == Episodes(iter(ROWS))
    assert Episodes(ROWS) != Episodes([*ROWS[:3], replace(ROWS[3], steps=6)])
    assert Episodes(ROWS) != Episodes(ROWS[:3])


@pytest.mark.parametrize("goals", [0, 1, 10, 25])
def test_a_result_is_written_in_pieces_as_in_one(tmp_path: Path, goals: int) -> None:
    """Of no episodes, of fewer than are written at a time, of as many and of more."""
    result = make_result(Play(goals=25, missing=10 * (25 - goals), faulty=0.1))
    text = result.write(tmp_path).read_text(encoding="utf-8")
    assert text == result.model_dump_json(by_alias=True, indent=1) + "\n"
    assert text.count('"unit"') == 10 * goals
    assert read_result(tmp_path) == result


@pytest.mark.parametrize(
    ("was", "is_now", "named"),
    [
        ('"unit": 0,', '"unit": -1,', "episodes.0.unit"),
        ('"unit": 0,', '"unit": 1e30,', "episodes.0.unit"),
        ('"phase": "evaluate"', '"phase": "rest"', "episodes.0.phase"),
        ('"try": 0,', '"try": 0, "more": 1,', "episodes.0.more"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, was: str, is_now: str, named: str) -> None:
    path = make_result(Play(goals=1)).write(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(was, is_now, 1), encoding="utf-8")
    with pytest.raises(UsageError, match=named):
        read_result(tmp_path)
