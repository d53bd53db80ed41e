"""A crash of an environment in a Python program's process says where it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.programs import program

CRASHES = """
import ctypes, faulthandler

import reglue
from gymnasium.envs.classic_control import CartPoleEnv

class Crashes(CartPoleEnv):
    def step(self, action):
        ctypes.string_at(0)

def still(observations):
    return observations[:, 0].astype(int) * 0

reglue.evaluate("evaluate:gymnasium:CartPole-v1", still, num_episodes=1, workers=0)
assert not faulthandler.is_enabled(), "it is the program's again"
"""

PLAYS = [
    "reglue.evaluate(Crashes, still, num_episodes=1)",
    "reglue.Evaluator(Crashes, num_episodes=1)(still)",
]


@pytest.mark.parametrize("play", PLAYS)
def test_a_crash_in_an_evaluation_names_its_line(tmp_path: Path, play: str) -> None:
    with program(CRASHES + play, tmp_path) as crashed:
        _, told = crashed.communicate(timeout=120)
    assert crashed.returncode == -signal.SIGSEGV
    assert "line 9 in step" in told
    assert "Thread 0x" not in told, "no other thread crashed"
