"""In which order units are taken."""

from __future__ import annotations

from collections.abc import Iterable

from glue_server import Order, Outcome
from reglue_bench.plans.keys import Submission
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures import Todo
from reglue_bench.procedures.multi_task import ByTask, Queue, Shuffled
from tests.reglue_bench.toys import corridor_plan

CELL = PlanCell(0, "a", 0, 0, "evaluate")


def todo(units: int) -> list[Todo]:
    return [Todo(unit, 0) for unit in range(units)]


def taken(queue: Queue, slots: Iterable[int]) -> list[int | None]:
    each = [queue.take(slot) for slot in slots]
    return [None if one is None else one.unit for one in each]


def test_a_slot_goes_on_with_its_own_tasks_in_turn() -> None:
    queue = ByTask(todo(9), tasks=3, slots=2)
    assert taken(queue, [0, 0, 1, 0, 1]) == [0, 2, 1, 3, 4]


def test_slots_beyond_the_tasks_share_them() -> None:
    queue = ByTask(todo(6), tasks=2, slots=3)
    assert taken(queue, [0, 1, 2, 2]) == [0, 1, 2, 4]


def test_a_slot_that_is_done_helps_where_most_steps_are_left() -> None:
    queue = ByTask(todo(9), tasks=3, slots=3)
    assert taken(queue, [0, 1, 2, 0, 0]) == [0, 1, 2, 3, 6]
    for unit, steps in ((0, 5), (1, 10), (2, 40)):
        queue.tell(Outcome(order_of(unit), "ok", steps=steps))
    assert taken(queue, [0, 0, 0, 0, 0]) == [5, 8, 4, 7, None]


def test_with_a_key_the_episodes_of_a_task_are_in_an_order_that_it_draws() -> None:
    def order(key: bytes) -> list[int | None]:
        return taken(ByTask(todo(60), tasks=2, slots=2, key=key), [0] * 30)

    one, other = (Submission.new(0, "a secret of a host").order for _ in range(2))
    assert order(one) == order(one) != order(other)
    assert {*order(one)} == {*order(other)} == {*range(0, 60, 2)}
    assert order(b"") == [*range(0, 60, 2)]


def test_where_tasks_are_hidden_the_order_follows_the_secret_alone() -> None:
    def order(key: bytes) -> list[int | None]:
        return taken(Shuffled(todo(50), key), range(51))

    one, other = (Submission.new(0, "a secret of a host").order for _ in range(2))
    assert order(one) == order(one)
    assert order(one) != order(other)
    assert sorted(order(one)[:50]) == list(range(50))  # type: ignore[type-var]
    assert order(one)[:50] != list(range(50))
    assert order(one)[50] is None


def order_of(unit: int) -> Order:
    return corridor_plan().order(unit, CELL, bytes(32))
