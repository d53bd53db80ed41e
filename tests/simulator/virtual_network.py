"""The network of a simulated run: calls between processes, of which messages are late or break.

As over TCP, what one end sends arrives in its order, and each end of a call that breaks hears of it
by itself.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import grpc

from tests.simulator.scheduler import Process
from tests.simulator.virtual_threads import scheduler
from tests.simulator.wrong_answers import sent

Metadata = Sequence[tuple[str, str | bytes]]

_NEAR_S = (0.0002, 0.002)  # how long a message takes, from … to …
_LATE = 0.02  # the share of messages that are late, and
_LATE_S = 0.7  # by how much at most
CANCELLED = grpc.StatusCode.CANCELLED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
_FIRST_PORT = 40_000


class Serves(Protocol):
    """A server."""

    process: Process

    def serve(self, call: Call) -> None:
        """Carry out a call that has reached it."""


class Network:
    """Servers by their addresses, and the calls that are under way."""

    def __init__(self) -> None:
        self.servers: dict[str, Serves] = {}
        self.calls: list[Call] = []
        self._run = scheduler()
        self.refuses_until = -math.inf  # new connections
        self.garbles = False  # the next message of a session to its server is broken
        self.errs: dict[Process, str] = {}  # how answers of a process are wrong: see wrong_answers
        self._port = _FIRST_PORT
        self._known: set[Process] = set()  # whose calls break when they end

    def delay_s(self) -> float:
        """How long the next message takes."""
        late_s = self._run.rng.uniform(0, _LATE_S) if self._run.rng.random() < _LATE else 0.0
        return self._run.rng.uniform(*_NEAR_S) + late_s

    def bind(self, address: str, server: Serves) -> int:
        """The port of a server; 0 if it is taken."""
        host, _, port = address.rpartition(":")
        if port == "0":
            self._port += 1
            port = str(self._port)
        if f"{host}:{port}" in self.servers:
            return 0
        self.servers[f"{host}:{port}"] = server
        return int(port)

    def at(self, address: str) -> Serves | None:
        """The server that answers there now."""
        found = self.servers.get(address)
        is_open = self._run.now >= self.refuses_until
        return found if found and found.process.is_alive and is_open else None

    def carried(self, message: bytes) -> bytes:
        """A message of a session, as it reaches its server."""
        if not self.garbles:
            return message
        self.garbles = False
        self._run.disturbed.append((self._run.now, "garble"))
        self._run.say("a message is garbled")
        return b"\xff"

    def answered(self, call: Call, message: bytes) -> list[bytes]:
        """The messages of a session that are sent in the place of one."""
        how = self.errs.get(call.client)
        return [message] if how is None else sent(message, how)

    def take_in(self, process: Process) -> None:
        """From now on break its calls when it ends."""
        if process not in self._known:
            self._known.add(process)
            process.at_end.append(lambda: self._cut_all(process))

    def cut(self, call: Call, why: str = "the connection broke") -> None:
        """Break a call: both ends hear of it soon."""
        for tell in (call.end_at_server, lambda: call.end_at_client(UNAVAILABLE, why)):
            self._run.after(self.delay_s(), tell)

    def _cut_all(self, process: Process) -> None:
        """Break the calls of a process that has ended; its ports are free."""
        self.servers = {
            address: each for address, each in self.servers.items() if each.process is not process
        }
        for call in self.calls:
            if process in (call.client, call.server.process):
                self.cut(call)


def network() -> Network:
    """That of the run that is simulated now."""
    return scheduler().own(Network)


def here() -> Process:
    """The present process, whose calls break when it ends."""
    now = scheduler()
    assert now.current is not None, "a thread calls"
    network().take_in(now.current.process)
    return now.current.process


class _Queue:
    """Messages that have arrived at one end; None: there are no more."""

    def __init__(self) -> None:
        self.messages: deque[bytes] = deque()
        self.has_end = False
        self._arrives_at = 0.0  # the last one on its way

    def put(self, message: bytes | None) -> None:
        """It arrives behind those that are on their way."""
        self.then(lambda: self._arrive(message))

    def then(self, event: Callable[[], object]) -> None:
        """Let something happen behind the messages that are on their way."""
        now = scheduler()
        self._arrives_at = max(self._arrives_at, now.now + network().delay_s())
        now.after(self._arrives_at - now.now, event)

    def _arrive(self, message: bytes | None) -> None:
        if message is None:
            self.has_end = True
        else:
            self.messages.append(message)


class CallError(grpc.RpcError):
    """The error of a call, as its client gets it."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        """The status."""
        return self._code

    def details(self) -> str:
        """Why."""
        return self._details


class Call:
    """One call, of which each end knows only what has reached it."""

    def __init__(self, client: Process, server: Serves, method: str, metadata: Metadata) -> None:
        self.client, self.server = client, server
        self.method, self.metadata = method, metadata
        self.to_server, self.to_client = _Queue(), _Queue()
        self.headers: Metadata | None = None  # as they reached the client
        self.status: tuple[grpc.StatusCode, str] | None = None  # the client's
        self.is_over_at_server = False
        self.at_client_end: list[Callable[[], object]] = []
        self.at_server_end: list[Callable[[], object]] = []

    def end_at_client(self, code: grpc.StatusCode, details: str) -> None:
        """The client knows how it ended."""
        if self.status is None:
            self.status = code, details
            self._call_back(self.at_client_end, self.client)

    def end_at_server(self) -> None:
        """The server knows that it has ended."""
        if not self.is_over_at_server:
            self.is_over_at_server = True
            self._call_back(self.at_server_end, self.server.process)

    def cancel(self) -> None:
        """By its client."""
        self.end_at_client(CANCELLED, "Locally cancelled by application!")
        self.to_server.then(self.end_at_server)

    def answer_headers(self, metadata: Metadata) -> None:
        """Send them, once."""

        def arrive() -> None:
            if self.headers is None:
                self.headers = metadata

        self.to_client.then(arrive)

    def finish(self, code: grpc.StatusCode, details: str) -> None:
        """By its server: the status comes behind what it has sent."""
        if not self.is_over_at_server:
            self.to_client.then(lambda: self.end_at_client(code, details))
            self.end_at_server()

    def _call_back(self, callbacks: list[Callable[[], object]], process: Process) -> None:
        for each in callbacks:
            scheduler().start(each, process)
        if self.status is not None and self.is_over_at_server:
            calls = network().calls
            if self in calls:
                calls.remove(self)
