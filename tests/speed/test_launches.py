"""Measuring, comparing and writing figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from speed.launches import Claim, Scale, Section, Series, interleave
from speed.results import Results, page, read

OURS, THEIRS = Series("ours", "s", (2.0, 9.0, 3.0)), Series("theirs", "s", (30.0, 29.0, 31.0))


def section(*claims: Claim) -> Section:
    return Section("Some figures", "How they were taken.", (OURS, THEIRS), claims, ("a note",))


def unseen(what: str) -> None:
    """Nobody looks on."""


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def named(name: str) -> float:
        order.append(name)
        return len(order)

    series = interleave(
        {"A": lambda: named("A"), "B": lambda: named("B")}, "s", rounds=2, watch=unseen
    )
    assert order == ["A", "B", "A", "B"]
    assert series == (Series("A", "s", (1, 3)), Series("B", "s", (2, 4)))


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        (Claim("faster", "ours", "theirs", "theirs/ours"), 10.0),
        (Claim("less", "ours", "theirs"), 0.1),
        (Claim("by itself", "ours"), 3.0),
        (Claim("not measured", "ours", "others"), None),
    ],
)
def test_a_claim_compares_medians(claim: Claim, value: float | None) -> None:
    assert section(claim).value(claim) == (None if value is None else pytest.approx(value))


def test_a_smoke_run_is_one_round() -> None:
    assert Scale(quick=True).rounds(7) == 1
    assert Scale().rounds(7) == 7


def test_what_was_measured_is_written_and_read_again(tmp_path: Path) -> None:
    results = Results()
    results.add("some", section(Claim("faster", "ours", "theirs", "theirs/ours", is_peer=True)))
    results.write(tmp_path / "results.json")
    assert read(tmp_path / "results.json") == results


def test_the_page_has_each_figure_beside_what_it_means() -> None:
    results = Results()
    claims = (
        Claim("faster", "ours", "theirs", "theirs/ours", is_peer=True, means="it is faster"),
        Claim("slower", "ours", "theirs", is_peer=True),
        Claim("a cost", "ours", means="seconds"),
        Claim("not measured", "ours", "others"),
    )
    results.add("some", section(*claims))
    lines = page(results).splitlines()
    costs = lines.index("## What it costs")
    assert "| faster | 10× | it is faster |" in lines[:costs]
    assert "| slower | **0.1×** |  |" in lines[:costs]
    assert "| a cost | 3 | seconds |" in lines[costs:]
    assert "| not measured | – |  |" in lines[costs:]
    assert "| ours | 3 s | 2 | 9 | 3 |" in lines
    assert "- a note" in lines
