"""The streams of sessions over gRPC: one thread sends, one receives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError

from glue_server.rpc.admission import Denied, Lobbies
from glue_server.rpc.connection import GrpcConnection
from glue_server.rpc.roles import SERVICES
from glue_server.rpc.server_session import NO_TICKET, PeerSession
from reglue.net.grpc_settings import grpc

log = logging.getLogger("reglue")

HELLO_S = 10.0  # how long a stream may stay silent before its hello

_ELSEWHERE = "this glue takes peers over its Unix socket alone: join on its host"

_Admitted: TypeAlias = "SimpleQueue[GrpcConnection | Denied]"


class Streams:
    """The sessions of one role: the handler's thread sends, a reader thread receives."""

    def __init__(self, lobbies: Lobbies, role: str, *, takes_any: bool = True) -> None:
        """Unless it `takes_any`, peers are told to come over the Unix socket."""
        self._lobbies = lobbies
        self._role = role
        self._kind = SERVICES[role].message
        self._takes_any = takes_any

    def check(self, session: str) -> None:
        """Raise Denied for a stream without a ticket, or if none are taken."""
        if not self._takes_any:
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, _ELSEWHERE)
        if not self._lobbies.of(session).knows(session):  # `admit` looks at its role
            raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        """Admit a peer whose hello is good, and carry its session. Raises Denied."""
        admitted: _Admitted = SimpleQueue()
        reader = threading.Thread(
            target=self._read, args=(messages, session, admitted), name="reglue-reader", daemon=True
        )
        reader.start()
        try:
            connection = admitted.get(timeout=HELLO_S)
        except Empty:
            connection = Denied(grpc.StatusCode.DEADLINE_EXCEEDED, f"no hello within {HELLO_S:g} s")
        if isinstance(connection, Denied):
            raise connection
        context.send_initial_metadata(())  # headers: it is admitted
        yield from connection

    def _read(self, messages: Iterator[bytes], session: str, admitted: _Admitted) -> None:
        """Take messages in until the stream breaks."""
        session_port: PeerSession | None = None
        connection = GrpcConnection()
        parsed = map(self._kind.FromString, messages)
        try:
            first = next(parsed)
            if not first.HasField("hello"):
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
            lobby = self._lobbies.of(session)
            session_port = lobby.admit(session, self._role, first.hello, connection)
            admitted.put(connection)
            for message in parsed:
                session_port.arrived(connection, message)
        except Denied as denied:
            admitted.put(denied)
        except (StopIteration, grpc.RpcError):  # its peer has ended it, or was cut off
            pass
        except DecodeError as error:
            log.warning("a stream of an %s could not be read: %s", self._role, error)
        except Exception:
            log.exception("our own failure broke a stream")
        finally:
            if session_port is not None:
                session_port.broke(connection)
            else:
                admitted.put(Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello"))
