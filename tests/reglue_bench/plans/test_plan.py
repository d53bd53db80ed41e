"""A plan decides every cell before the first step, and its hash says so."""

from __future__ import annotations

from dataclasses import replace

from env_adapters import SuiteName
from reglue_bench.plans.keys import run_secret
from reglue_bench.plans.plan import Plan, difference, title_of
from reglue_bench.procedures import procedure_of
from tests.reglue_bench.toys import corridor_plan


def test_a_plan_comes_back_from_json_with_its_hash() -> None:
    plan = corridor_plan()
    assert Plan.from_json(plan.to_json()).sha256 == plan.sha256


def test_the_order_of_tasks_is_part_of_the_plan() -> None:
    plan = corridor_plan(solved={"a": [1], "b": [1]})
    turned = corridor_plan(solved={"b": [1], "a": [1]})
    assert plan.sha256 != turned.sha256


def test_the_order_of_an_environments_arguments_is_not() -> None:
    one = corridor_plan()
    config = {"horizon": 9, "walls": {"left": 1, "right": {"distribution": "uniform"}}}
    turned = {"walls": {"right": {"distribution": "uniform"}, "left": 1}, "horizon": 9}
    plans = [replace(one, suite=SuiteName(one.suite.factory, each)) for each in (config, turned)]
    assert difference(*plans) == []
    assert len({each.sha256 for each in plans}) == 1
    assert len({each.goals_sha256 for each in plans}) == 1


def test_slots_and_seed_are_part_of_the_plan() -> None:
    hashes = {corridor_plan(slots=s, seed=d).sha256 for s in (1, 2) for d in (0, 1)}
    assert len(hashes) == 4


def test_a_difference_is_named() -> None:
    before, now = corridor_plan(slots=2), corridor_plan(slots=5)
    assert difference(before, now) == ["slots: 2 before, 5 now"]


def test_a_difference_deep_in_the_suite_is_named() -> None:
    before = corridor_plan()
    now = replace(before, suite=SuiteName("tests.worlds:Corridor", {"solved": {"a": [9]}}))
    assert "suite.config.solved.a: [1, 3, 0] before, [9] now" in difference(before, now)


def test_start_seeds_depend_on_the_secret_the_unit_and_the_cell_alone() -> None:
    plan, other = corridor_plan(), corridor_plan(solved={"x": [0, 0]}, seed=7, slots=9)
    cell, foreign = (procedure_of(p).cells(3)[0] for p in (plan, other))
    secret = run_secret(0)
    assert plan.order(3, cell, secret).start_seed == other.order(3, foreign, secret).start_seed
    assert plan.order(3, cell, secret).start_seed != plan.order(4, cell, secret).start_seed
    assert plan.order(3, cell, secret).start_seed != plan.order(3, cell, b"other").start_seed


def test_every_cell_has_a_seed_of_its_own() -> None:
    plan = corridor_plan("meta-learning")
    procedure = procedure_of(plan)
    seeds = {
        plan.order(unit, cell, b"").cell.seed
        for unit in range(procedure.units)
        for cell in procedure.cells(unit)
    }
    assert len(seeds) == sum(len(procedure.cells(unit)) for unit in range(procedure.units))


def test_a_title_names_an_environment_once() -> None:
    """One of the caller's own program has its name in the benchmark's."""
    assert title_of("evaluate:Maze", {"environment": "Maze"}, {}) == "evaluate:Maze"
    assert (
        title_of("online:wait", {"environment": "Maze"}, {}) == "online:wait (environment = Maze)"
    )
