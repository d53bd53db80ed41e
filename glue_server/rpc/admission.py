"""Who is let in: tokens, tickets and places."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from glue_server.rpc.connection import Connection
from glue_server.rpc.session import NO_TICKET, PeerSession
from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import hello_proof, unix_socket_proof
from reglue.v1 import lobby_pb2
from reglue.version import PROTOCOL_MAJOR


class Denied(Exception):
    """A status code, and words for people."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


def check_version(major: int) -> None:
    """Raise Denied for another major version of the protocol."""
    if major != PROTOCOL_MAJOR:
        raise Denied(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"got protocol version {major}, wanted {PROTOCOL_MAJOR}: "
            "use a client of this glue's version",
        )


_TICKETS = 256  # of a role, handed out, and not in use now; the oldest are forgotten

JOIN = f"/{lobby_pb2.DESCRIPTOR.services_by_name['LobbyService'].full_name}/Join"

ROLES: Mapping[int, str] = {
    lobby_pb2.ROLE_AGENT: "agent",
    lobby_pb2.ROLE_ENVIRONMENT: "environment",
    lobby_pb2.ROLE_EXPERIMENT: "experiment",
}


class Greeting(Protocol):
    """What the hellos of all roles have."""

    major: int
    session: str
    proof: bytes
    answered: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What every ticket says."""

    max_message_bytes: int
    reconnect_window_s: float = 0.0  # how long a broken stream may take to come back
    address: str = ""  # where to open the stream; empty: where one joined
    tls_name: str = ""  # the name in the server's certificate
    unix_socket_path: str = ""  # of a Unix socket; empty: there is none


@dataclass(slots=True)
class _Ticket:
    role: str
    secret: bytes
    seat: PeerSession | None = None


class Places:
    """The places of one role: how many there are, and who has come."""

    def __init__(
        self, count: int, token: str, terms: Terms, make_seat: Callable[[Any], PeerSession]
    ) -> None:
        """`make_seat` makes a seat from the hello of whoever takes a place by `token`."""
        self.count = count
        self.token = token
        self.terms = terms
        self.make_seat = make_seat
        self.taken: list[PeerSession] = []
        self.arrivals: deque[PeerSession] = deque()  # taken, and nobody has asked for them yet


class Lobby:
    """Hands out tickets, checks hellos, and gives places to those who hold both."""

    def __init__(self, places: Mapping[str, Places]) -> None:
        self._places = places
        self._tickets: OrderedDict[str, _Ticket] = OrderedDict()  # by session
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._shut = ""  # why nobody comes in any more

    @property
    def tokens(self) -> Mapping[str, str]:
        """What opens each role."""
        return {role: places.token for role, places in self._places.items()}

    def is_opened(self, role: str, token: str) -> bool:
        """Whether `token` opens that role; any of a lobby's does to be told its roles."""
        tokens = self.tokens
        wanted = [tokens[role]] if role in tokens else tokens.values()
        return sum(is_same(token, each) for each in wanted) > 0  # each is looked at

    def knows(self, session: str) -> bool:
        """Whether its ticket was handed out here, and is remembered."""
        with self._lock:
            return session in self._tickets

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket for whoever may come in. Raises Denied."""
        check_version(request.major)
        role = role_of(request)
        if not self.is_opened(role, request.token):
            raise wrong_token(request.token)
        if role not in self._places:
            got = f"an {role}" if role in ROLES.values() else role
            wanted = " or ".join(f"an {each}" for each in self._places)
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, f"got {got}, wanted {wanted}")
        self._clear(self._places[role])
        with self._lock:
            self._check_free(role)
            session, secret = secrets.token_urlsafe(12), secrets.token_bytes(32)
            self._tickets[session] = _Ticket(role, secret)
            self._forget(role)
        terms = self._places[role].terms
        return lobby_pb2.Ticket(
            session=session,
            secret=secret,
            max_message_bytes=terms.max_message_bytes,
            reconnect_window_us=round(1e6 * terms.reconnect_window_s),
            address=terms.address,
            tls_name=terms.tls_name,
            unix_socket_path=terms.unix_socket_path,
        )

    def check_ticket(self, session: str, role: str) -> None:
        """Raise Denied for a stream whose ticket was never handed out, or for another role."""
        with self._lock:
            ticket = self._tickets.get(session)
            if ticket is None or ticket.role != role:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)

    def seat(self, session: str, role: str, hello: Greeting, line: Connection) -> PeerSession:
        """Give a place to the holder of a ticket, or back to who had it, at the end of `line`.

        Raises Denied.
        """
        check_version(hello.major)
        with self._lock:
            ticket = self._tickets.get(session)
            if ticket is None or ticket.role != role or hello.session != session:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            proof = hello_proof(ticket.secret, session, hello.answered)
            if not hmac.compare_digest(hello.proof, proof):
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, "the ticket is somebody else's")
            if ticket.seat is not None:
                _attach(ticket.seat, hello, line)
                return ticket.seat
            self._check_free(role)
            places = self._places[role]
            seat = places.make_seat(hello)
            _attach(seat, hello, line)
            ticket.seat = seat
            places.taken.append(seat)
            places.arrivals.append(seat)
            self._arrived.notify_all()
        return seat

    def unix_socket_proof(self, hello: Greeting) -> bytes:
        """What shows to who was seated over a Unix socket that it leads to this glue."""
        with self._lock:
            secret = self._tickets[hello.session].secret
        return unix_socket_proof(secret, hello.session, hello.answered)

    def next(self, role: str, timeout_s: float) -> Any | None:
        """Whoever has taken a place of `role`, once; None if nobody has within `timeout_s`."""
        arrivals = self._places[role].arrivals
        with self._arrived:
            self._arrived.wait_for(lambda: arrivals, timeout_s)
            return arrivals.popleft() if arrivals else None

    def release(self, seat: Any) -> None:
        """Whoever sat there has left for good: the place is free."""
        with self._lock:
            for places in self._places.values():
                if seat in places.taken:
                    places.taken.remove(seat)

    def close(self, reason: str) -> None:
        """Bid farewell to those whom nobody else has."""
        with self._lock:
            seats = [seat for places in self._places.values() for seat in places.taken]
        for seat in seats:
            seat.close(reason)

    def shut(self, reason: str) -> None:
        """Let nobody in any more, and bid farewell."""
        with self._lock:
            self._shut = reason
        self.close(reason)

    def _check_free(self, role: str) -> None:
        if self._shut:
            raise Denied(grpc.StatusCode.ALREADY_EXISTS, self._shut)
        places = self._places[role]
        if len(places.taken) >= places.count:
            whose = "run has its" if places.count == 1 else "glue has all its"
            noun = role if places.count == 1 else f"{role}s"
            raise Denied(
                grpc.StatusCode.ALREADY_EXISTS,
                f"this {whose} {noun} already; wait until it is over, or start one of your own",
            )

    def _clear(self, places: Places) -> None:
        """Free the places of those who came, were not asked for, and have left again.

        They are looked at without the lock: a look reads what they have sent.
        """
        with self._lock:
            arrivals = list(places.arrivals)
        gone = [seat for seat in arrivals if seat.is_gone]
        with self._lock:
            for seat in gone:
                if seat not in places.arrivals:  # it was asked for meanwhile
                    continue
                places.arrivals.remove(seat)
                places.taken.remove(seat)
                for session in [name for name, each in self._tickets.items() if each.seat is seat]:
                    del self._tickets[session]  # who comes back after all is to join again

    def _forget(self, role: str) -> None:
        """Drop the role's oldest tickets that nobody sits on."""
        taken = {id(seat) for seat in self._places[role].taken}
        idle = [
            session
            for session, each in self._tickets.items()
            if each.role == role and id(each.seat) not in taken
        ]
        for session in idle[:-_TICKETS]:
            del self._tickets[session]


