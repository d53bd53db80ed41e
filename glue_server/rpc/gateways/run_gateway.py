"""The gateway of a hub whose runs have processes of their own.

It checks tokens, and its table alone says who belongs to which run: a peer goes to the oldest run
that lacks its role. Where the runs' ports cannot be reached from outside, it carries their streams
through its own port, as bytes.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from glue_server.processes.interrupts import hurried
from glue_server.rpc.admission import (
    Denied,
    check_version,
    client_of,
    is_same,
    role_of,
    wrong_token,
)
from glue_server.rpc.gateways.run_link import JOIN_S, RunLink, RunProcess
from glue_server.rpc.server import Listener
from glue_server.rpc.server_session import NO_TICKET
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.v1 import lobby_pb2
from reglue.wire.roles import EXPERIMENT, ROLES

_PROMISED_S = 10.0  # how long a place is kept for a peer that has a ticket, until its hello
_EMPTY_S = 20.0  # how long a run may have nobody in it: clients try again every 5 s
_SILENT_S = 30.0  # how long a run that has not begun may leave questions unanswered
_LOOK_S = 5.0  # how often a run is looked at that says nothing new
_LEAST_S = 0.2  # for a run's answer
_ROUTES = 1024  # sessions whose run is known; the oldest are forgotten
_LEAVE_S = 2.5  # how long runs may take to let their peers go

_CLOSES = "the hub closes"
_PROGRAM = EXPERIMENT.name  # never moves to another run: it may have asked for something


class HubProcess(RunProcess, Protocol):
    """A process that plays one run and reports which peers are in it."""

    def news(self, within_s: float) -> Collection[str] | None:
        """The roles that wait in it, or all once it has begun; None: nothing new in time.

        Raises EOFError or OSError when it ends.
        """

    def send_away(self, role: str) -> None:
        """Let the waiting peer of that role join again."""


class Begin(Protocol):
    """Starts runs' processes."""

    def __call__(self) -> HubProcess:
        """The next one, which listens. Raises UsageError."""

    def stop(self) -> None:
        """Begin no more, and end one that does not listen yet."""


@dataclass(slots=True)
class _Place:
    """A place that is kept for a peer."""

    client: str
    until: float = math.inf  # monotonic seconds; inf: the run is asked for a ticket


@dataclass(slots=True, eq=False)
class _Run:
    """A run, and the peers that have its places."""

    used_at: float  # when somebody was in it, or had a place, the last time
    link: Future[RunLink] = field(init=False)
    process: HubProcess | None = None  # there before the link is
    here: Collection[str] = ()  # the roles that it reports
    kept: dict[str, _Place] = field(default_factory=dict)  # by role
    silent_since: float = math.inf  # an unanswered question came then

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return len(self.here) < len(ROLES)

    @property
    def has_ended(self) -> bool:
        return self.link.done() and not (self.process and self.process.is_alive())

    def lacks(self, role: str, now: float) -> bool:
        """Whether it has a place for a peer of that role."""
        kept = self.kept.get(role)
        return role not in self.here and (kept is None or kept.until <= now)

    def is_useless(self, now: float) -> bool:
        """Whether nobody is in it or comes, or it does not answer those who wait for it."""
        is_starting = not self.link.done()
        if is_starting or self.here or any(each.until > now for each in self.kept.values()):
            self.used_at = now
        is_silent = now - self.silent_since >= _SILENT_S
        return now - self.used_at >= _EMPTY_S or (self.waits and is_silent)


