"""Tests are where their sources are."""

from __future__ import annotations

from pathlib import Path

from tests.repository.pages import ROOT

SOURCES = (ROOT, ROOT / "agent_clients/python", ROOT / "benchmarks", ROOT / "competition")
WHOLE = {
    Path(each) for each in ("chaos", "docker", "fuzz", "originals", "repository")
}  # of all sources


def test_every_folder_of_tests_mirrors_a_folder_of_sources() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    assert [each for each in folders - WHOLE if not any((s / each).is_dir() for s in SOURCES)] == []
