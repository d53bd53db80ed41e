"""From a benchmark's name and settings to its plan."""

from __future__ import annotations

from typing import Any

import pytest

from reglue.errors import UnknownName, UsageError
from reglue_bench import evaluate
from reglue_bench.plans.plan import Plan
from reglue_bench.plans.resolve import make_plan
from reglue_bench.procedures import procedure_of
from reglue_bench.settings import read_settings


def planned(benchmark: str, **settings: Any) -> Plan:
    return make_plan(read_settings(benchmark=benchmark, **settings))


@pytest.mark.parametrize(
    ("benchmark", "given", "slots"),
    [
        ("MT1:reach-v3", {}, 50),
        ("MT10", {}, 500),
        ("MT50", {}, 500),
        ("MT10", {"num_episodes": 3}, 30),
        ("MT10", {"slots": 7}, 7),
    ],
)
def test_multi_task_takes_as_many_slots_as_pay(
    benchmark: str, given: dict[str, Any], slots: int
) -> None:
    assert planned(benchmark, **given).slots == slots


def test_multi_task_plays_fifty_goals_by_default() -> None:
    plan = planned("MT1:reach-v3")
    assert plan.procedure == "multi-task"
    assert plan.parameters["num_episodes"] == 50
    assert plan.parameters["horizon"] == 500


def test_meta_learning_has_meta_worlds_defaults() -> None:
    plan = planned("ML1:reach-v3")
    own = {name: plan.parameters[name] for name in plan.parameters if "a" in name}
    assert plan.slots == 20
    assert (
        own.items()
        >= {
            "num_evals": 2,  # 40 goals in waves of 20
            "adaptation_steps": 1,
            "adaptation_episodes": 10,
            "evaluation_episodes": 3,
            "meta_batch_size": 20,
            "evaluate_before_adaptation": False,
        }.items()
    )


def test_waves_go_on_until_every_goal_is_played() -> None:
    plan = planned("ML1:reach-v3", meta_batch_size=15)
    assert plan.parameters["num_evals"] == 3
    procedure = procedure_of(plan)
    played = {(c.task, c.variant) for unit in range(3) for c in procedure.cells(unit)}
    assert len(played) == procedure.goals == 40


def test_several_tasks_are_told_apart_by_a_one_hot_and_one_task_is_not() -> None:
    assert planned("MT:reach-v3,push-v3").parameters["one_hot"] is True
    assert planned("MT:reach-v3,push-v3", one_hot=False).parameters["one_hot"] is False
    assert planned("MT1:reach-v3").parameters["one_hot"] is False


def test_goals_are_visible_in_mt_and_hidden_in_ml() -> None:
    assert planned("MT1:reach-v3").parameters["goal_visible"] is True
    assert planned("ML1:reach-v3").parameters["goal_visible"] is False


def test_what_a_benchmark_hides_and_a_run_tells_makes_a_baseline() -> None:
    assert planned("MT1:reach-v3").baseline == ()
    assert planned("MT1:reach-v3", goal_visible=True).baseline == ()
    assert planned("ML1:reach-v3", goal_visible=True).baseline == ("goals",)
    assert planned("MT1:reach-v3", reveal_tasks=True).baseline == ("tasks",)
    assert planned("ML1:reach-v3", one_hot=True).baseline == ("tasks",)


@pytest.mark.parametrize("name", ["multi-task:MT1:reach-v3", "meta-learning:ML1:reach-v3"])
def test_a_benchmark_that_is_named_with_its_own_procedure_is_that_benchmark(name: str) -> None:
    own = name.partition(":")[2]
    named, plain = planned(name, one_hot=True), planned(own, one_hot=True)
    assert (named.benchmark, named.sha256) == (own, plain.sha256)
    with pytest.raises(UsageError, match="has flags of its own"):
        planned(name, environment_args={"seed": 3})


def test_another_procedure_plays_the_environments_of_a_benchmark() -> None:
    plan = planned("online:MT1:reach-v3", environment_args={"seed": 3})
    assert (plan.benchmark, plan.slots) == ("online:MT1:reach-v3", 1)


def test_train_and_test_split_play_other_goals() -> None:
    train, test = (planned("ML1:reach-v3", split=split) for split in ("train", "test"))
    assert train.suite.config["goals"] != test.suite.config["goals"]


def test_the_same_settings_make_the_same_plan() -> None:
    assert planned("MT1:reach-v3", seed=3).sha256 == planned("MT1:reach-v3", seed=3).sha256


def test_how_a_run_is_carried_out_is_not_in_its_plan() -> None:
    how: dict[str, Any] = {"workers": 1, "step_timeout": 3.0, "agent": "random", "label": "x"}
    assert planned("MT1:reach-v3", **how).sha256 == planned("MT1:reach-v3").sha256


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"num_evals": 3}, "--num-evals belongs to meta-learning"),
        ({"seed": -1}, "--seed"),
        ({"seed": 2**32}, "wanted 0 to"),
        ({"step_timeout": 0.0}, "--step-timeout"),
        ({"observation_dtype": "float16"}, "--observation-dtype"),
        ({"colour": "red"}, "there is no setting 'colour'"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_their_flag(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        planned("MT1:reach-v3", **settings)


def test_a_setting_that_there_is_not_lists_the_near_ones() -> None:
    with pytest.raises(UnknownName, match="no setting 'num_epsodes'; did you mean num_episodes"):
        evaluate("MT1:reach-v3", agent="random", num_epsodes=1)


def test_without_an_agent_nothing_is_evaluated() -> None:
    with pytest.raises(UsageError, match="got agent None, wanted an agent object"):
        evaluate("MT1:reach-v3", agent=None)