def _attach(session: PeerSession, hello: Greeting, connection: Connection) -> None:
    """Let a session go on over a new stream. Raises Denied."""
    if (why := session.attach(hello.answered, connection)) is not None:
        raise Denied(grpc.StatusCode.UNAUTHENTICATED, why)


def role_of(request: lobby_pb2.JoinRequest) -> str:
    """The role that somebody wants to join as."""
    return ROLES.get(int(request.role), f"role {request.role}")


def is_same(one: str, other: str) -> bool:
    """Whether two tokens are; how long it takes tells nothing."""
    return hmac.compare_digest(one.encode(), other.encode())


def wrong_token(got: str) -> Denied:
    """What to say about another token, or none."""
    what = "wrong token" if got else "no token was given"
    return Denied(
        grpc.StatusCode.UNAUTHENTICATED,
        f"{what}: use the one that the host printed for this role (--token or REGLUE_TOKEN)",
    )


class Lobbies:
    """A server's lobbies. The first one answers who belongs to none."""

    def __init__(self, first: Lobby) -> None:
        self._lobbies = [first]

    def add(self, lobby: Lobby) -> None:
        """Let in who shows that lobby's tokens. Raises UsageError if another has one already."""
        if any(lobby.tokens.items() & other.tokens.items() for other in self._lobbies):
            raise UsageError("got one token for two rooms, wanted a token of its own for each")
        self._lobbies = [*self._lobbies, lobby]  # others look through the list meanwhile

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket of the token's lobby. Raises Denied."""
        found = self._lobbies[0]
        for lobby in self._lobbies:  # to the end: how long it takes tells nothing
            if lobby.is_opened(role_of(request), request.token):
                found = lobby
        return found.join(request)

    def check_ticket(self, session: str, role: str) -> None:
        """As of the session's lobby. Raises Denied."""
        self._of(session).check_ticket(session, role)

    def seat(self, session: str, role: str, hello: Greeting, line: Connection) -> PeerSession:
        """As of the session's lobby. Raises Denied."""
        return self._of(session).seat(session, role, hello, line)

    def unix_socket_proof(self, hello: Greeting) -> bytes:
        """As of the session's lobby."""
        return self._of(hello.session).unix_socket_proof(hello)

    def close(self) -> None:
        """Bid farewell to those whom nobody else has."""
        for lobby in self._lobbies:
            lobby.close("the glue has closed")

    def _of(self, session: str) -> Lobby:
        return next((each for each in self._lobbies if each.knows(session)), self._lobbies[0])


class PrivateLobby:
    """What one run sees of a server that several share: who comes with its token."""

    def __init__(
        self,
        lobby: Lobby,
        *,
        join_string: JoinString,
        local_join_string: JoinString,
        sockets: Path | None,
    ) -> None:
        self.sockets = sockets
        self._invitation, self._local_invitation = join_string, local_join_string
        self._lobby = lobby

    def join_string(self, _: str) -> JoinString:
        """What its peer is told."""
        return self._invitation

    def local_join_string(self, _: str) -> JoinString:
        """What its peer is told if it is a program on this machine."""
        return self._local_invitation

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer of `role` that has joined; None if none has in time."""
        return self._lobby.next(role, timeout_s)

    def release(self, port: object) -> None:
        """A peer has left for good: another may take its place."""
        self._lobby.release(port)

    def close(self) -> None:
        """Let nobody in any more; who has come and was not asked for is told."""
        self._lobby.shut("the run is over")
