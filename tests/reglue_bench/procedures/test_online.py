"""The procedure online: which episodes a run has, a naive agent for each, and what resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from env_adapters import Cell, SuiteName
from glue_server import EpisodeRunner, LocalPort, Order, Outcome, Timeouts
from reglue import Phase
from reglue.errors import BadArgument, UsageError
from reglue_bench import evaluate
from reglue_bench.evaluation import carry_out, start
from reglue_bench.measures.compare import compare
from reglue_bench.plans.keys import run_secret
from reglue_bench.procedures import Online, procedure_of
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, check_same
from reglue_bench.settings import Settings, read_settings
from tests.glue_server.playing import local
from tests.reglue_bench.agents import Learner, Seeded
from tests.reglue_bench.toys import Interrupts, online_plan, play


def score_of(result: Result) -> PerformanceScore:
    return result.score_as(PerformanceScore)


def kept(folder: Path) -> list[tuple[Any, ...]]:
    """The result of each episode, to compare."""
    with Ledger(folder) as ledger:
        return [(r.unit, r.k, r.status, r.return_, r.steps) for r in ledger.rows()]


# Which episodes.


def online(counts: dict[str, int], **changed: Any) -> Online:
    defaults: dict[str, Any] = {"runs": 2, "metric": "all", "episode_limit": 10_000}
    return Online(counts, **(defaults | changed))


def test_a_run_is_so_many_episodes() -> None:
    cells = online({"a": 1}, episodes=3).cells(1)
    assert [(c.k, c.task, c.variant, c.repeat, c.phase) for c in cells] == [
        (k, "a", 0, k, "train") for k in range(3)
    ]


def test_tasks_and_variants_take_turns() -> None:
    cells = online({"a": 2, "b": 1}, episodes=6).cells(0)
    assert [(c.task, c.variant, c.repeat) for c in cells] == [
        ("a", 0, 0),
        ("b", 0, 0),
        ("a", 1, 0),
        ("b", 0, 1),
        ("a", 0, 1),
        ("b", 0, 2),
    ]


def test_a_run_plays_one_variant_of_each_task_if_variants_are_per_run() -> None:
    procedure = online({"a": 3, "b": 2}, episodes=4, runs=4, variants="per-run")
    assert [
        [(c.task, c.variant, c.repeat) for c in procedure.cells(unit)]
        for unit in range(procedure.units)
    ] == [
        [("a", a, 0), ("b", b, 0), ("a", a, 1), ("b", b, 1)]
        for a, b in [(0, 0), (1, 1), (2, 0), (0, 1)]
    ]


def test_a_run_of_steps_plays_one_variant_too() -> None:
    procedure = online({"a": 3}, steps=100, runs=4, variants="per-run")
    played = {unit: {procedure.cell(unit, k).variant for k in range(50)} for unit in range(4)}
    assert played == {0: {0}, 1: {1}, 2: {2}, 3: {0}}


def test_a_key_orders_the_tasks_of_a_run_and_not_its_variant() -> None:
    options: Any = {"episodes": 8, "variants": "per-run"}
    plain = online({"a": 2, "b": 2, "c": 2}, **options)
    keyed = online({"a": 2, "b": 2, "c": 2}, order_key=b"a key", **options)
    for unit in range(2):
        assert {cell.variant for cell in keyed.cells(unit)} == {unit}
        tasks = [cell.task for cell in keyed.cells(unit)]
        assert sorted(tasks[:3]) == sorted(tasks[3:6]) == ["a", "b", "c"]
        assert tasks != [cell.task for cell in plain.cells(unit)]


@pytest.mark.parametrize(
    ("variants", "asked", "runs"),
    [
        ([1], {}, 30),
        ([10], {}, 30),
        ([40], {}, 40),
        ([7, 3], {}, 35),
        ([40], {"runs": 6}, 6),
        ([7], {"variants": "rotate"}, 30),
    ],
)
def test_runs_play_each_variant_equally_often_unless_told_otherwise(
    variants: list[int], asked: dict[str, Any], runs: int
) -> None:
    settings = read_settings(benchmark="online:gridworld", **({"variants": "per-run"} | asked))
    parameters = Online.parameters(settings, {f"{place}": n for place, n in enumerate(variants)})
    assert parameters["runs"] == runs


def test_a_plan_of_rotating_variants_has_no_parameter_for_it() -> None:
    """So that its digest is the one that it had before there was another value."""
    settings = read_settings(benchmark="online:gridworld", variants="rotate")
    assert "variants" not in Online.parameters(settings, {"a": 2})


def test_another_value_is_refused() -> None:
    with pytest.raises(BadArgument) as caught:
        read_settings(benchmark="online:gridworld", variants="all")
    assert caught.value.settings == {"variants"}
    assert (caught.value.got, caught.value.wanted) == ("'all'", "'rotate' or 'per-run'")


def test_runs_differ_in_their_seeds_alone() -> None:
    plan = online_plan(runs=2, episodes=3)
    procedure = procedure_of(plan)
    orders = [plan.order(unit, cell, b"") for unit in range(2) for cell in procedure.cells(unit)]
    assert len({order.cell.seed for order in orders}) == 6
    assert len({order.start_seed for order in orders}) == 6
    assert procedure.cells(0) == procedure.cells(1)


def test_a_run_of_steps_cuts_its_last_episode_off(tmp_path: Path) -> None:
    agent = Learner()
    play(tmp_path, online_plan(runs=2, steps=12), agent)
    assert [(unit, k, steps) for unit, k, _, _, steps in kept(tmp_path)] == [
        (unit, k, steps) for unit in range(2) for k, steps in enumerate([5, 5, 2])
    ]
    assert agent.ends == [2, 2]


def test_a_continuing_task_is_one_long_episode(tmp_path: Path) -> None:
    agent = Learner()
    result = evaluate(
        "online:tests.reglue_bench.bench_worlds:Treadmill",
        agent=agent,
        runs=2,
        steps=70,
        out=tmp_path,
    )
    assert [(unit, k, steps) for unit, k, _, _, steps in kept(tmp_path)] == [(0, 0, 70), (1, 0, 70)]
    assert agent.ends == [0, 0]
    assert score_of(result).performance == 1.0  # reward per step of an agent that never learns


def test_episodes_are_cut_off_at_the_episode_limit(tmp_path: Path) -> None:
    agent = Learner()
    play(tmp_path, online_plan(runs=1, episodes=3, episode_limit=4), agent)
    assert [steps for *_, steps in kept(tmp_path)] == [4, 4, 4]
    assert agent.ends == [0]


def test_the_episode_limit_holds_in_runs_of_steps_too(tmp_path: Path) -> None:
    play(tmp_path, online_plan(runs=1, steps=7, episode_limit=3), Learner())
    assert [steps for *_, steps in kept(tmp_path)] == [3, 3, 1]


# A naive agent that learns.


class Diary(Learner):
    """Writes down the routines that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def agent_init(self, spec: Any) -> None:
        super().agent_init(spec)
        self.calls.append("init")

    def agent_start(self, observations: Any, starts: Any) -> Any:
        self.calls.append(f"start {self.phase.name}")
        return super().agent_start(observations, starts)

    def agent_freeze(self) -> None:
        self.calls.append("freeze")

    def agent_cleanup(self) -> None:
        self.calls.append("cleanup")


