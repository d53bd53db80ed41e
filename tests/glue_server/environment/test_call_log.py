"""Logs of calls stay small, however long an episode is."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, SuiteName
from env_adapters.suites import suite_name
from glue_server import EnvironmentCalls, WorkersPort
from glue_server.environment.call_log import CallLog
from reglue import Phase
from reglue.errors import EnvironmentFault
from reglue.messages.agent_messages import RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
)
from tests.error_facts import raises
from tests.glue_server.environment.halls import SPEC
from tests.glue_server.playing import SOLVED, cell, in_workers, local
from tests.programs import kill

ENDLESS = suite_name("access-control")  # saves states
CORRIDOR = SuiteName("tests.worlds:Corridor", {"solved": SOLVED, "horizon": 10_000})  # saves none


@pytest.fixture
def make() -> Iterator[Callable[..., tuple[EnvironmentCalls, WorkersPort, CallLog]]]:
    """Environments in one worker, with a log of few calls."""
    pools: list[EnvironmentCalls] = []

    def made(suite: SuiteName, slots: int = 1, **log: int) -> Any:
        pool, port = in_workers(suite, slots, workers=1)
        pools.append(pool)
        calls = CallLog(**log)
        pool.recall_from(calls)
        return pool, port, calls

    yield made
    for pool in pools:
        pool.close()


def begin(pool: EnvironmentCalls, *slots: int) -> None:
    task = next(iter(pool.ready.variants))
    starts = {slot: Cell(task, 0, 7 + slot, 0, Phase.TRAIN) for slot in slots}
    assert not pool.play(Play(np.zeros(0, np.uint32), {}, starts)).faults


def step(pool: EnvironmentCalls, n: int, slots: int = 1) -> tuple[Played, Any]:
    """Step n of each slot, and a weak reference to its actions."""
    [action] = pool.spec.actions
    rows = np.full((slots, *action.shape), n % 2, action.numpy_dtype)
    play = Play(np.arange(slots, dtype=np.uint32), {action.name: rows}, {})
    return pool.play(play), weakref.ref(rows)


def bits(played: Played) -> list[bytes]:
    assert not played.faults
    return [rows.tobytes() for rows in (played.rewards, *played.observations.values())]


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(
    ("suite", "log"),
    [
        (ENDLESS, {"recent": 5, "most": 5}),
        (CORRIDOR, {"recent": 5, "most": 1_000}),
        (CORRIDOR, {"recent": 1, "most": 1_000}),
    ],
    ids=["states", "packed", "each packed"],
)
def test_a_long_episode_goes_on_with_its_bits_in_another_process(
    make: Any, suite: SuiteName, log: dict[str, int], slots: int
) -> None:
    alone = local(suite.build(), slots)
    pool, port, _ = make(suite, slots, **log)
    begin(alone, *range(slots))
    begin(pool, *range(slots))
    for n in range(24):
        if n % 7 == 3:
            kill(port.processes[0])
        assert bits(step(pool, n, slots)[0]) == bits(step(alone, n, slots)[0])


@pytest.mark.parametrize("suite", [ENDLESS, CORRIDOR], ids=["states", "packed"])
def test_of_a_long_episode_few_plays_are_kept(make: Any, suite: SuiteName) -> None:
    """Also where another slot waits in mid-episode, and others' episodes are long as well."""
    pool, _, _ = make(suite, 3, recent=5)
    begin(pool, 0, 1, 2)
    seen = [step(pool, n, 2)[1] for n in range(50)]
    assert sum(each() is not None for each in seen) <= 6


def test_a_program_that_plans_by_states_has_few_plays_kept(make: Any) -> None:
    pool, _, _ = make(ENDLESS, 1, recent=5)
    begin(pool, 0)
    state = pool.ask(GetState(0), Snapshot).snapshot
    seen = []
    for n in range(50):
        pool.ask(SetState(0, state), RoutineDone)
        seen.append(step(pool, n)[1])
    assert sum(each() is not None for each in seen) <= 6


