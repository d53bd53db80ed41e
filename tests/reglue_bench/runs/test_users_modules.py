"""Modules of users, in our processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PARSES = """
import argparse

import gymnasium
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=3)
size = parser.parse_args().size


class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (1600, 1600, size), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros((1600, 1600, 3), np.uint8), {}

    def step(self, action):
        return np.zeros((1600, 1600, 3), np.uint8), 1.0, True, False, {}
"""


def test_a_file_that_parses_the_command_line_finds_none_and_large_images_get_fewer_slots(
    tmp_path: Path,
) -> None:
    """In the command and in its workers, and the agent's process is told of them."""
    (tmp_path / "env.py").write_text(PARSES)
    words = "bench evaluate:env.py:Env --agent random --num-episodes 1 --workers 1 --out run"
    done = subprocess.run(
        [sys.executable, "-m", "reglue", *words.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["slots"] == 4
