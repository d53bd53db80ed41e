"""The streams of all roles: two threads each, one seat between them and the driver."""

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
from glue_server.rpc.session import PeerSession
from reglue.net.grpc_settings import grpc

log = logging.getLogger("reglue")

HELLO_S = 10.0  # how long a stream may stay silent before its hello

_ELSEWHERE = "this glue takes peers over its Unix socket alone: join on its host"

_Seated: TypeAlias = "SimpleQueue[GrpcConnection | Denied]"


class Streams:
    """The sessions of one role: the handler's thread sends, a reader thread receives."""

    def __init__(self, rooms: Lobbies, role: str, *, takes_any: bool = True) -> None:
        """Unless it `takes_any`, everybody is told to come over the Unix socket."""
        self._rooms = rooms
        self._role = role
        self._kind = SERVICES[role].heard
        self._takes_any = takes_any

    def check(self, session: str) -> None:
        """Raise Denied for a stream without a ticket, or where none are taken."""
        if not self._takes_any:
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, _ELSEWHERE)
        self._rooms.check_ticket(session, self._role)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        """Seat whoever says a good hello, and carry the session. Raises Denied."""
        seated: _Seated = SimpleQueue()
        reader = threading.Thread(
            target=self._read, args=(messages, session, seated), name="reglue-reader", daemon=True
        )
        reader.start()
        try:
            line = seated.get(timeout=HELLO_S)
        except Empty:
            line = Denied(grpc.StatusCode.DEADLINE_EXCEEDED, f"no hello within {HELLO_S:g} s")
        if isinstance(line, Denied):
            raise line
        context.send_initial_metadata(())  # headers: it is seated
        yield from line

    def _read(self, messages: Iterator[bytes], session: str, seated: _Seated) -> None:
        """Take messages in until the stream breaks."""
        seat: PeerSession | None = None
        line = GrpcConnection()
        parsed = map(self._kind.FromString, messages)
        try:
            first = next(parsed)
            if not first.HasField("hello"):
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
            seat = self._rooms.seat(session, self._role, first.hello, line)
            seated.put(line)
            for message in parsed:
                seat.arrived(line, message)
        except Denied as denied:
            seated.put(denied)
        except (StopIteration, grpc.RpcError):  # its peer has ended it, or was cut off
            pass
        except DecodeError as error:
            log.warning("a stream of an %s could not be read: %s", self._role, error)
        except Exception:
            log.exception("our own failure broke a stream")
        finally:
            if seat is not None:
                seat.broke(line)
            else:
                seated.put(Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello"))
