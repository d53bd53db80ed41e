"""Routines other than play."""

from __future__ import annotations

from typing import Any

from glue_server import EpisodeRunner, LocalEnvironmentPort, LocalPort
from reglue import Phase, Turn
from reglue.environments.slot_worlds import Worlds
from reglue.errors import AgentFault
from reglue.messages.environment_messages import EnvironmentCall, Play
from tests.error_facts import raises
from tests.glue_server.playing import (
    PATIENT,
    SOLVED,
    Follower,
    Scripted,
    Told,
    calls_of,
    cell,
    corridor_pool,
    glue_of,
    in_turn,
    still,
)
from tests.worlds import Corridor


def test_the_agent_is_told_the_task_with_its_slots() -> None:
    agent = Scripted(still)
    glue_of(agent, corridor_pool(3))
    assert (agent.spec.slots, agent.spec.horizon) == (3, 5)


def test_an_agent_that_plays_fewer_slots_is_refused() -> None:
    class Small(Follower):
        max_slots = 2

    port = Told(Small())
    glue = EpisodeRunner(port, corridor_pool(3), timeouts=PATIENT)
    with raises(AgentFault, "2 slots", 3):
        glue.init()
    assert port.refusals == ["NOT_CAPABLE"]


def test_an_agent_that_plays_as_many_slots_is_taken() -> None:
    class Enough(Follower):
        max_slots = 3

    glue_of(Enough(), corridor_pool(3))


def test_an_agent_that_cannot_adapt_is_refused() -> None:
    class Frozen(Follower):
        adapts = False

    glue, port = glue_of(Frozen(), corridor_pool())
    with raises(AgentFault, "adapts = True"):
        glue.adapt_begin()
    assert port.refusals == ["NOT_CAPABLE"]


def test_a_message_is_answered() -> None:
    class Echo(Follower):
        def agent_message(self, message: str) -> str:
            return message.upper()

    glue, _ = glue_of(Echo(), corridor_pool())
    assert glue.message("hello") == "HELLO"


def test_what_an_agent_raises_in_any_routine_is_its_fault() -> None:
    class Stuck(Follower):
        def agent_freeze(self) -> None:
            raise OSError("cannot stop")

    glue, _ = glue_of(Stuck(), corridor_pool())
    with raises(AgentFault, "OSError: cannot stop"):
        glue.freeze()


class Clock:
    """Time goes on while somebody works."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowAgent(Follower):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def turn(self, turn: Turn) -> Any:
        self.clock.now += 100.0
        return super().turn(turn)


class SlowEnvironment(LocalEnvironmentPort):
    def __init__(self, clock: Clock) -> None:
        super().__init__(Worlds(Corridor(solved=SOLVED)), "slow")
        self.clock = clock

    def send(self, call: EnvironmentCall) -> None:
        self.clock.now += isinstance(call, Play)
        super().send(call)


def test_time_is_booked_to_whoever_was_waited_for() -> None:
    """Two turns, a start and a step."""
    clock = Clock()
    pool = calls_of(SlowEnvironment(clock), 1)
    glue = EpisodeRunner(LocalPort(SlowAgent(clock), "slow"), pool, timeouts=PATIENT, clock=clock)
    glue.init()
    list(glue.play(in_turn([cell(variant=0)]), Phase.EVALUATE))
    assert (glue.spent.agent_s, glue.spent.environment_s) == (200.0, 2.0)
