"""Turns that are sent at fixed times after the agent's last answer."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from env_adapters import Cell
from glue_server import EpisodeRunner, LocalPort, Timeouts
from glue_server.processes.interrupts import interruptible
from reglue import Phase
from reglue.spec import Arrays
from tests.glue_server.playing import Follower, cell, in_turn, local, played
from tests.worlds import Corridor, Walk

EVERY_S = 0.04


class Telltale(Corridor):
    """A corridor in which a walk begins at once, or after EVERY_S and more."""

    def world(self) -> Walk:
        return Stretching(self)


class Stretching(Walk):
    def start(self, cell: Cell) -> Arrays:
        time.sleep(1.1 * EVERY_S * cell.variant)
        return super().start(cell)


class Watch(Follower):
    """Keeps when it was asked, and when it had answered."""

    partial_turns = True

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []
        self.left_us: list[int | None] = []

    def turn(self, turn: Any) -> Any:
        began = time.perf_counter()
        self.left_us.append(self.budget.run_us)
        answer = super().turn(turn)
        self.times.append((began, time.perf_counter()))
        return answer

    def gaps(self) -> list[float]:
        return [asked - told for (_, told), (asked, _) in itertools.pairwise(self.times)]


def walks(agent: Watch, slots: int = 1) -> None:
    """Two walks of five steps; the second one begins slowly."""
    timeouts = Timeouts(turn_every_s=EVERY_S, run_s=100.0)
    pool = local(Telltale(solved={"walk": [0, 0]}), slots)
    glue = EpisodeRunner(LocalPort(agent, "watch"), pool, timeouts=timeouts)
    glue.init()
    list(glue.play(in_turn([cell(variant=0), cell(variant=1)]), Phase.EVALUATE))


@pytest.mark.parametrize("may_stop", [False, True])
def test_a_turn_waits_for_a_multiple_of_the_time(*, may_stop: bool) -> None:
    """The first that is not over yet when the environment has answered."""
    agent = Watch()
    if may_stop:
        assert not interruptible(lambda: walks(agent))
    else:
        walks(agent)
    gaps = agent.gaps()
    assert len(gaps) == 10
    assert min(gaps) >= EVERY_S - 0.001
    assert gaps[4] >= 2 * EVERY_S - 0.001  # the slow start


def test_the_wait_is_no_time_of_the_agents() -> None:
    agent = Watch()
    walks(agent)
    assert agent.left_us[-1] is not None
    assert 100.0 - agent.left_us[-1] / 1e6 < sum(agent.gaps())


def test_all_live_slots_are_in_each_turn_then() -> None:
    """The time of one slot's environment does not show in the others' turns."""
    agent = Watch()
    walks(agent, slots=2)
    assert len(agent.times) == 6


def test_outcomes_are_the_same() -> None:
    agent, wanted = Watch(), [cell(variant=0), cell(variant=1)]
    pool = local(Telltale(solved={"walk": [0, 0]}), 2)
    timeouts = Timeouts(turn_every_s=0.001)
    glue = EpisodeRunner(LocalPort(agent, "watch"), pool, timeouts=timeouts)
    glue.init()
    came = sorted(glue.play(in_turn(wanted), Phase.EVALUATE), key=lambda outcome: outcome.order.k)
    assert came == played(Follower(), local(Corridor(solved={"walk": [0, 0]}), 2), wanted)
