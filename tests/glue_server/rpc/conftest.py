"""A real server on loopback, and peers that dial in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue import connect
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import Transport
from tests.glue_server.rpc.memory_entries import KnownEntries, gateway
from tests.glue_server.rpc.peers import RAW_AGENTS, RawAgent
from tests.glue_server.rpc.proxies import TRANSPORTS

Join = Callable[..., "Future[str]"]
Dial = Callable[..., RawAgent]


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def channel(server: GlueServer) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.address) as channel:
        yield channel


@pytest.fixture
def join(server: GlueServer) -> Iterator[Join]:
    """Connects an agent object from a thread; what `connect` returns or raises."""
    threads = ThreadPoolExecutor(4, thread_name_prefix="agent")

    def join(agent: object, **more: Any) -> Future[str]:
        return threads.submit(connect, agent, server.address, server.token, **more)

    yield join
    threads.shutdown(wait=False, cancel_futures=True)  # the server's end lets them go


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each rule of sessions holds over each."""
    asked: Transport = request.param
    return asked


@pytest.fixture
def dial(server: GlueServer, channel: grpc.Channel, transport: Transport) -> Iterator[Dial]:
    """Joins message by message."""
    agents: list[RawAgent] = []

    def dial(**more: Any) -> RawAgent:
        agents.append(RAW_AGENTS[transport](channel, server.token, **more))
        return agents[-1]

    yield dial
    for agent in agents:
        agent.vanish()


@pytest.fixture
def entries() -> KnownEntries:
    return KnownEntries()


@pytest.fixture
def front(entries: KnownEntries) -> Iterator[AgentGateway]:
    with gateway(entries) as front:
        yield front


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose name leaves room for a socket's, whatever the temporary folder is."""
    with TemporaryDirectory(prefix="reglue-", dir="/tmp") as folder:
        yield Path(folder)
