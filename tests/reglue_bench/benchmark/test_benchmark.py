"""From a benchmark's name and settings to its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue.errors import BadArgument, PlanDiffers, UnknownName, UsageError
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin, check_same
from reglue_bench.settings import read_settings
from tests.error_facts import assert_named, raises
from tests.reglue_bench.agents import Learner, Seeded
from tests.reglue_bench.toys import AGENTS

CORRIDOR: dict[str, Any] = {"solved": {"a": [1, 0], "b": [0]}}


def planned(benchmark: str, **settings: Any) -> Plan:
    if "Corridor" in benchmark:
        settings = {"environment_args": CORRIDOR} | settings
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


def test_what_a_benchmark_hides_and_a_run_tells_makes_it_privileged() -> None:
    assert planned("MT1:reach-v3").privileged == ()
    assert planned("MT1:reach-v3", goal_visible=True).privileged == ()
    assert planned("ML1:reach-v3", goal_visible=True).privileged == ("goals",)
    assert planned("MT1:reach-v3", reveal_tasks=True).privileged == ("tasks",)
    assert planned("ML1:reach-v3", one_hot=True).privileged == ("tasks",)


@pytest.mark.parametrize("name", ["multi-task:MT1:reach-v3", "meta-learning:ML1:reach-v3"])
def test_a_benchmark_that_is_named_with_its_own_procedure_is_that_benchmark(name: str) -> None:
    own = name.partition(":")[2]
    named, plain = planned(name, one_hot=True), planned(own, one_hot=True)
    assert (named.benchmark, named.sha256) == (own, plain.sha256)
    with pytest.raises(UsageError) as error:
        planned(name, environment_args={"seed": 3})
    assert error.value.settings == {"environment_args"}


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
    "settings",
    [{"num_evals": 3}, {"seed": -1}, {"step_timeout": 0.0}, {"observation_dtype": "float16"}],
)
def test_settings_that_cannot_be_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as error:
        planned("MT1:reach-v3", **settings)
    assert settings.keys() <= error.value.settings


def test_a_seed_that_is_too_large_is_named() -> None:
    with raises(BadArgument, "MT1:reach-v3", 2**32 - 1, got=f"seed {2**32}"):
        planned("MT1:reach-v3", seed=2**32)


def test_a_setting_that_there_is_not_lists_the_near_ones() -> None:
    with raises(UnknownName, "setting", "num_episodes", got="num_epsodes"):
        evaluate("MT1:reach-v3", agent="random", num_epsodes=1)  # type: ignore[call-arg]


def test_without_an_agent_nothing_is_evaluated() -> None:
    with raises(UsageError, got="agent None"):
        evaluate("MT1:reach-v3", agent=None)


def test_online_plays_thirty_runs_of_two_hundred_episodes_by_default() -> None:
    plan = planned("online:tests.worlds:Corridor")
    assert (plan.procedure, plan.slots) == ("online", 1)
    assert plan.parameters == {
        "runs": 30,
        "episodes": 200,
        "episode_limit": 10_000_000,
        "metric": "all",
    }
    assert plan.variants == {"a": 2, "b": 1}


def test_a_run_may_be_counted_in_steps() -> None:
    parameters = planned("online:tests.worlds:Corridor", steps=500, runs=2).parameters
    assert parameters["steps"] == 500
    assert "episodes" not in parameters


def test_any_procedure_plays_any_environment(tmp_path: Path) -> None:
    judged = evaluate(
        "multi-task:tests.worlds:Corridor", agent=Seeded(), environment_args=CORRIDOR, workers=0
    )
    assert judged.parameters["num_episodes"] == 2
    assert judged.success_rate_per_task == {"a": 0.5, "b": 0.0}
    adapted = evaluate(
        "meta-learning:tests.worlds:Corridor",
        agent=Learner(),
        environment_args=CORRIDOR,
        workers=0,
        meta_batch_size=3,
        adaptation_episodes=1,
    )
    assert adapted.coverage.goals_planned == 3
    assert adapted.complete


@pytest.mark.parametrize("name", ["mountain-car", "gridworld", "access-control"])
def test_environments_that_come_with_it_have_names(name: str) -> None:
    assert planned(f"online:{name}", steps=10).suite.factory.startswith("env_adapters.classic")


def test_arguments_of_the_environment_are_in_the_plan() -> None:
    one, two = (
        planned("online:tests.worlds:Corridor", environment_args=CORRIDOR | {"horizon": horizon})
        for horizon in (5, 6)
    )
    assert one.suite.config["horizon"] == 5
    assert one.goals_sha256 != two.goals_sha256


def test_as_many_goals_of_another_environment_or_seed_are_other_goals() -> None:
    reach = planned("multi-task:gymnasium:FetchReach-v4", environment_args={"goals": 5})
    push = planned("multi-task:gymnasium:FetchPush-v4", environment_args={"goals": 5})
    redrawn = {"goals": 5, "goal_seed": 1}
    again = planned("multi-task:gymnasium:FetchReach-v4", environment_args=redrawn)
    assert len({reach.goals_sha256, push.goals_sha256, again.goals_sha256}) == 3


def test_what_agents_see_of_meta_worlds_goals_changes_none_of_them() -> None:
    shown, hidden = (planned("MT1:reach-v3", goal_visible=visible) for visible in (True, False))
    assert shown.goals_sha256 == hidden.goals_sha256


def test_what_is_changed_of_meta_world_is_told_beside_its_name() -> None:
    assert planned("MT1:reach-v3", estimator="metaworld").title == "MT1:reach-v3"
    changed = planned("ML1:reach-v3", episode_horizon=100, split="train")
    assert changed.title == "ML1:reach-v3 (episode_horizon = 100, split = train)"


def test_a_goal_of_meta_world_with_less_time_is_another_goal() -> None:
    long, short = (planned("MT1:reach-v3", episode_horizon=steps) for steps in (500, 100))
    assert long.goals_sha256 != short.goals_sha256


@pytest.mark.parametrize(
    ("benchmark", "settings", "named"),
    [
        ("online:tests.worlds:Corridor", {"environment_args": {}}, "'solved'"),
        ("online:tests.worlds:Unbuildable", {}, "the plans are lost"),
        ("online:tests.reglue_bench.bench_worlds:Treadmill", {}, "steps=N"),
    ],
)
def test_what_cannot_be_made_is_refused(
    benchmark: str, settings: dict[str, Any], named: str
) -> None:
    """Other refusals stand on the page of wrong uses of the commands."""
    with pytest.raises(UsageError) as error:
        planned(benchmark, **settings)
    assert_named([named], str(error.value))


def test_a_file_of_ones_own_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun in one folder, resumed from another; the plan says the name as it was given."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "mine.py").write_text("from tests.reglue_bench.bench_worlds import Treadmill as Mine\n")
    monkeypatch.chdir(home)
    agent = f"{AGENTS}:Learner"
    result = evaluate("online:mine.py:Mine", agent=agent, runs=1, steps=5, out=tmp_path / "run")
    assert result.complete
    assert "environment" in result.versions
    with Ledger(tmp_path / "run") as ledger:
        assert Plan.from_json(ledger.about["plan"]).suite.factory == "mine.py:Mine"
    monkeypatch.chdir(elsewhere)
    assert resume(tmp_path / "run", NullObserver()).complete


def test_a_changed_environment_file_does_not_finish_a_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from tests.reglue_bench.bench_worlds import Treadmill as Mine\n")
    settings = read_settings(benchmark=f"online:{file}:Mine", runs=1, steps=5, agent="random")
    request = Request(settings, make_plan(settings))
    with begin(tmp_path / "run", request) as ledger:
        check_same(ledger, request)
        file.write_text("from tests.reglue_bench.bench_worlds import Treadmill as Mine  # better\n")
        with raises(PlanDiffers, "version environment"):
            check_same(ledger, request)
