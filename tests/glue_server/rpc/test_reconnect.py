"""Connections break; every call is carried out once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.processes import standstill
from glue_server.processes.event_loop import EventLoop
from glue_server.rpc import GlueServer, server_session, stream_port
from glue_server.rpc.peer_codecs import AgentCodec
from glue_server.rpc.stream_port import StreamPort
from reglue import Agent, Experiment, Phase, Turn, connect
from reglue.environments.slot_worlds import Worlds
from reglue.errors import AgentDisconnected, SessionLost, WrongToken
from reglue.messages.agent_messages import AgentInit, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
    Cell,
    EnvironmentInit,
    EnvironmentReady,
    Play,
    Played,
)
from reglue.net.join_string import Transport
from reglue.wire.agent_encoding import encode_reply
from tests.error_facts import raises
from tests.glue_server.playing import SOLVED, corridor_pool
from tests.glue_server.rpc.peers import PATIENCE_S, LocalStream, seated
from tests.glue_server.rpc.proxies import cut_off, proxy_to, redirect
from tests.leftovers import nothing_left
from tests.waiting import until
from tests.worlds import Corridor

pytestmark = pytest.mark.slow

SPEC = corridor_pool().spec
PLACES = {"agent": 1, "environment": 1}
Play_ = Callable[..., "Future[str]"]


class Counting(Agent):
    """Answers the n-th message by n and by what it was told: a call played twice would show."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def turn(self, turn: Turn) -> Any:
        return self.spec.actions[0].empty(len(turn.steps) + len(turn.starts))

    def agent_message(self, message: str) -> str:
        self.heard.append(message)
        return f"{len(self.heard)}: {message}"


@pytest.fixture
def start() -> Iterator[Play_]:
    with nothing_left():
        threads = ThreadPoolExecutor(1, thread_name_prefix="peer")
        yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
        threads.shutdown()


@pytest.fixture
def server(start: Play_, transport: Transport) -> Iterator[GlueServer]:
    with GlueServer(reconnect_window_s=PATIENCE_S, transport=transport, places=PLACES) as server:
        yield server


@pytest.fixture
def way(server: GlueServer) -> Iterator[TcpProxy]:
    with proxy_to(server) as way:
        yield way


