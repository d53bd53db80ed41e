"""Files are where one looks for them."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

from tests.repository.pages import ROOT

SOURCES = (ROOT, ROOT / "agent_clients/python", ROOT / "benchmarks", ROOT / "competition")
WHOLE = {
    Path(each)
    for each in ("chaos", "docker", "fuzz", "mutants", "originals", "repository", "simulator")
}  # of all sources


def test_every_folder_of_tests_mirrors_a_folder_of_sources() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    assert [each for each in folders - WHOLE if not any((s / each).is_dir() for s in SOURCES)] == []


def test_a_file_in_python_has_a_name_of_its_own() -> None:
    """Apart from those that Python, pytest and Alembic name."""
    listed = subprocess.check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True)
    names = Counter(Path(each).name for each in listed.splitlines())
    named_by_others = {"__init__.py", "__main__.py", "conftest.py", "env.py"}
    assert [name for name, n in names.items() if n > 1 and name not in named_by_others] == []