class Gateway:
    """Finds a run for each peer; `carry` passes a session's streams on."""

    def __init__(
        self,
        tokens: Mapping[str, str],
        *,
        begin: Begin,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Each role has its token. `begin` starts a run's process, at most `most` at a time."""
        self._tokens = tokens
        self._begin = begin
        self._most = most
        self._clock = clock
        self._runs: list[_Run] = []  # the oldest first
        self._routes: OrderedDict[str, _Run] = OrderedDict()  # by session
        self._lock = threading.Lock()
        self._is_closed = False
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="reglue-begin")

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket of the oldest run that has a place, or of a new one. Raises Denied.

        It answers before a client gives up: one whose run is not ready is to try again. The oldest
        run's place is still there then, so that no run begins because another one is slow.
        """
        check_version(request.major)
        role = role_of(request)
        if role not in self._tokens or not is_same(request.token, self._tokens[role]):
            raise wrong_token(request.token)
        client, until = client_of(request), time.monotonic() + JOIN_S
        while True:
            run = self._keep_place(role, client)
            try:
                ticket = self._ticket(run, request.role, client, until)
            except BaseException:
                self._free(run, role, client)
                raise
            self._promise(run, role, client, ticket)
            if ticket is not None:
                return ticket

    def run_of(self, session: str) -> _Run:
        """The run of that session. Raises Denied."""
        with self._lock:
            run = self._routes.get(session)
            if run is None or run not in self._runs or run.has_ended:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
        return run

    def carry(
        self, method: str, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Pass one stream of a session on to its run. Raises Denied."""
        run = self.run_of(session)
        try:
            stream = run.link.result().open(method, session, messages, context)
            stream.initial_metadata()  # come when the run has admitted the peer
            context.send_initial_metadata(())
            yield from stream
        except grpc.RpcError as error:
            self.run_of(session)  # the peers of a run that has ended must join again
            if context.is_active():
                raise Denied(error.code(), error.details() or "") from error

    def review(self) -> None:
        """End useless runs, and bring the peers of half-filled ones together."""
        now = self._clock()
        with self._lock:
            useless = [run for run in self._runs if run.is_useless(now)]
            self._runs = [run for run in self._runs if run not in useless]
            moves = _moves(self._runs, now)
        _end(useless, within_s=0.0)
        for process, role in moves:
            process.send_away(role)

    def close(self) -> None:
        """End every run, all at once."""
        with self._lock:
            self._is_closed = True
        self._begin.stop()
        self._starter.shutdown(cancel_futures=True)  # `stop` ends what it waits for
        with self._lock:
            runs, self._runs = self._runs, []
        _end(runs, within_s=hurried(_LEAVE_S))

    def _keep_place(self, role: str, client: str) -> _Run:
        """The run that the client has a place in from now on. Raises Denied."""
        now = self._clock()
        with self._lock:
            if self._is_closed:
                raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, _CLOSES)
            runs = [run for run in self._runs if not run.has_ended]
            for run in runs:
                if role in run.kept and run.kept[role].client == client:
                    return run  # it asks again
            lacking = [run for run in runs if run.lacks(role, now)]
            if not lacking and len(runs) >= self._most:
                words = f"{self._most} runs are under way, the most that there may be; "
                raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words + "try again later")
            if not lacking:
                lacking = [_Run(now)]
                self._runs.append(lacking[0])
                lacking[0].link = self._starter.submit(self._start, lacking[0])
            run = min(lacking, key=lambda each: _PROGRAM not in each.here)  # the first of equals
            run.kept[role] = _Place(client)
            return run

    def _start(self, run: _Run) -> RunLink:
        """Start its process. Raises UsageError."""
        try:
            process = self._begin()
        except BaseException:
            with self._lock:
                self._runs.remove(run)
            raise
        run.process, link = process, RunLink(process)
        hear = threading.Thread(target=self._hear, args=(run, process), name="reglue-news")
        hear.daemon = True  # it ends with the process
        hear.start()
        return link

    def _hear(self, run: _Run, process: HubProcess) -> None:
        """Handle the messages of a run, until it ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                here = process.news(_LOOK_S)
                if here is not None:
                    with self._lock:
                        run.here, run.silent_since = here, math.inf
                        for role in here:
                            run.kept.pop(role, None)
                self.review()
        with self._lock:
            is_over = run in self._runs
            self._runs = [each for each in self._runs if each is not run]
        if is_over:
            _end([run], within_s=hurried(_LEAVE_S))

    def _ticket(
        self, run: _Run, role: lobby_pb2.Role, client: str, until: float
    ) -> lobby_pb2.Ticket | None:
        """A ticket of that run; None if its place is taken. Raises Denied, also if it is slow."""
        try:
            link = run.link.result(max(0.0, until - time.monotonic()))
            ticket = link.ask(role, client, max(_LEAST_S, until - time.monotonic()))
        except (UsageError, CancelledError) as error:
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error) or _CLOSES) from error
        except TimeoutError as error:
            if run.link.done():
                run.silent_since = min(run.silent_since, self._clock())
            words = "the run that has a place for you does not answer yet; try again"
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words) from error
        run.silent_since = math.inf
        if ticket is not None:
            ticket.address = link.process.public_address
        return ticket

    def _promise(self, run: _Run, role: str, client: str, ticket: lobby_pb2.Ticket | None) -> None:
        """Keep the place until its holder has had time to say hello.

        Without a ticket, a peer has joined the run and its news has not reached us yet.
        """
        with self._lock:
            if role not in run.here:
                holder = client if ticket is not None else ""
                run.kept[role] = _Place(holder, self._clock() + _PROMISED_S)
            if ticket is not None:
                self._routes[ticket.session] = run
            while len(self._routes) > _ROUTES:
                self._routes.popitem(last=False)

    def _free(self, run: _Run, role: str, client: str) -> None:
        """Keep the place no longer, unless there is a ticket for it."""
        with self._lock:
            if run.kept.get(role) == _Place(client):
                del run.kept[role]


def _moves(runs: Sequence[_Run], now: float) -> list[tuple[HubProcess, str]]:
    """Peers to send to another run, so that a waiting program gets all that it lacks."""
    waiting = [run for run in runs if run.here and run.waits]
    for target in waiting:
        lacking = [role for role in ROLES if role not in target.here]
        others = [run for run in reversed(waiting) if run is not target]
        from_ = {role: run for role in lacking for run in others if role in run.here}
        is_awaited = not all(target.lacks(role, now) for role in lacking)
        if _PROGRAM in lacking or is_awaited or len(from_) < len(lacking):
            continue
        for role, run in from_.items():
            run.here = [each for each in run.here if each != role]
            run.silent_since = min(run.silent_since, now)  # until it says so, too
        return [(run.process, role) for role, run in from_.items() if run.process]
    return []


def _end(runs: Sequence[_Run], *, within_s: float) -> None:
    """End all of them with one deadline."""
    deadline = time.monotonic() + within_s
    begun = [(run, process) for run in runs if (process := run.process)]
    for run, process in begun:
        run.link.result().close()
        process.leave()
    for _, process in begun:
        process.end(max(0.0, deadline - time.monotonic()))


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
        super().__init__(listen, roles=ROLES, tokens=tokens or {}, tls=tls, advertise=advertise)
        self._gateway = Gateway(self.tokens, begin=begin, most=most)
        self._serve(
            lambda request, _: self._gateway.join(request),
            {role.method: _Relay(self._gateway, role.method) for role in ROLES.values()},
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
