"""Environments in this process and in workers give the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server import LocalPool, Outcome, WorkerPool
from reglue.errors import UsageError
from tests.glue_server.playing import SOLVED, Follower, cell, cells, corridor_pool, played, start
from tests.worlds import Faulty

CORRIDOR = SuiteName("tests.worlds:Corridor", {"solved": SOLVED})


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    alone = played(Follower(), corridor_pool(1), cells())
    pool = WorkerPool(CORRIDOR, 4, workers=workers)
    try:
        assert played(Follower(), pool, cells()) == alone
    finally:
        pool.close()


def test_workers_count_the_steps_that_they_simulate() -> None:
    pool = WorkerPool(CORRIDOR, 3, workers=2)
    try:
        rows = played(Follower(), pool, cells())
        assert pool.executed == sum(row.steps for row in rows)
    finally:
        pool.close()


FAULTS = ["raises at start", "raises", "nan", "wrong shape", "no observation", "numpy reward", ""]


def test_faults_and_odd_rewards_are_the_same_in_a_worker() -> None:
    """A float32 reward must not be summed as float32 in one and float64 in the other."""
    wanted = [cell(variant=variant) for variant in range(len(FAULTS))]
    pool = WorkerPool(SuiteName("tests.worlds:Faulty", {"faults": FAULTS}), 2, workers=2)
    try:
        assert shown(played(Follower(), pool, wanted)) == shown(
            played(Follower(), LocalPool(Faulty(faults=FAULTS), 2), wanted)
        )
    finally:
        pool.close()


def shown(rows: list[Outcome]) -> list[Any]:
    """Rows to the last bit, with the last line of a traceback only: its frames differ."""
    return [
        (
            *(row.order, row.status, row.success, row.steps, row.actions),
            float(row.return_).hex(),  # NumPy rounds before it compares
            row.detail.splitlines()[-1:],
        )
        for row in rows
    ]


def test_a_pool_uses_no_more_workers_than_slots() -> None:
    pool = WorkerPool(CORRIDOR, 2, workers=5)
    try:
        assert len(pool.processes) == 2
    finally:
        pool.close()


# Suites that cannot be had.


@pytest.mark.parametrize(
    ("factory", "config", "words"),
    [
        ("tests.worlds:Unbuildable", {}, "OSError: the plans are lost"),
        (
            "tests.worlds:Corridor",
            {"wrong": 1},
            r"Corridor takes .*: missing a required argument: 'solved'",
        ),
        ("tests.worlds:Nowhere", {}, "there is no class Nowhere"),
        ("tests.no_such_module:Nowhere", {}, "there is no module tests.no_such_module"),
        ("tests.worlds", {}, "or package.module:Class"),
    ],
)
def test_a_suite_that_cannot_be_built_says_why(
    factory: str, config: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        WorkerPool(SuiteName(factory, config), 2, workers=2, log_file=tmp_path / "log")


def test_a_suite_whose_environments_cannot_be_made_is_at_fault() -> None:
    """Each time that a slot is used; its worker, which tried before it was asked, lives on."""
    pool = WorkerPool(SuiteName("tests.worlds:Houseless", {"solved": SOLVED}), 1, workers=1)
    try:
        workers = list(pool.processes)
        for _ in range(2):
            pool.send(start(cell()))
            assert "OSError: no bricks" in pool.receive().faults[0]
        assert list(pool.processes) == workers
    finally:
        pool.close()
