"""Environments move from this process to workers between episodes, and no row tells."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server import LocalEnvironmentPort, Outcome, WorkersPort
from glue_server.environment.moving_port import LOOK_S, MovingPort, WorkersPay
from reglue import Phase
from reglue.environments.slot_worlds import Worlds
from reglue.errors import UsageError
from reglue.messages.environment_messages import (
    EnvironmentCall,
)
from tests.glue_server.playing import (
    SOLVED,
    Follower,
    Partial,
    PromptWorkers,
    Scripted,
    by_k,
    calls_of,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    played,
    still,
)
from tests.programs import kill

pytestmark = pytest.mark.slow

MakePort = Callable[..., MovingPort]
MakeWorkers = Callable[..., WorkersPort]


def after_turns(turns: int) -> Callable[[float], bool]:
    """Workers pay after so many turns."""
    count = itertools.count()
    return lambda _turn_s: next(count) >= turns


@pytest.fixture
def make_port() -> Iterator[MakePort]:
    """Makes ports over corridors, and closes them; workers pay `after` so many turns."""
    ports: list[MovingPort] = []

    def make(
        world: str = "Corridor", *, after: int, workers: MakeWorkers = PromptWorkers, **more: Any
    ) -> MovingPort:
        suite = SuiteName(f"tests.worlds:{world}", {"solved": SOLVED} | more)
        here = LocalEnvironmentPort(Worlds(suite.build()), suite.factory)
        ports.append(MovingPort(here, lambda: workers(suite, workers=2), after_turns(after)))
        return ports[-1]

    yield make
    for port in ports:
        port.close("enough")


@pytest.fixture
def alone() -> list[Outcome]:
    """The rows of an undisturbed play."""
    return played(Follower(), corridor_pool(1), cells())


@pytest.mark.parametrize("agent", [Follower, Partial])
@pytest.mark.parametrize("after", range(6))
def test_slots_move_with_their_next_episode_and_rows_stay(
    make_port: MakePort, alone: list[Outcome], after: int, agent: type[Follower]
) -> None:
    """Episodes are of different lengths, so that turns are played in both places."""
    port = make_port(after=after)
    pool = calls_of(port, 4)
    assert port.where == "this process"
    assert played(agent(), pool, cells()) == alone
    assert port.where == "2 workers"


def test_turns_of_both_places_have_their_rows_in_order(make_port: MakePort) -> None:
    turns: list[list[str]] = []
    for pool in (calls_of(make_port(after=0), 4), corridor_pool(4)):
        agent = Scripted(still)
        played(agent, pool, cells())
        turns.append([str(turn) for turn in agent.turns])
    assert turns[0] == turns[1]


def test_workers_that_never_pay_are_never_started(
    make_port: MakePort, alone: list[Outcome]
) -> None:
    started: list[object] = []
    port = make_port(after=10_000, workers=lambda suite, **_: started.append(suite))
    assert played(Follower(), calls_of(port, 4), cells()) == alone
    assert (started, port.where) == ([], "this process")


def test_play_stays_here_if_workers_do_not_start(
    make_port: MakePort, alone: list[Outcome], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(WorkersPort):
        def send(self, call: EnvironmentCall) -> None:
            raise UsageError(got="no memory", wanted="some")

    port = make_port(after=1, workers=Broken)
    with caplog.at_level(logging.WARNING, logger="reglue"):
        assert played(Follower(), calls_of(port, 4), cells()) == alone
    assert port.where == "this process"
    [line] = [each.getMessage() for each in caplog.records]
    assert "no memory" in line


@pytest.mark.parametrize("fault", ["raises", "raises at start", "nan", "wrong shape"])
def test_an_exception_has_the_same_outcome_wherever_it_is_raised(
    make_port: MakePort, fault: str
) -> None:
    rows = []
    for after in (0, 2, 10_000):
        pool = calls_of(
            make_port(
                "Faulty", after=after, faults=["", fault, "", fault], solved={"walk": [0] * 4}
            ),
            2,
        )
        wanted = [cell("walk", variant) for variant in (0, 1, 2, 3, 0, 1, 2, 3)]
        rows.append([(row.status, row.steps) for row in played(Follower(), pool, wanted)])
    assert rows[0] == rows[1] == rows[2]
    assert {status for status, _ in rows[0]} > {"ok"}


def test_workers_that_die_take_no_slot_that_is_still_here(
    make_port: MakePort, alone: list[Outcome]
) -> None:
    """They are killed as soon as the first slot has moved, and again after each episode."""
    made: list[WorkersPort] = []

    def make(suite: SuiteName, *, workers: int) -> WorkersPort:
        made.append(PromptWorkers(suite, workers=workers))
        return made[-1]

    glue, _ = glue_of(Follower(), calls_of(make_port(after=1, workers=make), 4))
    rows = []
    for outcome in glue.play(in_turn(cells()), Phase.EVALUATE):
        rows.append(outcome)
        for port in made:
            kill(port.processes[len(rows) % 2])
    assert made
    assert by_k(iter(rows)) == alone


def test_the_next_run_begins_in_the_workers(make_port: MakePort, alone: list[Outcome]) -> None:
    port = make_port(after=0)
    pool = calls_of(port, 4)
    for _ in range(2):
        assert played(Follower(), pool, cells()) == alone
        pool.init(4)
    assert port.where == "2 workers"


# When workers pay.


def decisions(workers: int, turn_s: float, turns: int) -> list[bool]:
    pays = WorkersPay(workers)
    return [pays(turn_s) for _ in range(turns)]


def test_steps_of_microseconds_never_pay() -> None:
    assert not any(decisions(workers=2, turn_s=150e-6, turns=50_000))
    assert not any(decisions(workers=16, turn_s=150e-6, turns=50_000))


def test_steps_of_milliseconds_pay_once_they_have_cost_what_a_worker_costs() -> None:
    assert decisions(workers=2, turn_s=10e-3, turns=60).index(True) == LOOK_S / 10e-3 - 1
    assert decisions(workers=2, turn_s=2.0, turns=1) == [True]


def test_one_worker_never_pays() -> None:
    assert not any(decisions(workers=1, turn_s=1.0, turns=100))


def test_turns_in_which_other_programs_ran_do_not_count() -> None:
    pays = WorkersPay(2)
    turns = [150e-6 if turn % 20 else 20e-3 for turn in range(20_000)]
    assert not any(map(pays, turns))


def test_it_looks_again_as_steps_may_become_slow() -> None:
    pays = WorkersPay(4)
    assert not any(pays(100e-6) for _ in range(10_000))
    assert any(pays(5e-3) for _ in range(300))
