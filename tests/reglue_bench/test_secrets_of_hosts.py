"""Facts that a host's secret keeps from agents, and that runs under one secret share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.metaworld import draw_goals, task_set
from glue_server import Outcome
from reglue import Starts
from reglue.errors import BadArgument, PlanDiffers
from reglue.spec import Arrays
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.measures.compare import compare
from reglue_bench.procedures import MetaLearning, procedure_of
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoffs import agent, bake, write

SECRET, OTHER = "kept by who hosts the agents", "kept by somebody else's host"
CORRIDOR = "meta-learning:tests.worlds:Corridor"
SOLVED = {"solved": {task: [1 + place] * 8 for place, task in enumerate("abcde")}}
POINTS = "multi-task:gymnasium:Reglue/Point2D-v0"


class Seen(Seeded):
    """Keeps its start seeds."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def agent_start(self, observations: Arrays, starts: Starts) -> Any:
        self.seeds += starts.seeds.tolist()
        return super().agent_start(observations, starts)


def adapt(**options: Any) -> tuple[Result, list[int]]:
    """Eight waves of five trials over five tasks of eight variants, and its start seeds."""
    agent = Seen()
    few: dict[str, Any] = {"meta_batch_size": 5, "adaptation_episodes": 1, "workers": 0}
    few |= {"evaluation_episodes": 1, "environment_args": SOLVED}
    return evaluate(CORRIDOR, agent=agent, **few, **options), agent.seeds


def tasks_by_slot(result: Result) -> list[set[str]]:
    return [{e.task for e in result.episodes if e.k % 5 == slot} for slot in range(5)]


def judged(result: Result) -> Counter[tuple[Any, ...]]:
    return Counter((e.task, e.variant, e.repeat, e.phase) for e in result.episodes)


def order(result: Result) -> list[tuple[str, int]]:
    return [(e.task, e.variant) for e in result.episodes]


# Meta-learning.


@pytest.mark.parametrize("secret", [None, SECRET])
def test_a_meta_learner_cannot_tell_its_task_by_slot_or_wave(secret: str | None) -> None:
    result, _ = adapt(secret=secret)
    assert all(len(tasks) > 1 for tasks in tasks_by_slot(result))
    waves = [tuple(e.task for e in result.episodes if e.unit == unit) for unit in range(8)]
    assert len(set(waves)) == 8


def test_shuffled_trials_are_the_plan_s_each_once() -> None:
    result, _ = adapt(secret=SECRET)
    assert set(judged(result).values()) == {1}
    assert len(judged(result)) == 5 * 8 * 2


def test_the_order_of_trials_follows_from_the_seed_where_there_is_no_secret() -> None:
    assert order(adapt(seed=1)[0]) == order(adapt(seed=1)[0]) != order(adapt(seed=2)[0])


def test_a_run_of_fewer_waves_plays_the_same_trials_in_whatever_order() -> None:
    one, other = (adapt(secret=SECRET, num_evals=3)[0] for _ in range(2))
    assert judged(one) == judged(other)
    assert {e.variant for e in one.episodes} == {0, 1, 2}
    assert order(one) != order(other)


def test_runs_of_other_orders_are_compared_trial_by_trial() -> None:
    one, other = (adapt(secret=SECRET)[0] for _ in range(2))
    assert one.plan_sha256 == other.plan_sha256
    found = compare(one, other)
    assert found.same_plan
    assert (found.pairs, found.unlike) == (40, 0)


def test_a_run_goes_on_in_its_own_order(tmp_path: Path) -> None:
    few: dict[str, Any] = {"meta_batch_size": 5, "adaptation_episodes": 1, "workers": 0}
    few |= {"environment_args": SOLVED, "secret": SECRET, "out": tmp_path, "label": "leaves"}

    class Leaves(Seeded):
        """In the third wave of all that it plays."""

        waves = 0

        def adapt(self) -> None:
            Leaves.waves += 1
            if self.waves == 3:
                raise RuntimeError("enough")

    first = evaluate(CORRIDOR, agent=Leaves(), raise_faults=False, **few)
    assert not first.complete
    whole = evaluate(CORRIDOR, agent=Leaves(), resume=True, raise_faults=False, **few)
    assert whole.complete
    played = [(e.unit, e.k, e.task, e.variant) for e in first.episodes]
    assert len(played) > 0
    assert played == [(e.unit, e.k, e.task, e.variant) for e in whole.episodes][: len(played)]