def test_each_run_is_init_episodes_and_cleanup_and_nothing_is_frozen(tmp_path: Path) -> None:
    diary = Diary()
    play(tmp_path, online_plan(runs=2, episodes=2), diary)
    assert diary.calls == ["init", "start TRAIN", "start TRAIN", "cleanup"] * 2


def test_each_run_begins_with_a_naive_agent(tmp_path: Path) -> None:
    agent = Learner()
    result = play(tmp_path, online_plan(runs=3, episodes=4), agent)
    assert agent.inits == 3
    lines = [run.line for run in score_of(result).runs]
    assert lines[0] == lines[1] == lines[2] == pytest.approx([5.0, 5.05, 5.1, 5.15])
    assert score_of(result).fresh_agent == "agent_init"


def test_rewards_are_kept_step_by_step(tmp_path: Path) -> None:
    play(tmp_path, online_plan(runs=2, episodes=3), Learner())
    with Ledger(tmp_path) as ledger:
        rewards = ledger.rewards(1, 0)
    assert rewards.tolist() == pytest.approx([1.0] * 5 + [1.01] * 5 + [1.02] * 5)


# What it comes to.


def test_performance_is_rl_benchmarks_to_the_bit() -> None:
    """RL_benchmark of RL-Glue's concepts page, written out by hand."""
    runs, episodes, seed = 4, 6, 3
    solved = {"walk": [0]}
    result = evaluate(
        "online:tests.worlds:Corridor",
        agent=Seeded(),
        environment_args={"solved": solved},
        runs=runs,
        episodes=episodes,
        seed=seed,
    )
    plan = online_plan(runs=runs, episodes=episodes, seed=seed)
    procedure, secret = procedure_of(plan), run_secret(seed)
    pool = local(SuiteName("tests.worlds:Corridor", {"solved": solved}).build(), 1)
    glue = EpisodeRunner(LocalPort(Seeded(), "by hand"), pool, timeouts=Timeouts())
    performance = 0.0
    for run in range(runs):
        glue.init()
        total = 0.0
        for cell in procedure.cells(run):
            [episode] = glue.play(once(plan.order(run, cell, secret)), Phase.TRAIN)
            total = total + episode.return_
        performance = performance + total / episodes
        glue.cleanup()
    assert score_of(result).performance == performance / runs
    pool.close()


def once(order: Order) -> Any:
    """An order for the first slot that asks."""
    given = iter([order])
    return lambda slot: next(given, None)


