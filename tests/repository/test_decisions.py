"""The records of decisions have one form, and the index lists all of them."""

from __future__ import annotations

import re

import pytest

from tests.repository.pages import ROOT

FOLDER = ROOT / "docs/decisions"
RECORDS = sorted(path.name for path in FOLDER.glob("[0-9]*.md"))
_HEAD = re.compile(
    r"# (?P<title>.+)\n\nDate: (?P<date>\d{4}-\d\d-\d\d)\n\nStatus: (?P<status>\w.*)\n\n## "
)
_ROW = re.compile(r"^\| (\d{4}) \| \[(.+)\]\((\S+)\) \| (\S+) \| (.+?) \| .+ \|$", re.MULTILINE)


def test_records_are_numbered_without_gaps() -> None:
    assert [name[:4] for name in RECORDS] == [f"{n:04}" for n in range(1, len(RECORDS) + 1)]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_says_its_context_and_its_decision(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert _HEAD.match(text)
    assert sections in (["Context", "Decision"], ["Context", "Decision", "Consequences"])


def test_the_index_has_each_record_with_its_title_date_and_status() -> None:
    rows = _ROW.findall((FOLDER / "index.md").read_text("utf-8"))
    heads = [(name, _HEAD.match((FOLDER / name).read_text("utf-8"))) for name in RECORDS]
    assert rows == [
        (name[:4], head["title"], name, head["date"], head["status"])
        for name, head in heads
        if head
    ]
