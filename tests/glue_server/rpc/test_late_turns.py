"""Turns that are answered too late, and what is played in their place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glue_server import EpisodeRunner, Outcome, Timeouts
from glue_server.agent.agent_calls import MOST_OWED, AgentCalls
from glue_server.agent.agent_port import AgentPort
from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.processes.interrupts import interruptible
from glue_server.rpc import GlueServer
from glue_server.rpc.peer_codecs import AgentCodec
from glue_server.rpc.peer_streams import Stream
from glue_server.rpc.stream_port import StreamPort
from reglue import Agent, Phase, Turn, connect
from reglue.agents.agent import hello
from reglue.errors import AgentTimeout
from reglue.messages.agent_messages import ActionFlag
from reglue.net.join_string import Transport
from reglue.v1 import agent_pb2 as pb
from tests.error_facts import raises
from tests.glue_server.playing import cell, corridor_pool, in_turn
from tests.glue_server.rpc.conftest import Dial
from tests.glue_server.rpc.peers import PATIENCE_S, LocalStream, RawAgent, seated
from tests.glue_server.rpc.proxies import proxy_to
from tests.leftovers import nothing_left
from tests.waiting import until

pytestmark = pytest.mark.slow

STEPS = 20
SHORT = Timeouts(first_step_s=PATIENCE_S, step_s=0.2, plays_defaults=True)

Start = Callable[..., "Future[Any]"]


class Late(Agent):
    """Answers turn n by n / 64, and those of `late`, which are apart, once they are given up.

    The rewards that it is told show which actions were played: those of its own or 0.
    """

    def __init__(self, *late: int, first: Callable[[], object] = lambda: None) -> None:
        self.port: AgentPort | None = None
        self.seated = threading.Event()
        self.turns: list[Turn] = []
        self._late = late
        self._first = first  # what it does in a turn that will be late

    def turn(self, turn: Turn) -> Any:
        self.turns.append(turn)
        if len(self.turns) in self._late:
            assert self.seated.wait(PATIENCE_S)
            port = self.port
            assert port is not None
            self._first()
            until(lambda: port.owed > 0, "the glue has given this turn up")
        return np.full((len(turn.steps) + len(turn.starts), 1), len(self.turns) / 64)


@pytest.fixture
def start() -> Iterator[Start]:
    with nothing_left():
        threads = ThreadPoolExecutor(1, thread_name_prefix="peer")
        yield threads.submit
        threads.shutdown()


@pytest.fixture
def served(transport: Transport, start: Start) -> Iterator[GlueServer]:
    with GlueServer(reconnect_window_s=PATIENCE_S, transport=transport) as server:
        yield server


def walk(port: AgentPort, timeouts: Timeouts = SHORT, slots: int = 1) -> Outcome:
    """The outcome of a walk of 20 steps, and as many in each other slot."""
    glue = EpisodeRunner(port, corridor_pool(slots, horizon=STEPS), timeouts=timeouts)
    glue.init()
    outcomes = list(glue.play(in_turn([cell(variant=2)] * slots), Phase.TRAIN))
    return outcomes[0]


def check(agent: Late, outcome: Outcome) -> list[int]:
    """Each action was the one of its turn, or the default where the agent was told so.

    Returns the turns of which that is so, from 1.
    """
    played = np.frombuffer(outcome.actions, "<f4")
    told = [after.rewards[0] for after in agent.turns[1:]]
    assert told == [1.0 + 0.1 * float(action) for action in played]
    late = [turn for turn, action in enumerate(played, 1) if action == 0.0]
    own = [turn / 64 for turn in range(1, STEPS + 1) if turn not in late]
    assert [action for action in played if action != 0.0] == own
    flags = [int(after.steps.flags[0]) for after in agent.turns[1:STEPS]]
    assert flags == [ActionFlag.DEFAULTED * (turn in late) for turn in range(1, STEPS)]
    assert (outcome.status, outcome.steps, outcome.defaulted) == ("ok", STEPS, len(late))
    return late


def test_a_late_turn_costs_a_default_action_alone(served: GlueServer, start: Start) -> None:
    """The others are the agent's, as the next turn has a time of its own."""
    agent = Late(3, 9)
    left = start(connect, agent, served.address, served.token)
    agent.port = port = seated(served)
    agent.seated.set()
    outcome = walk(port)
    assert {3, 9} <= {*check(agent, outcome)}
    port.close("thank you")
    assert left.result(PATIENCE_S) == "thank you"


