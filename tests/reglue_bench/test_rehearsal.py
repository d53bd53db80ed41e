"""A rehearsal says who cannot be repeated, and whether agents can make the environment fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.procedures.online import REHEARSED_STEPS
from reglue_bench.rehearsal import Check, rehearse, shorten
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings

FILE = """
import gymnasium
import numpy as np

from tests.reglue_bench.bench_worlds import Unrepeatable
from tests.worlds import Corridor

class Blurred(Unrepeatable):
    def __init__(self):
        super().__init__(way="random observation", solved={"walk": [0]})

class Remembers(Unrepeatable):
    def __init__(self):
        super().__init__(way="rewards of before", solved={"walk": [0]})

class Clear(Corridor):
    def __init__(self):
        super().__init__(solved={"walk": [0]})

class Paid(Unrepeatable):
    def __init__(self):
        super().__init__(way="as ever, whatever is done", solved={"walk": [0]})

class Blank(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.full(1, np.nan, np.float32), {}

    def step(self, action):
        return np.full(1, np.nan, np.float32), 0.0, False, False, {}

RNG = np.random.default_rng(0)

def zeros(observations):
    return np.zeros((len(observations), 1))

def reacting(observations):
    return np.sin(observations[:, :1])

def drawing(observations):
    return np.random.default_rng().uniform(-1, 1, (len(observations), 1))

def going_on(observations):
    return RNG.uniform(-1, 1, (len(observations), 1))
"""

SAME = "a second run gave the same episodes to the bit"


@pytest.mark.parametrize("counted", [{"episodes": 20}, {"steps": 2000}])
def test_an_online_run_is_shortened_whatever_it_is_counted_in(counted: dict[str, int]) -> None:
    settings = read_settings(benchmark="online:gridworld", agent="random", runs=3, **counted)
    short = shorten(settings)
    assert (short.runs, short.episodes, short.steps) == (2, None, REHEARSED_STEPS)
    make_plan(short)


def checked(folder: Path, environment: str, agent: str, **more: object) -> list[Check]:
    """The checks of a rehearsal."""
    (folder / "own.py").write_text(FILE)
    settings = read_settings(
        benchmark=f"evaluate:own.py:{environment}",
        agent=f"own.py:{agent}",
        directory=str(folder),
        workers=0,
        slots=2,
        **more,
    )
    checks = rehearse(settings, NullObserver())
    assert [check for check in checks if check.passed is False] == []
    return checks


def remarks(folder: Path, environment: str, agent: str) -> list[str]:
    """A rehearsal's remarks on repeatability."""
    checks = checked(folder, environment, agent)
    return [check.what for check in checks if check.passed is None and "repeatable" in check.what]


@pytest.mark.parametrize(
    ("environment", "agent"),
    [("Remembers", "zeros"), ("Blurred", "reacting")],
)
def test_an_environment_is_blamed_for_what_it_does(
    tmp_path: Path, environment: str, agent: str
) -> None:
    found = remarks(tmp_path, environment, agent)
    assert "because of the environment" in found[0]
    assert not [each for each in found if "because of the agent" in each]


def test_an_agent_is_blamed_where_the_environment_can_be_repeated(tmp_path: Path) -> None:
    found = remarks(tmp_path, "Clear", "drawing")
    assert "because of the agent" in found[0]
    assert not [each for each in found if "because of the environment" in each]


def test_where_both_cannot_be_repeated_both_are(tmp_path: Path) -> None:
    first, second, *_ = remarks(tmp_path, "Blurred", "drawing")
    assert "because of the environment" in first
    assert "because of the agent" in second


def test_where_both_can_be_repeated_nobody_is(tmp_path: Path) -> None:
    assert remarks(tmp_path, "Clear", "reacting") == []


def test_episodes_of_equal_rewards_and_other_actions_are_not_the_same(tmp_path: Path) -> None:
    checks = checked(tmp_path, "Paid", "drawing")
    assert SAME not in [check.what for check in checks]
    assert [check for check in checks if "because of the agent" in check.what] != []


def test_an_agent_that_is_repeatable_from_its_beginning_alone_is_said_to_be(tmp_path: Path) -> None:
    """Not that its episodes are the same, and then that it cannot be repeated."""
    checks = checked(tmp_path, "Clear", "going_on")
    (found,) = [check for check in checks if SAME in check.what or "repeatable" in check.what]
    assert found.passed is None
    assert "because of the agent" in found.what


@pytest.mark.parametrize(
    ("environment", "limit", "nan", "endless"),
    [("Blank", None, 1, 1), ("Blank", 80, 1, 0), ("Clear", None, 0, 0)],
)
def test_observations_without_numbers_and_episodes_without_an_end_are_told(
    tmp_path: Path, environment: str, limit: int | None, nan: int, endless: int
) -> None:
    checks = checked(tmp_path, environment, "zeros", episode_limit=limit)
    remarks = [check.what for check in checks if check.passed is None]
    held = [what for what in remarks if "51 of 51 observations held NaN" in what]
    ended = [what for what in remarks if "--episode-limit" in what]
    assert (len(held), len(ended)) == (nan, endless)
