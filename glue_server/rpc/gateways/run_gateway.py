"""The gateway of a hub whose runs have processes of their own.

It checks tokens and sends each peer to a run that has a place. Where the runs' ports
cannot be reached from outside, it carries their streams through its own port, as bytes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from glue_server.processes.interrupts import hurried
from glue_server.rpc.admission import (
    Denied,
    check_version,
    is_same,
    role_of,
    wrong_token,
)
from glue_server.rpc.gateways.run_link import RunLink, RunProcess
from glue_server.rpc.roles import SERVICES
from glue_server.rpc.server import Listener
from glue_server.rpc.server_session import NO_TICKET
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.v1 import lobby_pb2

_PROMISED_S = 10.0  # how long a place is kept for a peer that has a ticket, until its hello
_ROUTES = 1024  # sessions whose run is known; the oldest are forgotten
_LEAVE_S = 2.5  # how long runs may take to let their peers go


class Begin(Protocol):
    """Starts runs' processes."""

    def __call__(self) -> RunProcess:
        """The next one, which listens. Raises UsageError."""

    def stop(self) -> None:
        """Begin no more, and end one that does not listen yet."""


@dataclass(slots=True)
class _Run:
    link: RunLink
    promised: dict[str, float] = field(default_factory=dict)  # role -> until when

    @property
    def process(self) -> RunProcess:
        return self.link.process

    def leave(self) -> None:
        self.link.close()
        self.process.leave()


class Gateway:
    """Finds a run for each peer; `carry` passes a session's streams on."""

    def __init__(self, tokens: Mapping[str, str], *, begin: Begin, most: int) -> None:
        """Each role has its token. `begin` starts a run's process, at most `most` at a time."""
        self._tokens = tokens
        self._begin = begin
        self._most = most
        self._runs: list[_Run] = []
        self._routes: OrderedDict[str, _Run] = OrderedDict()  # by session
        self._lock = threading.Lock()
        self._beginning = threading.Lock()

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket of the first run that has a place, or of a new one. Raises Denied."""
        check_version(request.major)
        role = role_of(request)
        if role not in self._tokens or not is_same(request.token, self._tokens[role]):
            raise wrong_token(request.token)
        if (ticket := self._of_a_run(role, request)) is not None:
            return ticket
        with self._beginning:  # one at a time: there may be a place by now
            return self._of_a_run(role, request) or self._of_a_new_run(role, request)

    def run_of(self, session: str) -> _Run:
        """The run of that session. Raises Denied."""
        with self._lock:
            run = self._routes.get(session)
        if run is None or not run.process.is_alive():
            raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
        return run

    def carry(
        self, method: str, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Pass one stream of a session on to its run. Raises Denied."""
        run = self.run_of(session)
        try:
            stream = run.link.open(method, session, messages, context)
            stream.initial_metadata()  # come when the run has admitted the peer
            context.send_initial_metadata(())
            yield from stream
        except grpc.RpcError as error:
            if not run.process.is_alive():  # its peers must join again
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET) from error
            if context.is_active():
                raise Denied(error.code(), error.details() or "") from error

    def close(self) -> None:
        """End every run, all at once."""
        self._begin.stop()
        with self._lock:
            runs, self._runs = self._runs, []
        _end(runs, within_s=hurried(_LEAVE_S))

    def _of_a_run(self, role: str, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket | None:
        """A ticket of the first run that has a place."""
        with self._lock:
            self._remove_ended()
            runs = [run for run in self._runs if run.promised.get(role, 0.0) <= time.monotonic()]
        for run in runs:
            if ticket := self._ticket(run, role, request):
                return ticket
        return None

    def _of_a_new_run(self, role: str, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        if len(self._runs) >= self._most:
            words = f"{self._most} runs are under way, the most that there may be; try again later"
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        try:
            process = self._begin()
        except UsageError as error:
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)) from error
        run = _Run(RunLink(process))
        with self._lock:
            self._runs.append(run)
        ticket = self._ticket(run, role, request)
        if ticket is None:
            raise Denied(grpc.StatusCode.INTERNAL, "a run began and admitted no peer")
        return ticket

    def _ticket(
        self, run: _Run, role: str, request: lobby_pb2.JoinRequest
    ) -> lobby_pb2.Ticket | None:
        """A ticket of that run; the place is kept until its holder has had time to say hello."""
        ticket = run.link.ask(request)
        if ticket is None:
            return None
        with self._lock:
            run.promised[role] = time.monotonic() + _PROMISED_S
            self._routes[ticket.session] = run
            while len(self._routes) > _ROUTES:
                self._routes.popitem(last=False)
        ticket.address = run.process.public_address
        return ticket

    def _remove_ended(self) -> None:
        """Remove the runs whose process has ended."""
        gone = [run for run in self._runs if not run.process.is_alive()]
        for run in gone:
            self._runs.remove(run)
        _end(gone, within_s=0.0)


def _end(runs: Sequence[_Run], *, within_s: float) -> None:
    """End all of them with one deadline."""
    deadline = time.monotonic() + within_s
    for run in runs:
        run.leave()
    for run in runs:
        run.process.end(max(0.0, deadline - time.monotonic()))


class GatewayServer(Listener):
    """Sends peers on to runs; as of a Listener."""

    def __init__(
        self,
        listen: str,
        *,
        tokens: Mapping[str, str] | None = None,
        tls: ServerTls | None = None,
        advertise: str = "",
        begin: Begin,
        most: int,
    ) -> None:
        """`begin` starts a run's process; there are at most `most` at a time."""
        super().__init__(listen, roles=SERVICES, tokens=tokens or {}, tls=tls, advertise=advertise)
        self._gateway = Gateway(self.tokens, begin=begin, most=most)
        self._serve(
            lambda request, _: self._gateway.join(request),
            {
                service.method: _Relay(self._gateway, service.method)
                for service in SERVICES.values()
            },
        )

    def close(self) -> None:
        """End the runs, which let their peers go, then stop."""
        self._gateway.close()
        super().close()


class _Relay:
    """Carries one role's streams as bytes."""

    def __init__(self, gateway: Gateway, method: str) -> None:
        self._gateway = gateway
        self._method = method

    def check(self, session: str) -> None:
        """Raise Denied for a session of no run."""
        self._gateway.run_of(session)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Through its run. Raises Denied."""
        return self._gateway.carry(self._method, session, messages, context)