def test_all_slots_of_a_late_turn_play_defaults(served: GlueServer, start: Start) -> None:
    agent = Late(2)
    start(connect, agent, served.address, served.token)
    agent.port = port = seated(served)
    agent.seated.set()
    assert 2 in check(agent, walk(port, slots=3))
    told = agent.turns[2]
    assert told.steps.flags.tolist() == [ActionFlag.DEFAULTED] * 3
    port.close("thank you")


def test_several_turns_may_be_under_way(served: GlueServer, start: Start) -> None:
    """About other slots each: one that is late is no other's fault."""
    agent = Late(7)
    agent.partial_turns = True
    start(connect, agent, served.address, served.token)
    agent.port = port = seated(served)
    agent.seated.set()
    glue = EpisodeRunner(port, corridor_pool(6, horizon=STEPS), timeouts=SHORT)
    glue.init()
    outcomes = list(glue.play(in_turn([cell(variant=2)] * 6), Phase.EVALUATE))
    told = [{*turn.steps.slots.tolist(), *turn.starts.slots.tolist()} for turn in agent.turns]
    for outcome in outcomes:
        played = np.frombuffer(outcome.actions, "<f4").tolist()
        own = [n / 64 for n, slots in enumerate(told, 1) if outcome.order.k in slots]
        assert all(action in (0.0, wanted) for action, wanted in zip(played, own, strict=True))
        assert outcome.defaulted == played.count(0.0)
    assert sum(outcome.defaulted for outcome in outcomes) >= len(told[6])
    assert {len(slots) for slots in told} != {6}
    port.close("thank you")


def test_an_agent_that_is_away_misses_one_turn(served: GlueServer, start: Start) -> None:
    """However long it tries to come back, within its reconnect window."""
    one_s = replace(SHORT, step_s=1.0)
    with proxy_to(served) as way:

        def leave() -> None:
            way.target = ""
            way.cut()

        def let_back() -> None:
            until(lambda: port.away_s > 2.5 * one_s.step_s, "it was away for several turns' time")
            way.target = served.address

        agent = Late(5, first=leave)
        left = start(connect, agent, way.address, served.token)
        port: Any = seated(served)
        agent.port = port
        agent.seated.set()
        with ThreadPoolExecutor(1) as threads:
            back = threads.submit(let_back)
            late = check(agent, walk(port, one_s))
            back.result(PATIENCE_S)
        assert 5 in late
        assert 6 not in late
        port.close("thank you")
        assert left.result(PATIENCE_S) == "thank you"


def act(agent: RawAgent, seq: int, value: float) -> None:
    row = np.float32(value).tobytes()
    agent.send(pb.AgentReply(seq=seq, actions=pb.Actions(actions=[row])))


def test_an_answer_is_never_taken_for_another_turns(server: GlueServer, dial: Dial) -> None:
    """A peer that answers late, twice, for turns to come, and late again after that."""
    agent = dial()
    heard: list[pb.AgentCall] = []

    def peer() -> None:
        agent.done()
        for turn in range(1, STEPS + 2):
            heard.append(call := agent.hear())
            if turn == STEPS + 1:  # the end: no row
                agent.send(pb.AgentReply(seq=call.seq, actions=pb.Actions(actions=[b""])))
                return
            if turn % 5 == 2:
                continue  # the glue goes on without
            if turn % 5 == 3:
                act(agent, call.seq - 1, -0.5)
                act(agent, call.seq - 1, -0.6)
            act(agent, call.seq + 1, -0.7)
            act(agent, call.seq, turn / 64)
            act(agent, call.seq, -0.8)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(peer)
        # Time for a busy machine: once a turn is given up, what came too early is the next one's.
        outcome = walk(seated(server), replace(SHORT, step_s=1.0))
        done.result(PATIENCE_S)
    played = np.frombuffer(outcome.actions, "<f4").tolist()
    assert all(action in (0.0, turn / 64) for turn, action in enumerate(played, 1))
    assert [played[turn - 1] for turn in (2, 7, 12, 17)] == [0.0] * 4
    flags = [call.turn.step_flags[0] for call in heard[1:STEPS]]
    assert flags == [int(action == 0.0) for action in played[:-1]]
    assert outcome.defaulted == played.count(0.0)


