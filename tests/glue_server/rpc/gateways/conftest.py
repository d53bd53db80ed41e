"""Agents that enter at a gateway, from a thread or message by message, and runs for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue import Agent, connect
from reglue.net.grpc_settings import grpc
from tests.glue_server.rpc.conftest import Dial
from tests.glue_server.rpc.memory_entries import TOKEN, OwnRun
from tests.glue_server.rpc.peers import RawAgent

Enter = Callable[..., "Future[str]"]


class Idle(Agent):
    """Plays nothing; counts its inits."""

    inits = 0

    def agent_init(self, spec: Any) -> None:
        self.inits += 1

    def turn(self, turn: Any) -> Any:
        return np.zeros(len(turn.steps) + len(turn.starts))


@pytest.fixture
def run() -> Iterator[Callable[[], OwnRun]]:
    with ExitStack() as servers:

        def run() -> OwnRun:
            server = GlueServer(places={"agent": 1}, reconnect_window_s=20.0, transport="grpc")
            return OwnRun(servers.enter_context(server))

        yield run


@pytest.fixture
def enter(front: AgentGateway) -> Iterator[Enter]:
    """Lets an agent object enter from a thread; what `connect` returns or raises."""
    threads = ThreadPoolExecutor(4, thread_name_prefix="agent")

    def enter(agent: object, name: str = "entry", **more: Any) -> Future[str]:
        where = more.pop("address", front.address)
        return threads.submit(connect, agent, where, TOKEN, name=name, **more)

    yield enter
    for name in ("entry", "other"):
        front.end(name, "the test is over")
    threads.shutdown(wait=True)


@pytest.fixture
def dial(channel: grpc.Channel) -> Iterator[Dial]:
    """Lets an agent called `raw` enter message by message."""
    agents: list[RawAgent] = []

    def dial(**more: Any) -> RawAgent:
        agents.append(RawAgent(channel, TOKEN, **more))
        return agents[-1]

    yield dial
    for agent in agents:
        agent.vanish()


@pytest.fixture
def channel(front: AgentGateway) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(front.address) as channel:
        yield channel
