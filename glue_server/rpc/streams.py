"""The streams of all roles: two threads each, one seat between them and the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from glue_server.rpc.denied import Denied
from glue_server.rpc.line import Seat, StreamLine
from glue_server.rpc.rooms import Rooms
from reglue.grpc_settings import grpc

log = logging.getLogger("reglue")

HELLO_S = 30.0  # how long a stream may stay silent before its hello

_ELSEWHERE = "this glue takes partners over its Unix socket alone: join on its host"

_Seated: TypeAlias = "SimpleQueue[StreamLine | Denied]"


class Streams:
    """Connect of one role: the handler's thread sends, a reader thread receives."""

    def __init__(self, rooms: Rooms, role: str, *, takes_any: bool = True) -> None:
        """Unless it `takes_any`, everybody is told to come over the Unix socket."""
        self._rooms = rooms
        self._role = role
        self._takes_any = takes_any

    def Connect(self, request_iterator: Iterator[Any], context: grpc.ServicerContext) -> Any:
        """Seat whoever says a good hello, and carry the session."""
        seated: _Seated = SimpleQueue()
        session = str(dict(context.invocation_metadata()).get("reglue-session", ""))
        if not self._takes_any:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, _ELSEWHERE)
        try:  # strangers must not hold a thread until HELLO_S
            self._rooms.check_ticket(session, self._role)
        except Denied as denied:
            context.abort(denied.code, denied.why)
        reader = threading.Thread(
            target=self._read,
            args=(request_iterator, session, seated),
            name="reglue-reader",
            daemon=True,
        )
        reader.start()
        try:
            line = seated.get(timeout=HELLO_S)
        except Empty:
            line = Denied(grpc.StatusCode.DEADLINE_EXCEEDED, f"no hello within {HELLO_S:g} s")
        if isinstance(line, Denied):
            context.abort(line.code, line.why)
        context.send_initial_metadata(())  # headers: it is seated
        yield from line

    def _read(self, messages: Iterator[Any], session: str, seated: _Seated) -> None:
        """Take messages in until the stream breaks."""
        seat: Seat | None = None
        line = StreamLine()
        try:
            first = next(messages)
            if not first.HasField("hello"):
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
            seat = self._rooms.seat(session, self._role, first.hello, line)
            seated.put(line)
            for message in messages:
                seat.arrived(line, message)
        except Denied as denied:
            seated.put(denied)
        except StopIteration:
            pass
        except Exception:
            log.debug("a stream broke", exc_info=True)
        finally:
            if seat is not None:
                seat.broke(line)
            else:
                seated.put(Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello"))