def test_an_agent_that_says_nothing_is_lost_after_eight_turns(
    server: GlueServer, dial: Dial
) -> None:
    agent = dial()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(agent.done)
        glue = EpisodeRunner(
            seated(server),
            corridor_pool(horizon=STEPS),
            timeouts=Timeouts(PATIENCE_S, 0.02, bank_s=0.1, plays_defaults=True),
        )
        glue.init()
        threads.submit(agent.act, np.float32(0.5).tobytes())  # the first turn
        played: list[Outcome] = []
        with raises(AgentTimeout, "8 answers"):
            played.extend(glue.play(in_turn([cell(variant=2)]), Phase.TRAIN))
    assert MOST_OWED == 8


class Leaves(Agent):
    """Breaks its connection in turn 3."""

    def __init__(self, way: TcpProxy) -> None:
        self.turns = 0
        self._way = way

    def turn(self, turn: Turn) -> Any:
        self.turns += 1
        if self.turns == 3:
            self._way.target = ""
            self._way.cut()
        return np.full((len(turn.steps) + len(turn.starts), 1), 0.5)


@pytest.mark.parametrize("may_stop", [False, True])
def test_a_broken_connection_is_waited_for_where_no_default_can_be_played(
    served: GlueServer, start: Start, *, may_stop: bool
) -> None:
    """For longer than the turn's time, as its window is longer."""
    with proxy_to(served) as way, ThreadPoolExecutor(1) as threads:
        agent = Leaves(way)
        left = start(connect, agent, way.address, served.token)
        port: Any = seated(served)
        own = replace(SHORT, step_s=1.0, plays_defaults=False)
        glue = EpisodeRunner(port, corridor_pool(1, horizon=STEPS), timeouts=own)

        def let_back() -> None:
            until(lambda: port.away_s > 1.5 * own.step_s, "it was away for long")
            way.target = served.address

        back = threads.submit(let_back)
        outcomes: list[Outcome] = []

        def play() -> None:
            glue.init()
            outcomes.extend(glue.play(in_turn([cell(variant=2)]), Phase.TRAIN))

        if may_stop:
            assert not interruptible(play)
        else:
            play()
        back.result(PATIENCE_S)
        (outcome,) = outcomes
        assert (outcome.status, outcome.defaulted, agent.turns) == ("ok", 0, STEPS + 1)
        port.close("thank you")
        assert left.result(PATIENCE_S) == "thank you"


def test_who_breaks_the_connection_again_and_again_gains_one_window(start: Start) -> None:
    """An agent could think on while it is away."""
    port = StreamPort(hello(Late(), "flaps"), AgentCodec(2**26), reconnect_window_s=1.0)
    over, is_broken = threading.Event(), threading.Event()
    port.attach(0, line := LocalStream().stream)

    def flap(line: Stream) -> None:
        while not over.wait(0.02):
            port.broke(line)
            is_broken.set()
            over.wait(0.08)
            port.attach(0, line := LocalStream().stream)

    start(flap, line)
    assert is_broken.wait(PATIENCE_S)
    calls = AgentCalls(port, Timeouts(first_step_s=0.5))
    began = time.monotonic()
    try:
        with pytest.raises(AgentTimeout):
            calls.init(corridor_pool().spec)
    finally:
        over.set()
    port.close("that was all")
    assert time.monotonic() - began > 1.0
    assert port.away_s > 0.5
