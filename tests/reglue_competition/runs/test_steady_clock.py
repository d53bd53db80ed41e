"""The decisions of a clock that jumps."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from reglue_competition.runs.steady_clock import STEADY_S, SteadyClock
from tests.reglue_competition.competitions import CLOSES, OPENS, Clock
from tests.reglue_competition.runs.hosting import hosting

HOUR = timedelta(hours=1)


class Machine:
    """A machine with a wall clock that may be wrong."""

    def __init__(self) -> None:
        self.clock, self.passed_s = Clock(OPENS), 0.0
        self.steady = SteadyClock(self.clock, lambda: self.passed_s)

    def wait(self, seconds: float) -> None:
        self.passed_s += seconds
        self.clock.now += timedelta(seconds=seconds)


@pytest.mark.parametrize("jump", [9 * HOUR, -9 * HOUR, timedelta(days=4000)])
def test_a_jump_is_believed_once_the_clock_has_gone_on_steadily(jump: timedelta) -> None:
    machine = Machine()
    machine.wait(30.0)
    assert machine.steady() == machine.clock.now
    before = machine.clock.now
    machine.clock.now += jump
    assert machine.steady() == before
    machine.wait(STEADY_S - 1.0)
    assert machine.steady() == before + timedelta(seconds=STEADY_S - 1.0)
    machine.wait(2.0)
    assert machine.steady() == machine.clock.now == before + jump + timedelta(seconds=STEADY_S + 1)
    machine.wait(3600.0)
    assert machine.steady() == machine.clock.now


def test_a_clock_that_is_set_right_was_never_believed() -> None:
    machine = Machine()
    before = machine.steady()
    machine.clock.now += 9 * HOUR
    assert machine.steady() == before
    machine.wait(STEADY_S - 1.0)
    machine.steady()
    machine.clock.now -= 9 * HOUR
    machine.wait(2.0)
    assert machine.steady() == before + timedelta(seconds=STEADY_S + 1.0) == machine.clock.now


def test_a_second_jump_is_doubted_as_the_first() -> None:
    machine = Machine()
    before = machine.steady()
    machine.clock.now += 9 * HOUR
    machine.steady()
    machine.wait(STEADY_S - 1.0)
    machine.clock.now += 9 * HOUR
    machine.steady()
    machine.wait(2.0)
    assert machine.steady() == before + timedelta(seconds=STEADY_S + 1.0)


def test_less_than_an_hour_is_no_jump() -> None:
    machine = Machine()
    machine.clock.now += 0.9 * HOUR
    assert machine.steady() == machine.clock.now


@pytest.mark.slow
@pytest.mark.usefixtures("cleared")
def test_no_phase_is_closed_by_a_wrong_clock(tmp_path: Path) -> None:
    machine = Machine()
    with hosting(tmp_path, clock=machine.steady) as server:
        server.queue.tick()
        machine.clock.now = CLOSES + HOUR
        server.queue.tick()
        assert server.store.phases()[0].state == "open"
        machine.clock.now = OPENS
        machine.wait(STEADY_S)
        server.queue.tick()
        assert server.store.phases()[0].state == "open"
        machine.clock.now = CLOSES
        server.queue.tick()
        machine.wait(STEADY_S)
        server.queue.tick()
        assert server.store.phases()[0].state == "closed"
