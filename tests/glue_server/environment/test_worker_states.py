"""States and random seeds of environments in workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from env_adapters import Cell
from env_adapters.suites import suite_name
from glue_server import EnvironmentCalls, LocalEnvironmentPort
from glue_server.environment.moving_port import MovingPort
from reglue import Phase
from reglue.environments.slot_worlds import Worlds
from reglue.errors import OutOfOrder, UnknownKey
from reglue.messages.agent_messages import RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Play,
    SetRandomSeed,
    SetState,
    Snapshot,
)
from tests.glue_server.playing import PromptWorkers, calls_of, in_workers, local
from tests.programs import kill


def snapshots_of(pool: EnvironmentCalls, disturb: Callable[[], object]) -> list[bytes]:
    """All that is answered where a state and a seed are saved and set in mid-episode."""
    told: list[bytes] = []
    slots = np.arange(3, dtype=np.uint32)
    actions = {each.name: each.empty(3) for each in pool.spec.actions}

    def go_on() -> None:
        disturb()
        stepped = pool.play(Play(slots, actions, {}))
        assert not stepped.faults
        told.extend(rows.tobytes() for rows in (stepped.rewards, *stepped.observations.values()))

    def saved(call: GetState | GetRandomSeed) -> bytes:
        disturb()
        told.append(pool.ask(call, Snapshot).snapshot)
        return told[-1]

    task = next(iter(pool.ready.variants))
    starts = {slot: Cell(task, 0, 7 + slot, 0, Phase.TRAIN) for slot in slots.tolist()}
    pool.play(Play(slots[:0], {}, starts))
    go_on()
    state, seed = saved(GetState(1)), saved(GetRandomSeed(1))
    go_on()
    pool.ask(SetState(2, state), RoutineDone)
    assert saved(GetState(2)) == state
    go_on()
    pool.ask(SetRandomSeed(0, seed), RoutineDone)
    assert saved(GetRandomSeed(0)) == seed
    go_on()
    go_on()
    for slot in slots.tolist():
        saved(GetState(slot))
    return told


@pytest.mark.parametrize("dies", [False, True])
def test_snapshots_of_a_slot_in_a_worker_have_the_bits_of_this_process(dies: bool) -> None:
    """Also where the workers are killed before most calls."""
    name = suite_name("access-control")
    alone = snapshots_of(local(name.build(), 3), lambda: None)
    pool, port = in_workers(name, 3, workers=2)

    def disturb() -> None:
        for pid in port.processes * dies:
            kill(pid)

    try:
        assert snapshots_of(pool, disturb) == alone
    finally:
        pool.close()


def test_a_state_of_another_environment_is_refused_by_a_worker() -> None:
    pool, _ = in_workers(suite_name("gridworld"), 1, workers=1)
    try:
        with pytest.raises(UnknownKey):
            pool.ask(SetState(0, b"of another"), RoutineDone)
        with pytest.raises(OutOfOrder):
            pool.ask(GetState(0), Snapshot)
    finally:
        pool.close()


@pytest.mark.parametrize("pays", [True, False])
def test_snapshots_of_a_slot_that_may_move_have_the_bits_of_this_process(pays: bool) -> None:
    """In the second of two runs all slots have moved, if workers pay."""
    name = suite_name("access-control")
    alone = snapshots_of(local(name.build(), 3), lambda: None)
    here = LocalEnvironmentPort(Worlds(name.build()), name.factory)
    port = MovingPort(here, lambda: PromptWorkers(name, workers=2), lambda _turn_s: pays)
    pool = calls_of(port, 3)
    try:
        assert snapshots_of(pool, lambda: None) == alone
        pool.init(3)
        assert port.where == ("2 workers" if pays else "this process")
        assert snapshots_of(pool, lambda: None) == alone
    finally:
        pool.close()
