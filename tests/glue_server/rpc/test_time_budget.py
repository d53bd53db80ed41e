"""An agent is told what time it has, and gets no more than that."""

from __future__ import annotations

import select
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glue_server import EpisodeRunner, LocalPort
from glue_server.agent.agent_calls import AgentCalls
from glue_server.agent.time_budget import TimeBudget
from glue_server.agent.turn_rows import no_rows, turn_of
from glue_server.rpc import GlueServer, peer_streams
from glue_server.timeouts import Timeouts
from reglue import Agent, Phase
from reglue.errors import AgentTimeout
from reglue.messages.agent_messages import (
    UNLIMITED,
    Adapt,
    AdaptBegin,
    AgentInit,
    Budget,
    Freeze,
    Turn,
)
from tests.error_facts import raises
from tests.glue_server.playing import Follower, cell, corridor_pool, in_turn
from tests.glue_server.rpc.conftest import Dial, Join
from tests.glue_server.rpc.peers import PATIENCE_S, seated

SPEC = corridor_pool().spec
LIMITS = Timeouts(first_step_s=10.0, step_s=2.0, bank_s=5.0, adapt_s=8.0, run_s=100.0)


@pytest.fixture
def purse() -> TimeBudget:
    return TimeBudget(LIMITS)


def a_turn(phase: Phase = Phase.EVALUATE) -> Turn:
    none = no_rows(SPEC)
    return turn_of(SPEC, phase, ends=none, steps=none, starts=none)


def take(purse: TimeBudget, call: Any, seconds: float) -> Budget:
    """The budget that the call was given, before it took so long."""
    told = purse.budget(call)
    purse.spend(call, seconds)
    return told


def test_the_first_turn_may_take_longer_than_others(purse: TimeBudget) -> None:
    assert take(purse, AgentInit(SPEC), 0.0).step_us == 10_000_000
    assert take(purse, a_turn(), 0.0).step_us == 10_000_000
    assert take(purse, a_turn(), 0.0).step_us == 2_000_000
    assert take(purse, Freeze(), 0.0).step_us == 10_000_000
    assert take(purse, a_turn(), 0.0).step_us == 2_000_000


def test_what_a_call_takes_beyond_its_time_is_drawn_from_the_bank(purse: TimeBudget) -> None:
    take(purse, a_turn(), 10.0)
    assert purse.wait_s(a_turn()) == 7.0
    take(purse, a_turn(), 5.0)
    assert purse.budget(a_turn()).bank_us == 2_000_000
    assert purse.wait_s(a_turn()) == 4.0
    take(purse, a_turn(), 1.0)
    assert purse.budget(a_turn()).bank_us == 2_000_000


def test_adaptation_calls_share_what_their_wave_has(purse: TimeBudget) -> None:
    take(purse, AdaptBegin(), 1.0)
    take(purse, a_turn(Phase.ADAPT), 3.0)
    assert take(purse, a_turn(Phase.EVALUATE), 2.0).adapt_us == 4_000_000
    assert purse.wait_s(Adapt()) == 4.0
    take(purse, Adapt(), 4.0)
    with raises(AgentTimeout, "adapt"):
        purse.budget(Adapt())
    purse.budget(a_turn(Phase.EVALUATE))
    assert take(purse, AdaptBegin(), 0.0).adapt_us == 8_000_000


def test_all_calls_of_a_run_share_what_it_has(purse: TimeBudget) -> None:
    take(purse, a_turn(), 97.0)
    assert purse.wait_s(a_turn()) == 2.0
    assert take(purse, a_turn(), 1.0).run_us == 3_000_000
    assert purse.wait_s(a_turn()) == 2.0
    take(purse, a_turn(), 2.0)
    with raises(AgentTimeout, "run"):
        purse.budget(a_turn())
    assert take(purse, AgentInit(SPEC), 0.0).run_us == 100_000_000


def test_what_its_crashes_cost_is_charged_to_the_run_alone(purse: TimeBudget) -> None:
    purse.charge(98.0)
    told = take(purse, a_turn(), 0.0)
    assert (told.run_us, told.bank_us) == (2_000_000, 5_000_000)
    purse.charge(3.0)
    with raises(AgentTimeout, "run", "101 s", "environments"):
        purse.budget(a_turn())
    assert take(purse, AgentInit(SPEC), 0.0).run_us == 100_000_000


