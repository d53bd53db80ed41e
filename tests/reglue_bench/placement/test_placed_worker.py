"""One worker on another machine: what its channel says while it plays."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from env_adapters import Cell
from glue_server.environment.worker_pool import new_memory
from glue_server.environment.worker_process import WorkerFaults
from glue_server.processes.child import Channel
from glue_server.processes.message_codec import Codec, UnknownMessage, encoded
from glue_server.rpc import GlueServer
from reglue import Phase, connect
from reglue.environments.slot_worlds import Worlds
from reglue.messages.environment_messages import Play
from reglue_bench.engines.shard import Died, Farewell, Machine, Say
from reglue_bench.placement.placed_worker import (
    FROM_ENVIRONMENT,
    EnvironmentSettings,
    FromEnvironment,
    PlacedWorker,
)
from tests.error_facts import raises
from tests.waiting import PATIENCE_S, until
from tests.worlds import Narrow


class Node(Channel[FromEnvironment]):
    """A player of which the test holds the other end."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        super().__init__(ours, FROM_ENVIRONMENT)

    def death(self, within_s: float) -> str:
        return "it is gone"

    def end(self, within_s: float) -> None:
        self.theirs.close()


def placed_worker(
    node: Node, server: GlueServer, say: Callable[[str], None] = lambda _: None
) -> PlacedWorker:
    """A worker on that node."""
    return PlacedWorker(
        node,
        EnvironmentSettings({}, "", ""),
        server,
        wait=lambda worker: until(worker.has_joined, "it has connected"),
        note_machine=lambda machine: None,
        say=say,
        timeout_s=PATIENCE_S,
    )


class Placed:
    """A worker that has connected, and what its node says."""

    def __init__(self, server: GlueServer) -> None:
        self.node = Node()
        self.said: list[str] = []
        self.worker = placed_worker(self.node, server, self.said.append)
        self.worker.init(1)
        self.worker.ready(PATIENCE_S)
        self._memory = new_memory()
        self.worker.share(self._memory)

    def sends(self, message: object) -> None:
        self.node.theirs.sendall(encoded(message))

    def plays(self) -> WorkerFaults:
        cell = Cell("a", 0, seed=1, repeat=0, phase=Phase.EVALUATE)
        self.worker.send(Play(np.zeros(0, np.uint32), {}, {0: cell}))
        return self.worker.receive()

    def steps(self) -> WorkerFaults:
        self.worker.send(Play(np.zeros(1, np.uint32), {}, {}))
        return self.worker.receive()

    def close(self) -> None:
        self.worker.leave()
        self.worker.end(0.0)
        os.close(self._memory)


@pytest.fixture
def placed() -> Iterator[Placed]:
    with (
        ThreadPoolExecutor(1) as threads,
        GlueServer(transport="unix", places={"environment": 1}) as server,
    ):
        corridor = Worlds(Narrow(solved={"a": [0]}))
        threads.submit(connect, corridor, server.address, server.tokens["environment"])
        found = Placed(server)
        yield found
        found.close()


@pytest.mark.parametrize("is_replacement", [False, True])
def test_its_process_is_told_whether_it_replaces_another(is_replacement: bool) -> None:
    node = Node()
    with GlueServer(transport="unix", places={"environment": 1}) as server:
        worker = placed_worker(node, server)
        worker.init(1, is_replacement=is_replacement)
        node.theirs.sendall(encoded(Machine("a node")))
        worker.listen()
        told = Channel(node.theirs, Codec[EnvironmentSettings](EnvironmentSettings)).receive()
        assert told.is_replacement is is_replacement
        worker.leave()
        worker.end(0.0)


@pytest.mark.usefixtures("more_than_1024_descriptors")
def test_it_is_looked_at_beyond_descriptor_1023(placed: Placed) -> None:
    assert placed.node.fileno() > 1023
    assert placed.plays() == WorkerFaults()


def test_words_are_passed_on_and_no_sign_of_death(placed: Placed) -> None:
    placed.sends(Say("hello"))
    placed.sends(Say("I am well"))
    assert placed.plays() == WorkerFaults()
    assert placed.said == ["hello", "I am well"]


def test_its_observations_outside_of_their_bounds_are_counted(placed: Placed) -> None:
    assert placed.plays() == WorkerFaults()
    assert [placed.steps() for _ in range(3)] == [
        WorkerFaults(),
        WorkerFaults(outside=1),
        WorkerFaults(outside=1),
    ]


def test_its_death_is_told_in_its_words(placed: Placed) -> None:
    placed.sends(Say("oh"))
    placed.sends(Died("its node burned down"))
    with pytest.raises(EOFError):
        placed.plays()
    assert placed.worker.death() == "its node burned down"


def test_a_channel_that_closes_is_its_death(placed: Placed) -> None:
    placed.node.theirs.close()
    with pytest.raises(EOFError):
        placed.plays()


def test_a_message_of_no_known_kind_is_an_error(placed: Placed) -> None:
    placed.sends(Farewell("its node burned down"))
    with raises(UnknownMessage, "Farewell", "Machine, Say, Wrong, Died, Unplaced"):
        placed.plays()
