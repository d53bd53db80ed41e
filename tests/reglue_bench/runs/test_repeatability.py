"""A run whose environment cannot be repeated says so, at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reglue_bench import Evaluator, evaluate, read_result
from reglue_bench.evaluation import start
from reglue_bench.plans.plan import Plan
from reglue_bench.report.page import draw_report
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.run import Request, carry_out
from reglue_bench.settings import Settings
from reglue_bench.terminal.observer import NullObserver
from reglue_bench.terminal.summary import notes
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import AGENTS, Interrupts, corridor_plan, online_plan, play

WAYS = (
    "random reward",
    "random observation",
    "rewards of before",
    "success of before",
    "ends sooner",
)


def unrepeatable(way: str, **parameters: Any) -> Plan:
    suite, config = "tests.reglue_bench.worlds:Unrepeatable", {"way": way}
    return corridor_plan(solved={"walk": [0]}, suite=suite, config=config, **parameters)


@pytest.mark.parametrize("way", WAYS)
def test_an_environment_that_is_no_function_of_its_cell_is_named(tmp_path: Path, way: str) -> None:
    result = play(tmp_path / "run", unrepeatable(way), Seeded())
    assert result.complete
    assert result.repeatable is False
    [line] = [each for each in notes(result) if each.startswith("not repeatable")]
    assert "because of the environment" in line
    assert read_result(tmp_path / "run").repeat == result.repeat
    page = draw_report([("run", result)]).write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Not repeatable, because of the environment" in page


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning", "online"])
@pytest.mark.parametrize("workers", [0, 1])
def test_one_that_is_one_is_repeatable(tmp_path: Path, procedure: str, workers: int) -> None:
    plan = corridor_plan(procedure, slots=1 if procedure == "online" else 2)
    result = play(tmp_path / "run", plan, Seeded(), workers=workers)
    assert result.repeatable is True
    assert not [each for each in notes(result) if "repeatable" in each]
    assert result.steps.executed == result.steps.counted  # what is played again is no part of it


@pytest.mark.parametrize("episodes", [1, 4])
def test_statistics_that_a_wrapper_keeps_are_found(episodes: int) -> None:
    env = gym.wrappers.NormalizeReward(gym.make("CartPole-v1"))
    zeros = lambda observations: np.zeros(len(observations), np.int64)  # noqa: E731
    assert evaluate(env, agent=zeros, num_episodes=episodes).repeatable is False
    assert evaluate(gym.make("CartPole-v1"), agent=zeros, num_episodes=1).repeatable is True


def test_of_a_long_episode_the_first_steps_are_played_again(tmp_path: Path) -> None:
    plan = online_plan(config={"horizon": 300}, runs=1, episodes=1)
    result = play(tmp_path / "run", plan, Seeded())
    assert result.repeat is not None
    assert result.repeatable is True
    assert "the first 50 steps" in result.repeat.what


def test_where_it_is_not_wanted_nothing_is_played_again(tmp_path: Path) -> None:
    result = play(tmp_path / "run", unrepeatable(WAYS[0]), Seeded(), repeat_check=False)
    assert result.repeat is None
    assert result.repeatable is None


def test_episodes_of_other_processes_are_played_again_here(tmp_path: Path) -> None:
    agent = f"{AGENTS}:Seeded"
    same = play(tmp_path / "same", online_plan(runs=2), agent, processes=2)
    assert same.repeatable is True
    plan = unrepeatable("rewards of before", procedure="online", slots=1, runs=2)
    assert play(tmp_path / "other", plan, agent, processes=2).repeatable is False


def test_a_resumed_run_is_checked_at_its_end(tmp_path: Path) -> None:
    plan = unrepeatable("rewards of before", slots=1)
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    assert start(tmp_path / "run", request, Interrupts(2)).repeatable is None
    for _ in range(2):  # the second time nothing is left to play
        with Ledger(tmp_path / "run") as ledger:
            result = carry_out(tmp_path / "run", ledger, request, NullObserver())
        assert result.complete
        assert result.repeatable is False


def test_an_evaluator_checks_its_environments_once() -> None:
    options: dict[str, Any] = {"environment_args": {"solved": {"a": [0, 3]}}, "slots": 1}
    with Evaluator("multi-task:tests.worlds:Corridor", workers=0, **options) as evaluator:
        assert [evaluator(Seeded()).repeatable for _ in range(2)] == [True, None]
