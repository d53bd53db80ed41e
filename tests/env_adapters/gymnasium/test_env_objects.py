"""A `gymnasium.Env` is taken as it is: its class, a function, or an object."""

from __future__ import annotations

import doctest
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from env_adapters.gymnasium import gymnasium_suite
from env_adapters.suites import suite_name
from glue_server import Glue
from reglue import Policy, connect
from reglue.errors import CannotLoad, OutOfDomain
from reglue.spec import Arrays
from tests.error_facts import raises

COUNT = """
import gymnasium
import numpy as np


class Count(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, goal=3):
        self.goal, self.at, self.is_closed = goal, 0, False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.array([0], np.float32), {}

    def step(self, action):
        assert not self.is_closed
        self.at += int(action)
        return np.array([self.at], np.float32), 1.0, self.at == self.goal, False, {}

    def close(self):
        self.is_closed = True


def make_count(goal=3):
    return Count(goal)
"""
scope: dict[str, Any] = {}
exec(COUNT, scope)
Count = scope["Count"]
UP = Policy(lambda observations: np.ones(len(observations)))


def test_the_examples_run() -> None:
    ran = doctest.testmod(gymnasium_suite)
    assert (ran.attempted, ran.failed) == (3, 0)


def test_an_object_plays_in_one_slot_and_stays_open() -> None:
    env = Count(goal=4)
    with Glue(environment=env, agent=UP) as rl:
        for _ in range(2):
            rl.init()
            rl.episode()
            rl.cleanup()
        assert rl.return_() == 4.0
        with raises(OutOfDomain, 1, got="2 slots"):
            rl.init(slots=2)
    assert not env.is_closed


def test_a_class_plays_in_many_slots() -> None:
    with Glue(environment=Count, environment_args={"goal": 5}, agent=UP, slots=3) as rl:
        rl.init()
        rl.episode()
        assert [rl.return_(slot=slot) for slot in range(3)] == [5.0, 5.0, 5.0]


def test_a_class_refuses_arguments_that_it_does_not_take() -> None:
    with raises(CannotLoad, "Count", "'gaol'", "goal?"):
        Glue(environment=Count, environment_args={"gaol": 5}, agent=UP).__enter__()


@pytest.mark.parametrize("name", ["Count", "make_count"])
def test_a_file_may_hold_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "counts.py").write_text(COUNT)
    suite = suite_name(f"{tmp_path}/counts.py:{name}", {"goal": 2}).build()
    assert dict(suite.variants) == {"Count": 1}
    with Glue(environment=f"{tmp_path}/counts.py:{name}", agent=UP, slots=2) as rl:
        rl.init()
        rl.episode()
        assert rl.return_(slot=1) == 3.0


def test_an_object_plays_what_its_id_plays() -> None:
    """Known environments stay what they are: their reward's range, and their states."""
    alone = suite_name("cart-pole").build()
    env = gymnasium.make("CartPole-v1", disable_env_checker=True)
    given = gymnasium_suite.suite_of(env)
    assert given is not None
    assert given.spec == alone.spec
    assert given.standardizes
    assert played("cart-pole") == played(env)


def played(environment: object) -> list[Any]:
    with Glue(environment=environment, agent=UP, seed=3) as rl:
        rl.init()
        trajectory = rl.episode_trajectory(50)
    observations: Arrays = trajectory.observations
    return [observations["observation"].tolist(), trajectory.rewards.tolist()]


@pytest.fixture
def free_address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def test_one_connects_to_a_glue(free_address: str) -> None:
    with ThreadPoolExecutor(1) as thread:
        farewell = thread.submit(connect, Count, free_address, "token", connect_timeout_s=30)
        with Glue(environment=free_address, agent=UP, token="token", announce=print) as rl:
            rl.init(slots=2)
            rl.episode()
            assert rl.return_(slot=1) == 3.0
        assert "over" in farewell.result(30)


def test_one_joins_by_its_file(free_address: str, tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text(COUNT)
    command = [sys.executable, "-m", "reglue", "join", "counts.py:Count", "--arg", "goal=6"]
    words = [*command, "--address", free_address, "--token", "token"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        with Glue(environment=free_address, agent=UP, token="token", announce=print) as rl:
            rl.init(slots=2)
            rl.episode()
            assert rl.return_(slot=1) == 6.0
        _, said = process.communicate(timeout=30)
    assert (process.returncode, "over" in said) == (0, True)
