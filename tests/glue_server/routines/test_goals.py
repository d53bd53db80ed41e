"""Goals: which task and variant each start plays, and what is refused."""

from __future__ import annotations

from functools import partial

import pytest

from reglue import Phase
from reglue.errors import OutOfDomain, OutOfOrder, RoutineRefused
from tests.glue_server.routines.lab import Bench, Course, begun, refused, seen


class Endless(Course):
    length = 0


def goals(bench: Bench) -> list[tuple[str, int]]:
    """The goals that were played."""
    return [(cell.task, cell.variant) for cell in bench.lab.cells]


def test_a_program_sees_the_tasks_and_their_goals() -> None:
    assert begun(lab=Course()).tasks == {"hall": 3, "yard": 2}


def test_a_start_plays_the_goal_that_it_names_and_later_ones_too() -> None:
    bench = begun(lab=Course())
    bench.episode(task="yard", variant=1)
    bench.episode()
    bench.episode(variant=0)
    bench.episode(task="hall")
    bench.env_start(variant=2)
    assert goals(bench) == [("yard", 1), ("yard", 1), ("yard", 0), ("hall", 0), ("hall", 2)]


def test_the_agent_keeps_what_it_knows_and_a_freeze_goes_on() -> None:
    bench = begun(lab=Course())
    bench.freeze()
    bench.asked()
    bench.episode(task="yard", variant=1)
    bench.iterate_goal()
    bench.start()
    assert {name for name, *_ in bench.asked()[1]} == {"turn"}
    assert [cell.phase for cell in bench.lab.cells] == [Phase.EVALUATE] * 2


def test_each_slot_has_a_goal_of_its_own() -> None:
    bench = begun(slots=3, lab=Course())
    bench.episode(slots=[1], task="yard", variant=1)
    bench.episode(slots=[0, 2], variant=1)
    bench.iterate_goal()
    bench.episode()
    assert goals(bench)[:3] == [("yard", 1), ("hall", 1), ("hall", 1)]
    assert goals(bench)[3:] == [("hall", 2), ("yard", 0), ("hall", 2)]


def test_a_variant_without_a_task_is_of_each_slots_own() -> None:
    bench = begun(slots=2, lab=Course())
    bench.episode(slots=[1], task="yard")
    bench.episode(variant=1)
    assert goals(bench)[1:] == [("hall", 1), ("yard", 1)]
    refused(bench, lambda: bench.start(variant=2), OutOfDomain, "variant 2", "'yard'")
    bench.episode()
    assert goals(bench)[3:] == [("hall", 1), ("yard", 1)]


def test_iterating_goes_through_the_variants_of_the_task_and_round_again() -> None:
    bench = begun(lab=Course())
    for _ in range(4):
        bench.iterate_goal()
        bench.episode()
    assert [variant for _, variant in goals(bench)] == [0, 1, 2, 0]


def test_iterating_goes_on_from_what_was_played() -> None:
    bench = begun(lab=Course())
    bench.episode()
    bench.iterate_goal()
    bench.episode()
    bench.episode(task="yard", variant=1)
    bench.iterate_goal()
    bench.episode()
    assert goals(bench) == [("hall", 0), ("hall", 1), ("yard", 1), ("yard", 0)]


def test_iterating_names_slots() -> None:
    bench = begun(slots=2, lab=Course())
    bench.episode()
    bench.iterate_goal([1])
    bench.episode()
    assert [variant for _, variant in goals(bench)] == [0, 0, 0, 1]


def test_init_takes_a_goal() -> None:
    bench = Bench(lab=Course())
    bench.init(task="yard", variant=1)
    bench.episode()
    bench.init(task="yard")
    bench.episode()
    bench.init(variant=2)
    bench.episode()
    bench.init()
    bench.episode()
    assert goals(bench) == [("yard", 1), ("yard", 0), ("hall", 2), ("hall", 0)]


@pytest.mark.parametrize(
    ("task", "variant", "named"),
    [
        ("roof", 0, ["task 'roof'", "hall", "yard"]),
        ("hall", 3, ["variant 3", "task 'hall'", "0 to 2"]),
        ("yard", 2, ["variant 2", "task 'yard'", "0 to 1"]),
        (None, 3, ["variant 3", "task 'hall'", "0 to 2"]),
        (None, -1, ["variant -1"]),
        (7, None, ["task 7"]),
    ],
)
@pytest.mark.parametrize("routine", ["start", "episode", "env_start", "init"])
def test_a_goal_that_there_is_not_is_refused(
    routine: str, task: str | None, variant: int | None, named: list[str]
) -> None:
    bench = begun(lab=Course())
    call = getattr(bench, routine)
    refused(bench, lambda: call(task=task, variant=variant), OutOfDomain, *named)
    bench.episode()
    assert goals(bench) == [("hall", 0)]


def test_no_goal_is_chosen_in_mid_episode() -> None:
    bench = begun(slots=2, lab=Course())
    bench.start([0, 1])
    for routine in (bench.start, bench.episode, bench.env_start):
        refused(bench, partial(routine, variant=1), OutOfOrder, "slot 0", "RL_agent_end")
    refused(bench, bench.iterate_goal, OutOfOrder, "RL_iterate_goal", "slot 0")
    bench.step()
    bench.step()
    bench.episode()
    assert goals(bench) == [("hall", 0)] * 4


def test_a_goal_may_follow_an_episode_that_its_limit_or_agent_end_cut_off() -> None:
    bench = begun(lab=Endless())
    bench.episode(2)
    bench.iterate_goal()
    bench.start()
    bench.agent_end([0.0], seen(0, 0), truncated=True)
    bench.start(variant=2)
    bench.agent_end([0.0], seen(0, 0), truncated=True)
    assert goals(bench) == [("hall", 0), ("hall", 1), ("hall", 2)]


def test_a_state_that_is_set_is_an_episode_again() -> None:
    bench = begun(lab=Endless())
    bench.start()
    key = bench.get_state()
    bench.episode(2)
    bench.set_state(key)
    refused(bench, lambda: bench.start(variant=1), OutOfOrder, "slot 0", "RL_agent_end")


@pytest.mark.parametrize("slots", [[2], [0, 0]])
def test_slots_that_there_are_not_have_no_goals(slots: list[int]) -> None:
    bench = begun(slots=2, lab=Course())
    refused(bench, lambda: bench.iterate_goal(slots), OutOfDomain)


def test_a_refused_limit_chooses_no_goal() -> None:
    bench = begun(lab=Course())
    with pytest.raises(RoutineRefused):
        bench.episode(-1, variant=1)
    bench.episode()
    assert goals(bench) == [("hall", 0)]


def test_success_is_that_of_the_present_or_last_episode() -> None:
    bench = begun(lab=Course())
    assert not bench.success()
    bench.start()
    bench.lab.fate = {0: "succeeds"}
    bench.step()
    assert bench.success()
    bench.step()
    assert bench.success()
    bench.episode()
    assert not bench.success()
