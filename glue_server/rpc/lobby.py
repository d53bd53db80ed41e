"""Who is let in: tickets, and the one place for an agent."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from queue import Empty, SimpleQueue

from glue_server.rpc.stream_port import StreamPort
from reglue.calls import Hello
from reglue.grpc_settings import grpc
from reglue.session import hello_proof
from reglue.v1 import agent_pb2, lobby_pb2, lobby_pb2_grpc
from reglue.version import PROTOCOL_MAJOR

_TICKETS = 256  # handed out and not used; the oldest are forgotten

BUSY = "this run has its agent already; wait until it is over, or start a run of your own"

NO_TICKET = "no such ticket: join again"


class Denied(Exception):
    """Why somebody is not let in: a status code and words for people."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


class Lobby:
    """Hands out tickets, checks hellos, and gives the place to the first who holds both."""

    def __init__(self, token: str, max_message_bytes: int) -> None:
        self._token = token
        self._max_message_bytes = max_message_bytes
        self._tickets: OrderedDict[str, bytes] = OrderedDict()  # session -> secret
        self._seated: StreamPort | None = None
        self._arrivals: SimpleQueue[StreamPort] = SimpleQueue()
        self._lock = threading.Lock()

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket for whoever may come in. Raises Denied."""
        check_version(request.major)
        if not hmac.compare_digest(request.token.encode(), self._token.encode()):
            raise Denied(
                grpc.StatusCode.UNAUTHENTICATED,
                "wrong token: use the one that the host printed (--token or REGLUE_TOKEN)",
            )
        if request.role != lobby_pb2.ROLE_AGENT:
            raise Denied(
                grpc.StatusCode.INVALID_ARGUMENT, f"role {request.role}: only agents join this run"
            )
        with self._lock:
            if self._seated is not None:
                raise Denied(grpc.StatusCode.ALREADY_EXISTS, BUSY)
            session, secret = secrets.token_urlsafe(12), secrets.token_bytes(32)
            self._tickets[session] = secret
            while len(self._tickets) > _TICKETS:
                self._tickets.popitem(last=False)
        return lobby_pb2.Ticket(
            session=session, secret=secret, max_message_bytes=self._max_message_bytes
        )

    def check_ticket(self, session: str) -> None:
        """Raise Denied for a stream whose ticket was never handed out, or is used up."""
        with self._lock:
            if session not in self._tickets:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)

    def seat(self, session: str, hello: agent_pb2.Hello) -> StreamPort:
        """Give the place to the holder of a ticket. Raises Denied."""
        check_version(hello.major)
        with self._lock:
            secret = self._tickets.get(session)
            if secret is None or hello.session != session:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            proof = hello_proof(secret, session, hello.answered)
            if not hmac.compare_digest(hello.proof, proof):
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, "the ticket is somebody else's")
            if self._seated is not None:
                raise Denied(grpc.StatusCode.ALREADY_EXISTS, BUSY)
            del self._tickets[session]
            self._seated = StreamPort(_hello(hello), self._max_message_bytes)
        self._arrivals.put(self._seated)
        return self._seated

    def agent(self, timeout_s: float) -> StreamPort | None:
        """Whoever has taken the place, once; None if nobody has within `timeout_s`."""
        try:
            return self._arrivals.get(timeout=timeout_s)
        except Empty:
            return None

    def close(self) -> None:
        """End the seated agent's stream, if its driver has not."""
        if self._seated is not None:
            self._seated.broke()


def check_version(major: int) -> None:
    """Raise Denied for another major version of the protocol."""
    if major != PROTOCOL_MAJOR:
        raise Denied(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"got protocol version {major}, wanted {PROTOCOL_MAJOR}: "
            "use a client of this glue's version",
        )


class LobbyServicer(lobby_pb2_grpc.LobbyServiceServicer):
    """LobbyService."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    def Join(
        self, request: lobby_pb2.JoinRequest, context: grpc.ServicerContext
    ) -> lobby_pb2.Ticket:
        """A ticket, or the reason why not."""
        try:
            return self._lobby.join(request)
        except Denied as denied:
            context.abort(denied.code, denied.why)


def _hello(message: agent_pb2.Hello) -> Hello:
    return Hello(
        agent=message.agent[:200],
        sdk=message.sdk[:200],
        max_slots=message.max_slots,
        partial_turns=message.partial_turns,
        adapts=message.adapts,
        episodic=message.episodic,
    )
