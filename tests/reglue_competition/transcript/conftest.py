"""Runs, and their transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import online_plan, play
from tests.reglue_competition.transcript.transcripts import written


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose rewards are kept: 3 × 4 episodes of a corridor."""
    folder = tmp_path_factory.mktemp("run") / "run"
    play(folder, online_plan(), Seeded())
    return folder


@pytest.fixture
def transcript(run: Path, tmp_path: Path) -> Path:
    return written(run, tmp_path / "run.reglue")
