"""Admission: tokens, tickets and places."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from glue_server.rpc.peer_streams import Stream
from glue_server.rpc.server_session import NO_TICKET, PeerSession
from reglue.error_message import hidden_in
from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import hello_proof, unix_socket_proof
from reglue.v1 import lobby_pb2
from reglue.version import PROTOCOL_MAJOR
from reglue.wire.roles import ROLES


class Denied(Exception):
    """A peer is refused: gRPC's status code, and a message."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        self.code, self.why = code, why


def check_version(major: int) -> None:
    """Raise Denied for another major version of the protocol."""
    if major != PROTOCOL_MAJOR:
        raise Denied(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"got protocol version {major}, wanted {PROTOCOL_MAJOR}: "
            "use a client of this glue's version",
        )


_CLIENT = 64  # characters of a client's name
_TICKETS = 256  # of a role, issued and not in use now; the oldest are forgotten

JOIN = f"/{lobby_pb2.DESCRIPTOR.services_by_name['LobbyService'].full_name}/Join"

_ROLE_NAMES = {each.number: each.name for each in ROLES.values()}


class Greeting(Protocol):
    """The common fields of the hellos of all roles."""

    major: int
    session: str
    proof: bytes
    answered: int


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a role's tickets."""

    max_message_bytes: int
    reconnect_window_s: float = 0.0  # how long a peer whose stream broke may take to come back
    address: str = ""  # where to open the stream; empty: where the peer joined
    unix_socket_path: str = ""  # empty: without a Unix socket


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to a session: its name, and a secret that its peer proves to have.

    Whoever admits peers makes them here: a lobby, also of a run's own process, and the gateway of
    a queue. The gateway of a hub passes on those of its runs.
    """

    session: str
    secret: bytes

    @classmethod
    def new(cls) -> Self:
        """A ticket to a session that there was not before."""
        return cls(secrets.token_urlsafe(12), secrets.token_bytes(32))

    def message(self, terms: Terms) -> lobby_pb2.Ticket:
        """The message that gives it to a peer."""
        return lobby_pb2.Ticket(
            session=self.session,
            secret=self.secret,
            max_message_bytes=terms.max_message_bytes,
            reconnect_window_us=round(1e6 * terms.reconnect_window_s),
            address=terms.address,
            unix_socket_path=terms.unix_socket_path,
        )

    def check(self, hello: Greeting) -> None:
        """Raise Denied for a hello without proof of the ticket's secret."""
        proof = hello_proof(self.secret, hello.session, hello.answered)
        if not hmac.compare_digest(hello.proof, proof):
            raise Denied(grpc.StatusCode.UNAUTHENTICATED, "the ticket is somebody else's")


@dataclass(slots=True)
class _Issued:
    """A ticket, and the peer that has it."""

    ticket: Ticket
    role: str
    client: str  # who asked for it
    peer: PeerSession | None = None


class Places:
    """The places of one role: how many there are, and which peers have them."""

    def __init__(
        self,
        count: int,
        token: str,
        terms: Terms,
        make_session: Callable[[Any, Terms], PeerSession],
    ) -> None:
        """`make_session` makes a session from the hello of a peer that has `token`, on `terms`."""
        self.count = count
        self.token = token
        self.terms = terms
        self.make_session = make_session
        self.taken: list[PeerSession] = []
        self.arrivals: deque[PeerSession] = deque()  # those that `next` has not returned yet


class Lobby:
    """Issues tickets, checks hellos, and gives places to peers that have both."""

    def __init__(self, places: Mapping[str, Places]) -> None:
        self._places = places
        self._issued: OrderedDict[str, _Issued] = OrderedDict()  # by session
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._shut = ""  # why no peer is admitted any more

    @property
    def tokens(self) -> Mapping[str, str]:
        """The token of each role."""
        return {role: places.token for role, places in self._places.items()}

    def admits(self, role: str, token: str) -> bool:
        """Whether `token` is the role's. For an unknown role any token does: `join` says more."""
        tokens = self.tokens
        wanted = [tokens[role]] if role in tokens else tokens.values()
        return sum(is_same(token, each) for each in wanted) > 0  # each is looked at

    def knows(self, session: str) -> bool:
        """Whether its ticket was issued here, and is remembered."""
        with self._lock:
            return session in self._issued

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """Return a ticket; the same one to a client that asks again. Raises Denied."""
        check_version(request.major)
        role = role_of(request)
        if not self.admits(role, request.token):
            raise wrong_token(request.token)
        if role not in self._places:
            raise wrong_role(role, self._places)
        self._clear(self._places[role])
        terms, client = self._places[role].terms, client_of(request)
        with self._lock:
            for each in self._issued.values():
                if each.peer is None and (each.role, each.client) == (role, client):
                    return each.ticket.message(terms)
            self._check_free(role)
            ticket = Ticket.new()
            self._issued[ticket.session] = _Issued(ticket, role, client)
            self._forget(role)
        return ticket.message(terms)

    def admit(self, session: str, role: str, hello: Greeting, stream: Stream) -> PeerSession:
        """Give a place to the holder of a ticket, or let its session go on over `stream`.

        Raises Denied.
        """
        check_version(hello.major)
        with self._lock:
            issued = self._issued.get(session)
            if issued is None or issued.role != role or hello.session != session:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            issued.ticket.check(hello)
            if issued.peer is not None:
                _attach(issued.peer, issued.ticket, hello, stream)
                return issued.peer
            self._check_free(role)
            places = self._places[role]
            peer = places.make_session(hello, places.terms)
            _attach(peer, issued.ticket, hello, stream)  # before it has the place: it may be denied
            issued.peer = peer
            places.taken.append(peer)
            places.arrivals.append(peer)
            self._arrived.notify_all()
        return peer

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer that took a place of `role`, each once; None if none did in time."""
        arrivals = self._places[role].arrivals
        with self._arrived:
            self._arrived.wait_for(lambda: arrivals, timeout_s)
            return arrivals.popleft() if arrivals else None

    def has_next(self, role: str) -> bool:
        """Whether one has taken a place that `next` has not returned."""
        return bool(self._places[role].arrivals)

    def release(self, peer: Any) -> None:
        """Free the place of a peer that has left for good."""
        with self._lock:
            for places in self._places.values():
                if peer in places.taken:
                    places.taken.remove(peer)

    def close(self, reason: str) -> None:
        """Say farewell to the peers that are still here."""
        with self._lock:
            peers = [peer for places in self._places.values() for peer in places.taken]
        for peer in peers:  # without the lock: a farewell may wait for a slow peer
            peer.close(reason)

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
        """Free the places of peers that left again before `next` returned them.

        `is_gone` is asked without the lock: it reads what they have sent.
        """
        with self._lock:
            arrivals = list(places.arrivals)
        gone = [peer for peer in arrivals if peer.is_gone]
        with self._lock:
            for peer in gone:
                if peer not in places.arrivals:  # `next` has returned it meanwhile
                    continue
                places.arrivals.remove(peer)
                places.taken.remove(peer)
                for session in [name for name, each in self._issued.items() if each.peer is peer]:
                    del self._issued[session]  # a peer that comes back must join again

    def _forget(self, role: str) -> None:
        """Drop the role's oldest tickets that are not in use."""
        taken = {id(peer) for peer in self._places[role].taken}
        idle = [
            session
            for session, each in self._issued.items()
            if each.role == role and id(each.peer) not in taken
        ]
        for session in idle[:-_TICKETS]:
            del self._issued[session]


