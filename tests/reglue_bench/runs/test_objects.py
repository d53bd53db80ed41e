"""Environment objects and classes are benchmarks of this process."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import CannotLoad, EnvironmentFault, NotAnEnvironment, PlanDiffers, UsageError
from reglue_bench.replay.recorded import read_episode
from tests.error_facts import raises
from tests.reglue_bench.procedures.test_evaluate import Steps
from tests.reglue_bench.toys import Interrupts, rows
from tests.worlds import Corridor


def zeros(observations: Any) -> Any:
    return np.zeros(len(observations), np.int64)


def test_a_class_plays_in_many_slots_as_by_its_name() -> None:
    result = reglue.evaluate(Steps, agent=zeros, num_episodes=12)
    assert (result.benchmark, result.slots) == ("evaluate:Steps", 10)
    by_name = "evaluate:tests.reglue_bench.procedures.test_evaluate:Steps"
    named = reglue.evaluate(by_name, agent=zeros, num_episodes=12, workers=0)
    assert [row.return_ for row in result.episodes] == [row.return_ for row in named.episodes]


def test_an_object_plays_in_one_slot_and_stays_open() -> None:
    env = gymnasium.make("CartPole-v1")
    result = reglue.evaluate(env, agent=zeros, num_episodes=3)
    assert (result.benchmark, result.slots) == ("evaluate:CartPole-v1", 1)
    env.reset(seed=0)
    env.step(0)
    named = reglue.evaluate(
        "evaluate:gymnasium:CartPole-v1", agent=zeros, num_episodes=3, workers=0
    )
    assert [row.return_ for row in result.episodes] == [row.return_ for row in named.episodes]


def test_the_keywords_of_a_class_are_environment_args() -> None:
    result = reglue.evaluate(
        Steps,
        agent=zeros,
        num_episodes=1,
        episode_limit=9,
        environment_args={"ends": False},
    )
    assert [row.steps for row in result.episodes] == [9]
    assert result.environment_args == {"ends": False}
    plain = reglue.evaluate(Steps, agent=zeros, num_episodes=1, episode_limit=9)
    assert plain.plan_sha256 != result.plan_sha256
    assert plain.goals_sha256 != result.goals_sha256


def test_a_function_that_makes_an_environment_plays_in_many_slots() -> None:
    def wrapped(limit: int) -> Any:
        return gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1"), limit)

    result = reglue.evaluate(lambda: wrapped(3), agent=zeros, num_episodes=12)
    assert (result.benchmark, result.slots) == ("evaluate:CartPole-v1", 10)
    assert [row.steps for row in result.episodes] == [3] * 12
    asked: dict[str, Any] = {"num_episodes": 2, "environment_args": {"limit": 4}}
    with reglue.Evaluator(wrapped, **asked) as evaluator:
        assert [row.steps for row in evaluator(zeros).episodes] == [4, 4]
    result = reglue.evaluate(functools.partial(wrapped, 2), agent=zeros, num_episodes=1)
    assert [row.steps for row in result.episodes] == [2]


def test_a_function_that_makes_a_suite_is_a_benchmark() -> None:
    agent = reglue.Policy(lambda seen: np.zeros((len(seen), 1), np.float32))
    made = reglue.evaluate(lambda: Corridor(solved={"walk": [3, 0]}), agent=agent, num_episodes=4)
    assert made.mean_success_rate == 0.5


def test_a_function_that_gives_out_one_object_again_is_refused() -> None:
    env = gymnasium.make("CartPole-v1")
    with raises(EnvironmentFault, "evaluate:CartPole-v1", "UsageError", "TimeLimit"):
        reglue.evaluate(lambda: env, agent=zeros, num_episodes=2)


def test_a_function_that_wants_arguments_is_refused() -> None:
    with raises(CannotLoad, "'limit'", "it takes limit"):
        reglue.evaluate(lambda limit: limit, agent=zeros)


def test_a_suite_of_worlds_is_a_benchmark() -> None:
    suite = Corridor(solved={"walk": [3, 0]})
    agent = reglue.Policy(lambda seen: np.zeros((len(seen), 1), np.float32))
    result = reglue.evaluate(suite, agent=agent, num_episodes=4)
    assert result.mean_return == 5.0  # success ends none
    assert result.mean_success_rate == 0.5


def test_a_run_over_an_object_can_go_on(tmp_path: Path) -> None:
    def play(**more: Any) -> Any:
        return reglue.evaluate(Steps, agent=zeros, num_episodes=6, slots=2, **more)

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        play(out=folder, watcher=Interrupts(after=2))
    assert rows(play(out=folder, resume=True)) == rows(play())
    with raises(PlanDiffers, "num_episodes", 7):
        reglue.evaluate(Steps, agent=zeros, num_episodes=7, slots=2, out=folder, resume=True)


def test_an_evaluator_plays_an_object_again_and_again() -> None:
    with reglue.Evaluator(Steps, num_episodes=14) as evaluator:
        first = rows(evaluator(zeros))
        assert evaluator(lambda seen: None, raise_faults=False).faults
        assert rows(evaluator(zeros)) == first


@pytest.mark.parametrize(
    ("given", "got"), [(3, "3"), (reglue.Policy, "the class Policy"), (lambda: 3, "3")]
)
def test_what_is_no_environment_is_refused(given: object, got: str) -> None:
    for wrong in (lambda: reglue.evaluate(given, zeros), lambda: reglue.Evaluator(given)):
        with raises(NotAnEnvironment, "benchmark", "evaluate:gymnasium:CartPole-v1", got=got):
            wrong()


def test_a_file_and_its_class_are_no_benchmark_without_a_procedure() -> None:
    with raises(UsageError, "evaluate:my_env.py:MyEnv"):
        reglue.evaluate("my_env.py:MyEnv", zeros)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 2}, ["workers", "object", "file.py:Class"]),
        ({"slots": 2}, ["slots", 2, 1, "object"]),
        ({"environment_args": {"ends": False}}, ["environment_args", "object", "class"]),
    ],
)
def test_what_an_object_cannot_do_is_refused(options: Any, named: list[object]) -> None:
    with raises(UsageError, *named):
        reglue.evaluate(Steps(), agent=zeros, **options)


def test_an_agent_that_is_started_plays_an_object_whose_episodes_are_not_watched_again(
    tmp_path: Path,
) -> None:
    result = reglue.evaluate(Steps, agent="random", num_episodes=2, out=tmp_path / "run")
    assert result.complete
    assert result.agent.isolation == "none"
    with raises(UsageError, "Steps", "object"):
        read_episode(tmp_path / "run", 0)