def steps_of(*slots: int, phase: Phase = Phase.EVALUATE) -> Turn:
    none, rows = no_rows(SPEC), no_rows(SPEC)
    return turn_of(SPEC, phase, ends=none, steps=replace(rows, slots=np.array(slots)), starts=none)


def test_a_slot_that_is_held_has_one_steps_time_in_all(purse: TimeBudget) -> None:
    """An agent that holds all slots but one does not have a step's time for each."""
    take(purse, a_turn(), 0.0)
    slots = np.arange(4, dtype=np.uint32)
    for count, (wait_s, bank_us) in enumerate([(7.0, 5e6), (5.5, 5e6), (4.0, 4e6), (2.5, 2.5e6)]):
        turn = steps_of(*range(4 - count))
        assert purse.wait_s(turn) == wait_s
        assert take(purse, turn, 1.5).bank_us == bank_us
        purse.note_held(slots[: 4 - count], frozenset(range(3 - count)))
    assert purse.wait_s(steps_of(0, 1, 2, 3)) == 3.0  # of the bank 1 s is left


def test_loops_that_train_hold_slots_as_they_like(purse: TimeBudget) -> None:
    take(purse, a_turn(), 0.0)
    turn = steps_of(0, 1, phase=Phase.TRAIN)
    for _ in range(3):
        take(purse, turn, 1.5)
        purse.note_held(np.arange(2, dtype=np.uint32), {1})
    assert purse.wait_s(turn) == 7.0


def test_what_is_not_limited_is_not_told() -> None:
    told = TimeBudget(Timeouts(first_step_s=3.0)).budget(AgentInit(SPEC))
    assert told == Budget(step_us=3_000_000)


class Asked(Follower):
    def __init__(self) -> None:
        self.told: list[Budget] = []

    def turn(self, turn: Any) -> Any:
        self.told.append(self.budget)
        return super().turn(turn)


def play(port: Any, timeouts: Timeouts) -> None:
    glue = EpisodeRunner(port, corridor_pool(), timeouts=timeouts)
    glue.init()
    list(glue.play(in_turn([cell(variant=2)]), Phase.EVALUATE))


def test_the_agent_reads_its_budget_in_process_and_over_a_stream(
    server: GlueServer, join: Join
) -> None:
    local, remote = Asked(), Asked()
    play(LocalPort(local, "local"), Timeouts(step_s=7.0))
    join(remote)
    port = server.next("agent", 30.0)
    play(port, Timeouts(step_s=7.0))
    assert [told.step_us for told in remote.told] == [300_000_000] + [7_000_000] * 5
    assert remote.told == local.told
    assert Agent.budget == UNLIMITED


@pytest.mark.parametrize("transport", ["grpc"])  # the glue reads ahead in its streams alone
def test_an_answer_that_lies_here_costs_the_agent_nothing(
    server: GlueServer, dial: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever drives is busy elsewhere: only what the agent took is charged."""
    lain_s = 0.0

    def clock() -> float:
        return time.monotonic() + lain_s

    monkeypatch.setattr(peer_streams, "time", SimpleNamespace(monotonic=clock))
    agent = dial()
    calls = AgentCalls(seated(server), Timeouts(run_s=1e6), clock=clock)
    (readable,) = calls.filenos()
    calls.send(Freeze())
    agent.done()
    assert select.select([readable], [], [], PATIENCE_S)[0]
    lain_s = 1e5
    calls.receive()
    calls.send(Freeze())
    assert 1e6 - agent.hear().budget.run_us / 1e6 < lain_s


def test_an_agent_that_has_used_up_its_run_is_timed_out(server: GlueServer, join: Join) -> None:
    class Slow(Follower):
        def turn(self, turn: Any) -> Any:
            time.sleep(0.1)
            return super().turn(turn)

    join(Slow())
    port: Any = server.next("agent", 30.0)
    glue = EpisodeRunner(port, corridor_pool(), timeouts=Timeouts(run_s=1.0))
    glue.init()
    with pytest.raises(AgentTimeout):
        list(glue.play(in_turn([cell(variant=2)] * 3), Phase.EVALUATE))
    port.close("too slow")
