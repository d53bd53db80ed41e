"""How figures are taken, compared and written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from speed.harness import Claim, Scale, Section, Series, interleave
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
    ("claim", "value", "holds"),
    [
        (Claim("1", "faster", "ours", "theirs", "theirs/ours", 10.0), 10.0, True),
        (Claim("1", "faster", "ours", "theirs", "theirs/ours", 10.1), 10.0, False),
        (Claim("1", "less", "ours", "theirs", wanted=0.1, sense="at most"), 0.1, True),
        (Claim("1", "by itself", "ours", wanted=2.9, sense="at most"), 3.0, False),
        (Claim("1", "for information", "ours", "theirs"), 0.1, None),
        (Claim("1", "not measured", "ours", "others", wanted=1.0), None, None),
    ],
)
def test_a_claim_compares_medians(claim: Claim, value: float | None, holds: bool | None) -> None:
    assert section(claim).value(claim) == (None if value is None else pytest.approx(value))
    assert section(claim).holds(claim) is holds


def test_a_smoke_run_is_one_round() -> None:
    assert Scale(quick=True).rounds(7) == 1
    assert Scale().rounds(7) == 7


def test_what_was_measured_is_written_and_read_again(tmp_path: Path) -> None:
    results = Results()
    results.add("some", section(Claim("1", "faster", "ours", "theirs", "theirs/ours", 5.0)))
    results.write(tmp_path / "results.json")
    assert read(tmp_path / "results.json") == results


def test_the_page_has_each_claim_beside_its_goal() -> None:
    results = Results()
    results.add(
        "some",
        section(
            Claim("1", "faster", "ours", "theirs", "theirs/ours", 5.0),
            Claim("2", "much faster", "ours", "theirs", "theirs/ours", 50.0),
            Claim("3", "not measured", "ours", "others", wanted=1.0),
        ),
    )
    lines = page(results).splitlines()
    assert "| 1 | faster | 10× | ≥ 5× | met |" in lines
    assert "| 2 | much faster | 10× | ≥ 50× | **missed** |" in lines
    assert "| 3 | not measured | – | ≥ 1× |  |" in lines
    assert "| ours | 3 s | 2 | 9 | 3 |" in lines
    assert "- a note" in lines