@pytest.mark.parametrize(
    ("metric", "parameters", "wanted"),
    [
        ("all", {"episodes": 4}, (5.0 + 5.05 + 5.1 + 5.15) / 4),
        ("final:1", {"episodes": 4}, 5.15),
        ("final:2", {"episodes": 4}, 5.125),
        ("all", {"steps": 10}, 1.005),
        ("final:5", {"steps": 10}, 1.01),
        ("final:6", {"steps": 10}, (1.0 + 5 * 1.01) / 6),
    ],
)
def test_the_measure_says_what_the_performance_is_a_mean_of(
    tmp_path: Path, metric: str, parameters: dict[str, int], wanted: float
) -> None:
    plan = online_plan(runs=2, metric=metric, **parameters)
    assert score_of(play(tmp_path, plan, Learner())).performance == pytest.approx(wanted)


# Rows depend on the plan alone, and what was finished is kept.


def test_rows_are_the_same_in_worker_processes(tmp_path: Path) -> None:
    plan = online_plan(runs=2, steps=12)
    play(tmp_path / "here", plan, Seeded())
    play(tmp_path / "there", plan, Seeded(), workers=1)
    assert kept(tmp_path / "here") == kept(tmp_path / "there")


PER_RUN: dict[str, Any] = {"solved": {"a": [1, 0, 2], "b": [0, 3]}, "variants": "per-run"}


@pytest.mark.parametrize("parameters", [{"episodes": 4}, {"steps": 18}, {"episodes": 4, **PER_RUN}])
def test_an_interrupted_run_is_played_anew_from_its_beginning(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    plan = online_plan(runs=3, **parameters)
    play(tmp_path / "whole", plan, Seeded())
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    broken = start(tmp_path / "broken", request, Interrupts(6))  # in the second run
    assert not broken.complete
    assert [run.status for run in score_of(broken).runs] == ["ok", "missing", "missing"]
    with Ledger(tmp_path / "broken") as ledger:
        check_same(ledger, request)
        mended = carry_out(
            tmp_path / "broken", ledger, replace(request, agent=Seeded()), NullObserver()
        )
    assert mended.complete
    assert kept(tmp_path / "broken") == kept(tmp_path / "whole")


def test_rows_and_units_name_the_variant_of_each_run(tmp_path: Path) -> None:
    plan = online_plan(runs=4, episodes=4, **PER_RUN)
    result = play(tmp_path, plan, Seeded())
    assert [(row.unit, row.task, row.variant) for row in result.episodes] == [
        (unit, task, variant)
        for unit, variants in enumerate([(0, 0), (1, 1), (2, 0), (0, 1)])
        for task, variant in zip("abab", variants * 2, strict=True)
    ]
    assert [run.variant for run in score_of(result).runs] == [0, 1, None, None]
    assert [(unit.variant, unit.number) for unit in result.units] == [
        (0, 0),
        (1, 1),
        (0, 2),
        (0, 3),
    ]
    assert (result.coverage.goals_planned, result.coverage.goals_total) == (5, 5)


@pytest.mark.parametrize(
    ("parameters", "goals"),
    [
        ({"runs": 2, "episodes": 4}, 4),
        ({"runs": 2, "episodes": 1}, 2),
        ({"runs": 2, "steps": 10}, 4),
        ({"runs": 9, "steps": 10}, 5),
    ],
)
def test_fewer_runs_than_variants_leave_goals_unplanned(
    parameters: dict[str, Any], goals: int
) -> None:
    procedure = procedure_of(online_plan(**parameters, **PER_RUN))
    assert isinstance(procedure, Online)
    assert (procedure.goals_planned, procedure.goals) == (goals, 5)


def test_runs_stay_what_is_compared_where_several_play_a_variant(tmp_path: Path) -> None:
    plan = online_plan(runs=6, episodes=2, solved={"a": [1, 0, 2]}, variants="per-run")
    first = play(tmp_path / "first", plan, Seeded())
    second = play(tmp_path / "second", plan, Learner())
    difference = compare(second, first)
    means = [mean(unit.value or 0.0 for unit in result.units) for result in (second, first)]
    assert difference.pairs == 6
    assert difference.difference == pytest.approx(means[0] - means[1])


def test_runs_of_one_variant_are_not_compared_with_runs_of_all(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"runs": 2, "episodes": 2, "solved": {"a": [1, 0]}}
    rotating = play(tmp_path / "rotate", online_plan(**asked), Seeded())
    alone = play(tmp_path / "alone", online_plan(**asked, variants="per-run"), Seeded())
    with pytest.raises(UsageError, match="cannot be compared"):
        compare(alone, rotating)


def test_every_episode_has_its_own_chance(tmp_path: Path) -> None:
    seen: list[Cell] = []

    class Listens(NullObserver):
        def outcome(self, outcome: Outcome, phase: str) -> None:
            assert phase == "train"
            seen.append(outcome.order.cell)

    request = Request(
        Settings(benchmark="corridor", workers=0),
        online_plan(runs=2, episodes=2),
        agent=Learner(),
    )
    start(tmp_path, request, Listens())
    assert len({cell.seed for cell in seen}) == 4
    assert {cell.phase for cell in seen} == {Phase.TRAIN}
