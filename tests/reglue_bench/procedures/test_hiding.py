"""Facts that a plan hides from agents while they are judged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from reglue import Phase, TaskSpec
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded

SOLVED = {"solved": {"a": [1, 3, 0], "b": [5, 0, 2]}}
SMALL: dict[str, Any] = {"environment_args": SOLVED, "workers": 0, "seed": 3}
META: dict[str, Any] = {"meta_batch_size": 2, "adaptation_episodes": 1, "evaluation_episodes": 1}
TRAINED: dict[str, Any] = {"train_steps": 20, "eval_every": 10}


class Notes(Seeded):
    """Keeps what it is told of rewards."""

    spec: TaskSpec

    def __init__(self) -> None:
        self.rewards: dict[Phase, list[float]] = {phase: [] for phase in Phase}

    def agent_init(self, spec: TaskSpec) -> None:
        super().agent_init(spec)
        self.spec = spec

    def turn(self, turn: Any) -> Any:
        self.rewards[turn.phase] += turn.rewards.tolist()
        return super().turn(turn)


def played(procedure: str, **options: Any) -> tuple[Notes, Result]:
    agent = Notes()
    name = f"{procedure}:tests.reglue_bench.bench_worlds:Paid"
    return agent, evaluate(name, agent=agent, **SMALL, **options)


@pytest.mark.parametrize(
    ("procedure", "options"),
    [("multi-task", {}), ("meta-learning", META), ("evaluate", {}), ("multi-task", TRAINED)],
)
def test_hidden_rewards_are_told_in_no_evaluation(procedure: str, options: dict[str, Any]) -> None:
    """And change nothing of what is played."""
    shown, open_ = played(procedure, **options)
    blind, hidden = played(procedure, hide_rewards=True, **options)
    assert not np.isnan(shown.rewards[Phase.EVALUATE]).any()
    assert np.isnan(blind.rewards[Phase.EVALUATE]).all()
    for phase in (Phase.TRAIN, Phase.ADAPT):
        assert shown.rewards[phase] == blind.rewards[phase]
    assert shown.spec.reward_range == (0.0, 2.0)
    assert blind.spec.reward_range == (-math.inf, math.inf)
    assert not blind.spec.rewards_in_evaluation
    assert list(open_.episodes) == list(hidden.episodes)


@pytest.mark.parametrize(("procedure", "options"), [("multi-task", {}), ("meta-learning", META)])
def test_hidden_successes_end_no_episode_and_count_the_same(
    procedure: str, options: dict[str, Any]
) -> None:
    open_ = played(procedure, **options)[1]
    hidden = played(procedure, hide_success_ends=True, **options)[1]
    assert {row.steps for row in open_.episodes} == {1, 2, 3, 5}
    assert {row.steps for row in hidden.episodes} == {5}
    assert [row.success for row in open_.episodes] == [row.success for row in hidden.episodes]
    assert open_.mean_success_rate == hidden.mean_success_rate


def planned(benchmark: str = "multi-task:tests.worlds:Corridor", **settings: Any) -> Plan:
    given = {} if benchmark.startswith("MT") else {"environment_args": SOLVED}
    return make_plan(read_settings(benchmark=benchmark, **given, **settings))


def test_what_is_hidden_is_in_the_plan_and_else_the_plan_is_as_it_was() -> None:
    open_, hidden = planned(), planned(hide_rewards=True, hide_success_ends=True)
    told = {"hide_rewards": True, "hide_success_ends": True}
    assert hidden.parameters == {**open_.parameters, **told}
    assert len({open_.sha256, planned(hide_rewards=True).sha256, hidden.sha256}) == 3


def test_an_agent_that_learns_online_is_told_its_rewards() -> None:
    with raises(UsageError, "online:tests.worlds:Corridor", settings={"hide_rewards"}):
        planned("online:tests.worlds:Corridor", hide_rewards=True)


def test_rewards_are_not_hidden_where_observations_show_them() -> None:
    with raises(UsageError, settings={"hide_rewards", "recurrent_info"}):
        planned("MT1:reach-v3", hide_rewards=True, recurrent_info=True)