def test_upstream_s_estimator_keeps_upstream_s_order() -> None:
    plan = make_plan(read_settings(benchmark="ML10", estimator="metaworld", secret=SECRET))
    procedure = procedure_of(plan)
    assert isinstance(procedure, MetaLearning)
    assert [trial.task for trial in procedure.trials(0)] == [
        task for task in plan.tasks for _ in range(4)
    ]


# Online.


def learned(**options: Any) -> list[Outcome]:
    """Two runs of 50 episodes over five tasks of eight variants."""
    heard = Hears()
    few: dict[str, Any] = {"runs": 2, "episodes": 50, "workers": 0, "watcher": heard}
    evaluate(
        "online:tests.worlds:Corridor", agent=Seeded(), environment_args=SOLVED, **few, **options
    )
    return heard.outcomes


class Hears(NullObserver):
    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self.outcomes.append(outcome)


def in_turn(outcomes: list[Outcome]) -> list[tuple[str, int]]:
    return [(each.order.cell.task, each.order.cell.variant) for each in outcomes]


def test_online_runs_play_the_same_episodes_in_orders_of_their_own_under_a_secret() -> None:
    """Also the last ten, which are no whole pass over the variants."""
    one, other = learned(secret=SECRET), learned(secret=SECRET)
    cells = [{(each.order.unit, each.order.cell.seed) for each in run} for run in (one, other)]
    assert cells[0] == cells[1]
    assert len(cells[0]) == len(one) == 100
    assert in_turn(one) != in_turn(other)
    assert in_turn(one[:50]) != in_turn(one[50:])
    assert {*in_turn(one[:40])} == {(task, variant) for task in "abcde" for variant in range(8)}


def test_without_a_secret_online_runs_play_in_the_plans_order() -> None:
    assert in_turn(learned())[:6] == [("a", 0), ("b", 0), ("c", 0), ("d", 0), ("e", 0), ("a", 1)]


def test_a_frozen_agent_that_knows_its_task_cannot_tell_the_variant_by_its_place() -> None:
    def played(**options: Any) -> list[int]:
        heard = Hears()
        given: dict[str, Any] = {"one_hot": True, "slots": 1, "num_episodes": 8, "workers": 0}
        given |= {"episode_horizon": 1, "agent": "random", "watcher": heard}
        evaluate("MT1:reach-v3", **given, **options)
        return [each.order.cell.variant for each in heard.outcomes]

    assert played() == [*range(8)]
    one, other = played(secret=SECRET), played(secret=SECRET)
    assert {*one} == {*other} == {*range(8)}
    assert one != other


# Start seeds.


def test_two_submissions_share_no_start_seed_under_a_secret() -> None:
    (_, one), (_, other) = adapt(secret=SECRET), adapt(secret=SECRET)
    assert not {*one} & {*other}


def test_a_run_repeats_its_start_seeds_where_there_is_no_secret() -> None:
    assert adapt()[1] == adapt()[1]


@pytest.mark.parametrize("secret", [None, SECRET])
def test_entrants_of_a_bake_off_share_no_start_seed(tmp_path: Path, secret: str | None) -> None:
    """The actions of these agents show their start seeds."""
    path = write(tmp_path, agent("one"), agent("other"))
    one, other = bake(path, secret=secret).values()
    assert one.plan_sha256 == other.plan_sha256
    assert not {e.return_ for e in one.episodes} & {e.return_ for e in other.episodes}


# Cells.


def test_cells_are_shared_under_one_secret_and_by_nobody_else() -> None:
    plans = {
        secret: make_plan(read_settings(benchmark="online:mountain-car", secret=secret))
        for secret in (None, SECRET, OTHER)
    }
    assert len({plan.sha256 for plan in plans.values()}) == 3
    assert make_plan(read_settings(benchmark="online:mountain-car", secret=SECRET)) == plans[SECRET]
    assert plans[None].cells == "public"


@pytest.mark.parametrize("given", [None, OTHER])
def test_a_run_goes_on_under_its_own_secret_alone(tmp_path: Path, given: str | None) -> None:
    options: dict[str, Any] = {"workers": 0, "runs": 1, "episodes": 1, "out": tmp_path}
    options |= {"environment_args": {"solved": {"a": [0]}}}
    name = "online:tests.worlds:Corridor"
    evaluate(name, agent=Seeded(), secret=SECRET, **options)
    with raises(PlanDiffers, "cells", "REGLUE_SECRET", settings={"out", "secret"}):
        evaluate(name, agent=Seeded(), secret=given, resume=True, **options)
    assert evaluate(name, agent=Seeded(), secret=SECRET, resume=True, **options).complete


