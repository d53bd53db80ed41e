"""Runs to watch, and the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue_bench import evaluate
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.replay.replay_recordings import Watch


@pytest.fixture
def watch(say: Say) -> Watch:
    """Runs the command: its exit code, and what it says on stdout and stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        done = say("watch", *words)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture(scope="module")
def arcade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of three episodes of pong."""
    folder = tmp_path_factory.mktemp("arcade") / "run"
    options: Any = {"runs": 2, "episodes": 3, "episode_limit": 40, "workers": 0}
    evaluate("online:gymnasium:Reglue/Arcade-v0", agent="random", out=folder, **options)
    return folder


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes of Meta-World."""
    folder = tmp_path_factory.mktemp("reach") / "run"
    options: Any = {"num_episodes": 2, "episode_horizon": 20, "workers": 0}
    evaluate("MT1:reach-v3", agent="random", out=folder, **options)
    return folder
