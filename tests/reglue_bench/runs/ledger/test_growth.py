"""The memory for each episode: bytes, where a row of objects would be a kilobyte."""

from __future__ import annotations

import gc
import tracemalloc
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from glue_server import Outcome
from reglue_bench.evaluation import carry_out
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import Todo, Todos, procedure_of
from reglue_bench.procedures.multi_task import ByTask, Queue, Shuffled
from reglue_bench.runs.ledger import Ledger, Totals, Try
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin
from reglue_bench.settings import Settings
from tests.reglue_bench.toys import corridor_plan

pytestmark = pytest.mark.slow

FEW, MANY = 1000, 10_000
ALLOWED = 100  # bytes an episode


def bytes_each(use: Callable[[int], object]) -> float:
    """Of the peak of `use(n)`: what each of many adds to that of few."""
    use(10)  # what is imported and kept at the first time
    peaks = []
    for size in (FEW, MANY):
        gc.collect()
        tracemalloc.start()
        kept = use(size)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        del kept
    return (peaks[1] - peaks[0]) / (MANY - FEW)


def test_scoring_a_run_holds_few_bytes_an_episode(tmp_path: Path) -> None:
    """From the rows of its ledger to the file of its result."""
    plans = {size: corridor_plan(num_episodes=size // 2) for size in (10, FEW, MANY)}
    ledgers = {size: played(tmp_path / str(size), plan) for size, plan in plans.items()}

    def score(size: int) -> object:
        result = carry_out(tmp_path / str(size), ledgers[size], asked(plans[size]), NullObserver())
        assert result.complete
        assert sum(1 for _ in result.episodes) == size
        return result

    assert bytes_each(score) < ALLOWED
    for ledger in ledgers.values():
        ledger.close()


def test_what_is_left_to_play_holds_few_bytes_an_episode() -> None:
    """Of either queue, with what it makes while it is made."""

    def shuffled(todo: Todos) -> Queue:
        return Shuffled(todo, b"key")

    def by_task(todo: Todos) -> Queue:
        return ByTask(todo, tasks=10, slots=4)

    for make in (shuffled, by_task):
        assert bytes_each(lambda size, make=make: make(todo(size))) < ALLOWED  # type: ignore[misc]


def todo(size: int) -> Todos:
    return Todos(array("I", range(size)), array("I", [0]) * size)


def test_units_that_want_playing_are_a_sequence() -> None:
    assert list(todo(3)) == [Todo(0, 0), Todo(1, 0), Todo(2, 0)]
    assert list(todo(3)[1:]) == [Todo(1, 0), Todo(2, 0)]
    assert not todo(0)


def asked(plan: Plan) -> Request:
    return Request(Settings(benchmark="corridor", workers=0), plan)


def played(folder: Path, plan: Plan) -> Ledger:
    """A ledger with a row of every cell."""
    ledger, procedure = begin(folder, asked(plan)), procedure_of(plan)
    orders = (
        plan.order(unit, cell, b"")
        for unit in range(procedure.units)
        for cell in procedure.cells(unit)
    )
    tries = [Try(0, [Outcome(order, "ok", True, 1 / (1 + order.unit), 5)]) for order in orders]
    ledger.record(tries, session=ledger.begin_session(), totals=Totals())
    return ledger


def test_a_try_of_many_outcomes_is_what_it_would_be_if_it_were_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a large one are inserted some at a time, with the same digest."""
    plan = corridor_plan("online", slots=1, solved={"walk": [0]}, runs=1, episodes=10)
    cells = procedure_of(plan).cells(0)
    orders = [plan.order(0, each, b"") for each in cells]
    outcomes = [Outcome(each, "ok", return_=float(each.k), steps=5) for each in orders][::-1]
    found = []
    for most in (1000, 3):
        monkeypatch.setattr("reglue_bench.runs.ledger.tries._MANY", most)
        with Ledger.create(tmp_path / str(most), {"plan": plan.to_json()}) as ledger:
            session = ledger.begin_session()
            ledger.record([Try(0, outcomes)], session=session, totals=Totals())
            found.append(list(ledger.rows()))
    assert found[0] == found[1]
    assert [row.k for row in found[0]] == list(range(10))