# Goals.


@pytest.mark.parametrize("name", ["MT10", "ML1:push-v3", "MT:reach-v3,push-v3"])
def test_hidden_goals_are_not_those_of_the_seed_and_lie_in_the_task_s_box(name: str) -> None:
    plans = [
        make_plan(read_settings(benchmark=name, seed=7, secret=secret))
        for secret in (None, SECRET, OTHER, SECRET)
    ]
    goals: list[dict[str, Any]] = [plan.suite.config["goals"] for plan in plans]
    assert goals[1] == goals[3]
    for task, public in goals[0].items():
        for hidden in (goals[1], goals[2]):
            assert not {*map(tuple, public)} & {*map(tuple, hidden[task])}
        hidden = goals[1][task]
        assert len({*map(tuple, hidden)}) == 50
        for axis in range(len(public[0])):
            spread = np.ptp([goal[axis] for goal in public])
            assert abs(np.mean([g[axis] for g in hidden]) - np.mean([g[axis] for g in public])) <= (
                0.5 * spread
            )


def test_goals_depend_on_every_byte_of_their_key() -> None:
    tasks = task_set("MT1:reach-v3")
    keys = [bytes(place) + bytes([1 << place % 8]) + bytes(31 - place) for place in range(32)]
    drawn = [draw_goals(tasks, 0, key=key)["reach-v3"] for key in keys]
    assert len(set(drawn)) == len(drawn)


def test_splits_and_seeds_share_no_hidden_goal() -> None:
    """Upstream's test goals of one seed are the train goals of the next."""
    drawn = [
        draw_goals(task_set("ML1:reach-v3", split), seed, key=bytes(32))["reach-v3"]
        for split, seed in (("test", 0), ("train", 1), ("train", 0))
    ]
    assert len({goal for goals in drawn for goal in goals}) == 150


def test_goals_of_goal_environments_are_hidden_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'procedure = "multi-task"\nnum_episodes = 1\nenvironment = "gymnasium:Reglue/Point2D-v0"\n'
        "environment_args = { goals = 5 }\n"
    )
    for name, given in ((POINTS, {"environment_args": {"goals": 5}}), (str(file), {})):
        plans = [
            make_plan(read_settings(benchmark=name, secret=secret, **given))
            for secret in (None, SECRET, OTHER)
        ]
        seeds = [plan.suite.config.get("goal_seed", 0) for plan in plans]
        assert seeds[0] == 0
        assert 2**100 < seeds[1] != seeds[2]
        assert len({plan.goals_sha256 for plan in plans}) == 3
        plans[1].suite.build()


def test_pools_of_a_schedule_are_hidden_too(tmp_path: Path) -> None:
    file = tmp_path / "it.toml"
    file.write_text('schedule = [[{ pool = ["arcade:pong", "arcade:duel"] }, 4]]\nseed = 3\n')
    seeds = [
        make_plan(read_settings(benchmark=f"online:{file}", secret=secret)).suite.config["seed"]
        for secret in (None, SECRET)
    ]
    assert seeds[0] == 3
    assert seeds[1] > 2**32


# The secret itself.


def test_a_secret_is_kept_nowhere_and_shown_nowhere(tmp_path: Path) -> None:
    short: dict[str, Any] = {"runs": 1, "episodes": 1, "episode_limit": 5, "workers": 0}
    evaluate("online:mountain-car", agent="random", out=tmp_path, secret=SECRET, **short)
    with Ledger(tmp_path) as ledger:
        kept = ledger.about
    assert SECRET not in str(kept)
    told = (tmp_path / "result.json").read_text()
    assert SECRET not in told
    assert not any(kept[name] in told for name in ("secret", "cell key", "submission"))


def test_a_secret_that_can_be_tried_out_is_refused_and_not_repeated() -> None:
    with raises(BadArgument, "REGLUE_SECRET", 12, 16, settings={"secret"}) as refused:
        read_settings(benchmark="MT10", secret="a short word")
    assert "a short word" not in str(refused.value)
