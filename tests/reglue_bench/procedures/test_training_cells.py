"""Training episodes of agents: a pure function of the episode's number, the slots and a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from reglue_bench.benchmark.training_stream import training_stream
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures.training_cells import TrainingCells

KEY = bytes(32)


def cells(
    variants: Mapping[str, int], count: int, *, slots: int = 2, key: bytes = KEY, trial: int = 1
) -> list[PlanCell]:
    made = TrainingCells(variants, slots, key, trial=trial)
    return [made.cell(n) for n in range(count)]


def test_tasks_have_their_turn_in_each_round_and_variants_in_each_pass() -> None:
    played = [(cell.task, cell.variant) for cell in cells({"a": 3, "b": 3}, 12)]
    assert all({task for task, _ in played[n : n + 2]} == {"a", "b"} for n in range(0, 12, 2))
    assert Counter(played) == dict.fromkeys([(t, v) for t in "ab" for v in range(3)], 2)


def test_another_key_draws_another_order_of_tasks_and_variants() -> None:
    variants = {"a": 9, "b": 9}
    one, other = (cells(variants, 18, key=bytes([n]) * 32) for n in (1, 2))
    assert [cell.task for cell in one] != [cell.task for cell in other]
    assert [cell.variant for cell in one] != [cell.variant for cell in other]


def test_an_agent_that_is_shown_its_task_keeps_it_in_each_slot() -> None:
    made = TrainingCells({"a": 4, "b": 4}, 2, KEY, shows_tasks=True)
    assert [made.cell(n).task for n in range(6)] == ["a", "b"] * 3


def test_the_episodes_of_a_trial_follow_each_other_in_a_slot() -> None:
    made = cells({"a": 5, "b": 5}, 12, trial=3)
    of_slot = [[(cell.task, cell.variant) for cell in made[slot::2]] for slot in range(2)]
    for trials in of_slot:
        assert trials[0] == trials[1] == trials[2] != trials[3] == trials[4] == trials[5]
    assert len({(cell.task, cell.variant, cell.repeat) for cell in made}) == 12


def test_a_stream_is_that_of_a_run_with_its_seeds_and_slots() -> None:
    """Of any number of episodes in any order; the slots are counted in turn."""
    stream = training_stream("multi-task:gridworld", slots=2, training_seed=3)
    again = training_stream("multi-task:gridworld", slots=2, training_seed=3)
    assert stream.order(1, 10**9) == again.order(1, 10**9)
    orders = [stream.order(slot, episode) for episode in range(20) for slot in range(2)]
    assert len({order.cell.seed for order in orders}) == 40
    assert len({order.start_seed for order in orders}) == 40
    other = training_stream("multi-task:gridworld", slots=2, training_seed=4)
    assert other.order(0, 0).cell.seed != stream.order(0, 0).cell.seed
    assert other.order(0, 0).start_seed != stream.order(0, 0).start_seed


def test_a_stream_may_be_of_a_benchmark_that_judges_while_it_learns() -> None:
    stream = training_stream("online:mountain-car", slots=1)
    assert stream.order(0, 0).cell.task == "mountain-car"


@pytest.mark.parametrize("benchmark", ["ML1:reach-v3", "ML10"])
def test_a_meta_learner_trains_on_the_train_split(benchmark: str) -> None:
    """The test split has other goals: it is judged and never trained on."""
    stream = training_stream(benchmark, slots=2)
    assert all(task.startswith("train/") for task in stream.cells.variants)
    assert stream.order(0, 0).cell.task.startswith("train/")
    assert stream.plan.training is not None
    assert stream.plan.training.suite.config["goals"] != stream.plan.suite.config["goals"]