def test_a_routine_that_is_called_for_ever_is_forgotten_as_steps_are(make: Any) -> None:
    pool, port, calls = make(ENDLESS, 1, recent=5)
    alone = local(ENDLESS.build())
    told = []
    for each in (alone, pool):
        begin(each, 0)
        seed = each.ask(GetRandomSeed(0), Snapshot).snapshot
        for _ in range(12):
            each.ask(SetRandomSeed(0, seed), RoutineDone)
        if each is pool:
            assert len([*calls.recalled(0)]) <= 6
            kill(port.processes[0])
        told.append(bits(step(each, 0)[0]))
    assert told[0] == told[1]


def test_a_routine_without_an_episode_is_not_kept() -> None:
    """A program may call it for ever."""
    log, seed = CallLog(), SetRandomSeed(0, b"".join([b"seed"]))
    before = sys.getrefcount(seed)
    log.change(seed)
    assert sys.getrefcount(seed) == before


def test_an_episode_of_too_many_calls_is_lost_with_its_process_and_nobody_is_blamed(
    make: Any,
) -> None:
    pool, port, _ = make(CORRIDOR, 2, recent=5, most=12)
    begin(pool, 0)
    for n in range(9):
        step(pool, n)
    begin(pool, 1)
    for n in range(5):
        step(pool, n, 2)
    kill(port.processes[0])
    played, _ = step(pool, 0, 2)
    assert set(played.faults) == {0}
    assert "not replayable: got more than 12 calls" in played.faults[0]
    assert not played.crashed
    assert played.rewards[1] == 1.0
    begin(pool, 0)
    step(pool, 0)
    kill(port.processes[0])
    assert not step(pool, 0)[0].faults


def test_a_failure_of_an_episode_of_too_many_calls_is_told_with_its_cause(make: Any) -> None:
    pool, _, _ = make(SuiteName("tests.worlds:Faulty", {"faults": ["raises"]}), recent=1, most=1)
    begin(pool, 0)
    step(pool, 0)
    played, _ = step(pool, 1)  # fails
    assert "the floor gave way" in played.faults[0]
    assert "not replayable" in played.faults[0]
    assert not played.crashed


def test_a_lost_slot_has_no_state(make: Any) -> None:
    pool, port, _ = make(CORRIDOR, 1, recent=5, most=12)
    begin(pool, 0)
    for n in range(20):
        step(pool, n)
    port.renew(0)
    with raises(EnvironmentFault, "more than 12 calls", "saves states"):
        pool.ask(GetState(0), Snapshot)


def test_a_world_that_cannot_save_its_state_is_asked_once(make: Any, tmp_path: Any) -> None:
    asked = tmp_path / "asked"
    name = SuiteName(
        "tests.worlds:Unsaved", {"solved": SOLVED, "horizon": 10_000, "asked": str(asked)}
    )
    pool, port, _ = make(name, 1, recent=5)
    begin(pool, 0)
    alone = local(CORRIDOR.build())
    alone.play(Play(np.zeros(0, np.uint32), {}, {0: cell()}))
    for n in range(24):
        if n == 20:
            kill(port.processes[0])
        assert bits(step(pool, n)[0]) == bits(step(alone, n)[0])
    assert asked.read_text() == "."


def test_nothing_is_kept_once_no_episode_is_under_way() -> None:
    """Also where the next one begins much later."""
    calls, action = CallLog(), np.zeros((1, 1), np.float32)
    start = Play(np.zeros(0, np.uint32), {}, {0: cell()})
    calls.add(start)
    calls.answered(start, Played.blank(SPEC, start))
    end = Play(np.zeros(1, np.uint32), {"action": action}, {})
    calls.add(end)
    calls.answered(end, replace(Played.blank(SPEC, end), terminated=np.ones(1, np.bool_)))
    kept = weakref.ref(action)
    del end, action
    assert kept() is None