class PrivateLobby(Lobby):
    """One run's share of a server: the peers that come with its token."""

    def __init__(
        self,
        places: Mapping[str, Places],
        *,
        join_string: JoinString,
        local_join_string: JoinString,
        sockets: Path | None,
    ) -> None:
        super().__init__(places)
        self.sockets = sockets
        self._join_string, self._local_join_string = join_string, local_join_string

    def join_string(self, _: str) -> JoinString:
        """The join string of its peer."""
        return self._join_string

    def local_join_string(self, _: str) -> JoinString:
        """The join string of its peer, for a program on this machine."""
        return self._local_join_string

    def close(self, reason: str = "the run is over") -> None:
        """Admit no more peers, and say farewell; those that `next` has not returned hear it."""
        with self._lock:
            self._shut = reason  # first, so that nobody is admitted after the farewells
        super().close(reason)


def _attach(session: PeerSession, ticket: Ticket, hello: Greeting, stream: Stream) -> None:
    """Let a session go on over a new stream. Raises Denied."""
    proof = unix_socket_proof(ticket.secret, hello.session, hello.answered)
    if (why := session.attach(hello.answered, stream, proof)) is not None:
        raise Denied(grpc.StatusCode.UNAUTHENTICATED, why)


def role_of(request: lobby_pb2.JoinRequest) -> str:
    """The role of a request, also an unknown one."""
    return _ROLE_NAMES.get(request.role, f"role {request.role}")


def client_of(request: lobby_pb2.JoinRequest) -> str:
    """The client's own name; a request without one gets a new name."""
    return request.client[:_CLIENT] or secrets.token_hex(16)


def wrong_role(got: str, wanted: Iterable[str]) -> Denied:
    """The error for a peer of a role that is not taken here."""
    peer = f"an {got}" if got in ROLES else got
    words = f"got {peer}, wanted {' or '.join(f'an {each}' for each in wanted)}"
    return Denied(grpc.StatusCode.INVALID_ARGUMENT, words)


def is_same(one: str, other: str) -> bool:
    """Whether two tokens are the same, in a time that tells nothing about them."""
    return hmac.compare_digest(one.encode(), other.encode())


def wrong_token(got: str) -> Denied:
    """The error for a wrong token, or none."""
    what = "wrong token" if got else "no token was given"
    return Denied(
        grpc.StatusCode.UNAUTHENTICATED,
        f"{what}: use the one that the host printed for this role, or set REGLUE_TOKEN to it"
        f"{hidden_in(got)}",
    )


class Lobbies:
    """A server's lobbies. The first one answers peers that belong to none."""

    def __init__(self, first: Lobby) -> None:
        self._lobbies = [first]

    def add(self, lobby: Lobby) -> None:
        """Add a lobby. Raises UsageError if another one has one of its tokens."""
        if any(lobby.tokens.items() & other.tokens.items() for other in self._lobbies):
            raise UsageError(
                got="one token for two private lobbies", wanted="a token of its own for each"
            )
        self._lobbies = [*self._lobbies, lobby]  # others look through the list meanwhile

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket of the token's lobby. Raises Denied."""
        found = self._lobbies[0]
        for lobby in self._lobbies:  # all of them: the time tells nothing
            if lobby.admits(role_of(request), request.token):
                found = lobby
        return found.join(request)

    def of(self, session: str) -> Lobby:
        """The lobby that issued the session's ticket; the first one if none did."""
        return next((each for each in self._lobbies if each.knows(session)), self._lobbies[0])

    def close(self) -> None:
        """Say farewell to the peers that are still here."""
        for lobby in self._lobbies:
            lobby.close("the glue has closed")
