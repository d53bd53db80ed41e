"""The page that lists what is tried again has the numbers of the code, and every rule."""

from __future__ import annotations

import math
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from reglue.retrying import Backoff
from tests.repository.pages import ROOT
from tests.repository.tracked_files import tracked

ROWS = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs/explanation/code.md").read_text(encoding="utf-8").splitlines()
    if re.search(r"`[\w.]+:\w+` \|$", line)
]
"""After which failure; pauses; tries, or the time for them; where the numbers are."""


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_pauses_and_tries_are_those_of_the_code(row: list[str]) -> None:
    _, pauses, tries, places = row
    listed = re.findall(r"\d[\d,]*(?:\.\d+)?", f"{pauses} {tries}")
    numbers = [number for name in named(places) for number in numbers_of(name)]
    assert [float(each.replace(",", "")) for each in listed] == numbers


def test_every_backoff_is_in_the_table() -> None:
    made = {
        f"{Path(path).stem}:{name}"
        for path in tracked("*.py")
        if not path.startswith("tests/")
        for name in re.findall(
            r"^(\w+) = Backoff\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert made
    assert made <= {name.rpartition(".")[2] for row in ROWS for name in named(row[3])}


def named(places: str) -> list[str]:
    return re.findall(r"`([^`]+)`", places)


def numbers_of(name: str) -> list[float]:
    value = resolve_name(name)
    if not isinstance(value, Backoff):
        return [float(value)]
    numbers = [value.first_s]
    if value.factor != 1.0:
        numbers.append(value.factor)
    if math.isfinite(value.most_s):
        numbers.append(value.most_s)
    return numbers