@pytest.mark.parametrize("window", [1, 2, 8])
def test_calls_through_cuts_are_each_carried_out_once_and_in_their_order(
    server: GlueServer,
    way: TcpProxy,
    start: Play_,
    window: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With up to `window` calls under way, cut before a call and before its answer."""
    caplog.set_level(logging.ERROR, "reglue")
    agent = Counting()
    left = start(agent, way.address, server.tokens["agent"])
    port = seated(server)
    for call in range(400 + window - 1):
        if call % 10 == 5:
            way.cut()
        if call < 400:
            port.send(TextMessage(str(call)))
        if call % 20 == 15:
            way.cut()
        if (answered := call - window + 1) >= 0:
            assert port.receive(PATIENCE_S) == TextMessage(f"{answered + 1}: {answered}")
    port.close("thank you")
    assert left.result(PATIENCE_S) == "thank you"
    assert way.cuts >= 40
    assert agent.heard == [str(call) for call in range(400)]


def test_an_environment_comes_back_too_and_steps_once(server: GlueServer, start: Play_) -> None:
    with proxy_to(server, "environment") as way:
        _play_through_cuts(server, way, start)


def _play_through_cuts(server: GlueServer, way: TcpProxy, start: Play_) -> None:
    left = start(
        Worlds(Corridor(solved=SOLVED, horizon=500)), way.address, server.tokens["environment"]
    )
    port = server.next("environment", PATIENCE_S)
    assert port is not None
    port.send(EnvironmentInit(1))
    assert isinstance(port.receive(PATIENCE_S), EnvironmentReady)
    begin = Play(np.zeros(0, np.uint32), {}, {0: Cell("walk", 2, 7, 0, Phase.TRAIN)})
    port.send(begin)
    port.receive(PATIENCE_S)
    go_on = Play(np.zeros(1, np.uint32), {"action": np.ones((1, 1), np.float32)}, {})
    for step in range(200):
        port.send(go_on)
        if step % 20 == 10:
            way.cut()
        played = port.receive(PATIENCE_S)
        assert isinstance(played, Played)
        assert played.observations["observation"].tolist() == [[step + 1, step + 1]]
    port.close("enough")
    assert left.result(PATIENCE_S) == "enough"
    assert way.cuts >= 5


def test_a_task_that_waits_for_its_peer_goes_on_when_that_is_back(
    server: GlueServer, way: TcpProxy, start: Play_
) -> None:
    """Runs of a hub are tasks of one thread."""
    left = start(Counting(), way.address, server.tokens["agent"])
    port: Any = seated(server)
    heard: Future[Any] = Future()

    def ask() -> None:
        port.send(TextMessage("hello"))
        heard.set_result(port.receive(10 * PATIENCE_S))

    loop = EventLoop("tasks")
    with cut_off(way):
        task = loop.begin(ask)
        until(lambda: port._task is not None, "it waits without a stream")
    task.join(PATIENCE_S)
    assert not task.is_alive
    assert heard.result(0) == TextMessage("1: hello")
    loop.close(PATIENCE_S)
    port.close("bye")
    assert left.result(PATIENCE_S) == "bye"


def test_who_does_not_come_back_in_time_is_lost(start: Play_, transport: Transport) -> None:
    with GlueServer(reconnect_window_s=0.3, transport=transport) as server, proxy_to(server) as way:
        left = start(Counting(), way.address, server.tokens["agent"])
        port = seated(server)
        port.send(AgentInit(SPEC))
        assert port.receive(PATIENCE_S) == RoutineDone()
        way.close()
        port.send(TextMessage("still there?"))
        with pytest.raises(AgentDisconnected):
            port.receive(PATIENCE_S)
        with pytest.raises(AgentDisconnected):
            port.send(TextMessage("really?"))
        with pytest.raises(SessionLost):
            left.result(PATIENCE_S)


def test_a_peer_looks_for_its_glue_for_as_long_as_the_glue_says(
    start: Play_, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connect timeout is for joining: a server's outage is longer than that."""
    asked: Any = {"reconnect_window_s": 3600.0, "transport": transport}
    with GlueServer(**asked) as server, proxy_to(server) as way:
        left = start(Counting(), way.address, server.tokens["agent"], connect_timeout_s=5.0)
        port = seated(server)
        way.cut()
        port.send(TextMessage("hello"))
        assert port.receive(PATIENCE_S) == TextMessage("1: hello")
        port.close("bye")
        assert left.result(PATIENCE_S) == "bye"
    lost = next(each for each in caplog.records if each.msg.startswith("lost the connection"))
    assert isinstance(lost.args, tuple)
    assert lost.args[0] == 3600.0


def test_a_peer_whose_glue_does_not_come_back_leaves_after_the_reconnect_window(
    start: Play_, transport: Transport
) -> None:
    with GlueServer(reconnect_window_s=1.0, transport=transport) as server, proxy_to(server) as way:
        left = start(Counting(), way.address, server.tokens["agent"], connect_timeout_s=3600.0)
        seated(server)
        way.close()
        with raises(SessionLost, "same name", "new address", "join string"):
            left.result(PATIENCE_S)


def test_a_program_whose_glue_does_not_come_back_leaves_after_the_reconnect_window(
    start: Play_, transport: Transport
) -> None:
    asked: Any = {"reconnect_window_s": 1.0, "transport": transport, "places": {"experiment": 1}}
    with GlueServer(**asked) as server, proxy_to(server, "experiment") as way:
        program = Experiment(way.address, server.tokens["experiment"], connect_timeout_s=3600.0)
        with ThreadPoolExecutor(1) as threads:
            said = threads.submit(program.agent_message, "hello")
            assert server.next("experiment", PATIENCE_S) is not None
            way.close()
            with pytest.raises(SessionLost):
                said.result(PATIENCE_S)


def test_who_joins_anew_with_a_token_that_is_no_longer_right_is_told(
    start: Play_, transport: Transport
) -> None:
    asked: Any = {"reconnect_window_s": PATIENCE_S, "transport": transport}
    with GlueServer(token="t", **asked) as first, proxy_to(first) as way:
        left = start(Counting(), way.address, "t")
        seated(first)
        with GlueServer(token="u", **asked) as second:
            redirect(way, second)
            way.cut()
            with pytest.raises(WrongToken):
                left.result(PATIENCE_S)


@pytest.mark.parametrize(
    ("is_up", "error"), [(True, WrongToken), (False, SessionLost)], ids=["forgotten", "gone"]
)
def test_who_gets_tickets_and_no_stream_gives_up_after_the_connect_timeout(
    start: Play_, is_up: bool, error: type[Exception]
) -> None:
    """The tickets lead to a glue that does not know them, or to none."""
    asked: Any = {"reconnect_window_s": 0.5, "transport": "grpc"}
    with GlueServer(**asked) as server, GlueServer(**asked) as other:
        places = server._lobby._places["agent"]
        places.terms = replace(places.terms, address=other.address)
        if not is_up:
            other.close()
        left = start(Counting(), server.address, server.tokens["agent"], connect_timeout_s=2.0)
        with pytest.raises(error):
            left.result(PATIENCE_S)


def test_a_peer_whose_process_has_ended_is_waited_for_no_more() -> None:
    port, line = StreamPort(None, AgentCodec(2**20), reconnect_window_s=1e6), LocalStream()
    port.attach(0, line.stream)
    port.give_up()
    assert not port.is_gone
    port.broke(line.stream)
    assert port.is_gone


def test_time_in_which_the_glue_did_not_run_is_not_the_peers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after SIGSTOP: a wait lasts a minute, and then the peer comes back."""
    now_s, another = 0.0, LocalStream()
    for module in (standstill, server_session, stream_port):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s))
    port, line = StreamPort(None, AgentCodec(2**20), reconnect_window_s=5.0), LocalStream()
    port.attach(0, line.stream)
    port.send(TextMessage("one"))
    port.broke(line.stream)
    waits = 0

    def wait(seconds: float) -> bool:
        nonlocal now_s, waits
        waits += 1
        now_s += 60.0 if waits == 1 else seconds
        if waits == 3:
            assert port.attach(0, another.stream) is None
            another.say(encode_reply(1, RoutineDone(), None))
        return waits == 3

    monkeypatch.setattr(port._changed, "wait", wait)
    assert port.receive(3600.0) == RoutineDone()
    port.close("bye")


def test_an_answer_that_comes_twice_is_taken_once() -> None:
    """Also the memory of the glue is not filled by answers that nobody waits for."""
    port, line = StreamPort(None, AgentCodec(2**20)), LocalStream()
    port.attach(0, line.stream)
    port.send(TextMessage("one"))
    line.say(encode_reply(1, RoutineDone(), None))
    assert port.receive(PATIENCE_S) == RoutineDone()
    for seq in (0, 1, 1, 7):
        line.say(encode_reply(seq, RoutineDone(), None))
    port.send(TextMessage("two"))
    line.say(encode_reply(2, RoutineDone(), None))
    until(lambda: port.is_gone or bool(port._looked), "the answers were looked at")
    assert len(port._looked) == 1
    assert port.receive(PATIENCE_S) == RoutineDone()
    assert not port.is_gone
    port.close("bye")
