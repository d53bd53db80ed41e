"""Once play is to stop, no wait for an agent or an environment goes on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server.agent.agent_calls import AgentCalls, SlotAgent
from glue_server.environment.worker_process import WorkerProcess
from glue_server.episodes.loop import EpisodeLoop, Spent
from glue_server.peers.hosts import ListenOptions, ServedAgent
from glue_server.processes.child import Channel
from glue_server.processes.interrupts import interruptible, stop_play
from glue_server.rpc import GlueServer
from glue_server.rpc.peer_codecs import AgentCodec
from glue_server.rpc.peer_streams import Stream, UnixStream
from glue_server.rpc.stream_port import StreamPort
from reglue import Phase
from reglue.agents.agent import hello
from reglue.messages.agent_messages import Freeze
from reglue.net.unix_socket import UnixSocket
from reglue_bench.engines.ray.ray_players import RayPlayers
from reglue_bench.placement.placed_worker import FROM_ENVIRONMENT, EnvironmentSettings
from reglue_bench.placement.placement import Placement
from tests.glue_server.playing import PATIENT, SOLVED, Follower, cell, in_workers, start
from tests.glue_server.rpc.peers import LocalStream
from tests.waiting import PATIENCE_S, halt

Wait = Callable[[], object]

CORRIDOR = SuiteName("tests.worlds:Corridor", {"solved": SOLVED})


class Silent:
    """A cluster whose processes say nothing."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened

    def begin(self, number: int, **_: Any) -> Channel[Any]:
        ours, theirs = socket.socketpair()
        self._opened.enter_context(theirs)
        return Channel(self._opened.enter_context(ours), FROM_ENVIRONMENT)


def agent_over(stream: Stream) -> Any:
    """An agent that never answers, and may come back."""
    port: Any = StreamPort(
        hello(Follower(), "silent"), AgentCodec(2**26), reconnect_window_s=PATIENCE_S
    )
    port.attach(0, stream)
    port.send(Freeze())
    return port


def for_an_agent_that_joins(opened: ExitStack) -> Wait:
    host = ServedAgent(ListenOptions(timeout_s=PATIENCE_S))
    opened.callback(host.close, "it is over")
    return host.port


def for_an_answer(opened: ExitStack) -> Wait:
    port = agent_over(LocalStream().stream)
    opened.callback(port.close, "it is over")
    return lambda: port.receive(PATIENCE_S)


def for_an_answer_over_a_unix_socket(opened: ExitStack) -> Wait:
    ours, theirs = socket.socketpair()
    opened.enter_context(theirs)
    stream = UnixStream(UnixSocket(ours, 1024), "agent")
    opened.callback(stream.end)
    port = agent_over(stream)
    return lambda: port.receive(PATIENCE_S)


def for_an_agent_that_is_away(opened: ExitStack) -> Wait:
    stream = LocalStream().stream
    port = agent_over(stream)
    port.broke(stream)
    return lambda: port.receive(PATIENCE_S)


def for_workers(opened: ExitStack) -> Wait:
    pool, port = in_workers(CORRIDOR, 1, workers=1)
    opened.callback(pool.close)
    halt(port.processes[0])
    pool.send(start(cell()))
    return pool.receive


def for_a_worker_that_starts(opened: ExitStack) -> Wait:
    worker = WorkerProcess(CORRIDOR, None, timeout_s=PATIENCE_S)
    opened.callback(worker.end, 0.0)
    opened.callback(worker.leave)
    halt(worker.pid)
    worker.init(1)
    return lambda: worker.ready(PATIENCE_S)


def for_an_agent_or_workers(opened: ExitStack) -> Wait:
    pool, port = in_workers(CORRIDOR, 1, workers=1)
    opened.callback(pool.close)
    agent_port = agent_over(LocalStream().stream)
    opened.callback(agent_port.close, "it is over")
    agent = SlotAgent(AgentCalls(agent_port, PATIENT), pool.spec, clips=True)
    loop: Any = EpisodeLoop(agent, pool, Phase.EVALUATE, lambda slot: None, spent=Spent())
    [group] = loop._groups
    group.waits, group.stepping = True, start(cell())
    halt(port.processes[0])
    pool.send(group.stepping)
    return lambda: loop._environment_is_first(group, group)


def for_a_placed_worker(opened: ExitStack) -> Wait:
    players: Any = Silent(opened)
    placement: Any = Placement(
        players,
        EnvironmentSettings({}, "", ""),
        admit=lambda: opened.enter_context(GlueServer(places={"environment": 1})),
        note_machine=print,
        timeout_s=PATIENCE_S,
        connect_timeout_s=PATIENCE_S,
        say=print,
        note_event=print,
    )
    worker = placement._begin(has_core=True)
    return lambda: worker.ready(PATIENCE_S)


def for_a_ray_cluster(opened: ExitStack) -> Wait:
    players: Any = RayPlayers(
        "ray", 1, "nothing", FROM_ENVIRONMENT, folder=Path(), timeout_s=PATIENCE_S, say=print
    )
    cluster = Silent(opened).begin(1)
    return lambda: players._answer(cluster, time.monotonic() + PATIENCE_S)


@pytest.mark.usefixtures("own_stop")
@pytest.mark.parametrize(
    "begin",
    [
        for_an_agent_that_joins,
        for_an_answer,
        for_an_answer_over_a_unix_socket,
        for_an_agent_that_is_away,
        for_workers,
        for_a_worker_that_starts,
        for_an_agent_or_workers,
        for_a_placed_worker,
        pytest.param(for_a_ray_cluster, marks=pytest.mark.ray),
    ],
)
def test_a_wait_ends_once_play_is_to_stop(begin: Callable[[ExitStack], Wait]) -> None:
    with ExitStack() as opened:
        wait = begin(opened)
        stop = threading.Timer(0.3, stop_play)  # most likely while it waits
        opened.callback(stop.join)  # before the test's own way to stop is gone

        def play() -> None:
            stop.start()
            wait()
            pytest.fail("it waited for all of it")

        assert interruptible(play)
