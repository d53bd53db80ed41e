"""Once play is to stop, no wait for an agent or an environment goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server.peers.hosts import ListenOptions, ServedAgent
from glue_server.processes.interrupts import interruptible, stop_play
from glue_server.rpc.connection import GrpcConnection
from glue_server.rpc.stream_port import AgentCodec, StreamPort
from reglue.agents.agent import hello
from reglue.messages.agent import Freeze
from tests.glue_server.playing import SOLVED, Follower, cell, in_workers, start
from tests.waiting import PATIENCE_S, halt

Wait = Callable[[], object]


def for_an_agent_that_joins(opened: ExitStack) -> Wait:
    host = ServedAgent(ListenOptions(timeout_s=PATIENCE_S))
    opened.callback(host.close, "it is over")
    return host.port


def for_an_answer(opened: ExitStack) -> Wait:
    port: Any = StreamPort(hello(Follower(), "silent"), AgentCodec(2**26))
    port.attach(0, GrpcConnection())
    port.send(Freeze())
    return lambda: port.receive(PATIENCE_S)


def for_workers(opened: ExitStack) -> Wait:
    pool, port = in_workers(SuiteName("tests.worlds:Corridor", {"solved": SOLVED}), 1, workers=1)
    opened.callback(pool.close)
    halt(port.processes[0])
    pool.send(start(cell()))
    return pool.receive


@pytest.mark.usefixtures("own_stop")
@pytest.mark.parametrize("begin", [for_an_agent_that_joins, for_an_answer, for_workers])
def test_a_wait_ends_once_play_is_to_stop(begin: Callable[[ExitStack], Wait]) -> None:
    def play() -> None:
        stop_play()
        wait()
        pytest.fail("it waited for all of it")

    with ExitStack() as opened:
        wait = begin(opened)
        assert interruptible(play)
