"""Environments in this process and in workers give the same rows."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server import Outcome
from glue_server.environment.environment_port import LocalEnvironmentPort
from glue_server.processes.interrupts import CLOSING_S, uninterrupted
from reglue.environments.slot_worlds import Worlds
from reglue.errors import EnvironmentTimeout, NotSupported, UsageError
from reglue.messages.agent_messages import Cleanup, RoutineDone
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentReply,
    StandardizeRandomness,
)
from tests.error_facts import raises
from tests.glue_server.playing import (
    SOLVED,
    Follower,
    calls_of,
    cell,
    cells,
    corridor_pool,
    in_workers,
    local,
    played,
    start,
)
from tests.worlds import Corridor, Faulty, Unnumbered

CORRIDOR = SuiteName("tests.worlds:Corridor", {"solved": SOLVED})


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_and_counted_steps_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    alone = played(Follower(), corridor_pool(1), cells())
    pool, _ = in_workers(CORRIDOR, 4, workers=workers)
    try:
        assert played(Follower(), pool, cells()) == alone
        assert pool.executed == sum(row.steps for row in alone)
    finally:
        pool.close()


FAULTS = ["raises at start", "raises", "nan", "wrong shape", "no observation", "numpy reward", ""]


def test_faults_and_odd_rewards_are_the_same_in_a_worker() -> None:
    """A float32 reward must not be summed as float32 in one and float64 in the other."""
    wanted = [cell(variant=variant) for variant in range(len(FAULTS))]
    pool, _ = in_workers(SuiteName("tests.worlds:Faulty", {"faults": FAULTS}), 2, workers=2)
    try:
        assert shown(played(Follower(), pool, wanted)) == shown(
            played(Follower(), local(Faulty(faults=FAULTS), 2), wanted)
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
    pool, port = in_workers(CORRIDOR, 2, workers=5)
    try:
        assert len(port.processes) == 2
    finally:
        pool.close()


# Suites that cannot be had.


@pytest.mark.parametrize(
    ("factory", "config", "named"),
    [
        ("tests.worlds:Unbuildable", {}, ["OSError: the plans are lost"]),
        ("tests.worlds:Corridor", {"wrong": 1}, ["Corridor", "horizon", "'wrong'"]),
        ("tests.worlds:Nowhere", {}, ["Nowhere", "tests/worlds.py"]),
        (
            "tests.no_such_module:Nowhere",
            {},
            ["tests/no_such_module.py:Class"],
        ),
        ("tests.worlds", {}, ["'tests.worlds'", "package.module:Class"]),
    ],
)
def test_a_suite_that_cannot_be_built_says_why(
    factory: str, config: dict[str, Any], named: list[str], tmp_path: Path
) -> None:
    with raises(UsageError, *named):
        in_workers(SuiteName(factory, config), 2, workers=2, log_file=tmp_path / "log")


def test_a_suite_whose_environments_cannot_be_made_is_at_fault() -> None:
    """Each time that a slot is used, also in the worker that tries it again."""
    pool, _ = in_workers(SuiteName("tests.worlds:Houseless", {"solved": SOLVED}), 1, workers=1)
    try:
        for _ in range(2):
            pool.send(start(cell()))
            assert "OSError: no bricks" in pool.receive().faults[0]
    finally:
        pool.close()


def test_randomness_that_a_suite_does_not_standardize_is_refused_wherever_it_is() -> None:
    pool, _ = in_workers(SuiteName("tests.worlds:Unnumbered", {"solved": SOLVED}), 1, workers=1)
    for each in (pool, local(Unnumbered(solved=SOLVED))):
        try:
            with pytest.raises(NotSupported):
                each.ask(StandardizeRandomness(3), RoutineDone)
        finally:
            each.close()


class Silent(LocalEnvironmentPort):
    """Does not answer env_cleanup: its time is up at once, and noted."""

    def __init__(self) -> None:
        super().__init__(Worlds(Corridor(solved=SOLVED)), "silent")
        self.cleaning = False
        self.waited_s = 0.0

    def send(self, call: EnvironmentCall) -> None:
        self.cleaning = isinstance(call, Cleanup)
        super().send(call)

    def receive(self, timeout_s: float) -> EnvironmentReply:
        if not self.cleaning:
            return super().receive(timeout_s)
        self.waited_s = timeout_s
        raise EnvironmentTimeout(f"no answer within {timeout_s:g} s")


def test_the_environment_of_an_interrupted_run_is_not_waited_for_long() -> None:
    port, other = Silent(), Silent()
    hurried, calm = calls_of(port, 2), calls_of(other, 2)
    with uninterrupted(then_raise=False):
        signal.raise_signal(signal.SIGINT)
        hurried.close()
    calm.close()
    assert port.waited_s <= CLOSING_S < other.waited_s
