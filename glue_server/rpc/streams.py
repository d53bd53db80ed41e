"""The streams of all roles: two threads each, one seat between them and the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from glue_server.rpc.denied import Denied
from glue_server.rpc.line import Line, Seat
from glue_server.rpc.lobby import Lobby
from reglue.grpc_settings import grpc

log = logging.getLogger("reglue")

_HELLO_S = 30.0  # how long a stream may stay silent before its hello

_Seated: TypeAlias = "SimpleQueue[Line | Denied]"


class Streams:
    """Connect of one role: the handler's thread sends, a reader thread receives."""

    def __init__(self, lobby: Lobby, role: str) -> None:
        self._lobby = lobby
        self._role = role

    def Connect(self, request_iterator: Iterator[Any], context: grpc.ServicerContext) -> Any:
        """Seat whoever says a good hello, and carry the session."""
        seated: _Seated = SimpleQueue()
        session = str(dict(context.invocation_metadata()).get("reglue-session", ""))
        try:  # strangers must not hold a thread until _HELLO_S
            self._lobby.check_ticket(session, self._role)
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
            line = seated.get(timeout=_HELLO_S)
        except Empty:
            line = Denied(grpc.StatusCode.DEADLINE_EXCEEDED, f"no hello within {_HELLO_S:g} s")
        if isinstance(line, Denied):
            context.abort(line.code, line.why)
        yield from line

    def _read(self, messages: Iterator[Any], session: str, seated: _Seated) -> None:
        """Take messages in until the stream breaks."""
        seat: Seat | None = None
        line: Line | None = None
        try:
            first = next(messages)
            if not first.HasField("hello"):
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
            seat, line = self._lobby.seat(session, self._role, first.hello)
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
            if seat is not None and line is not None:
                seat.broke(line)
            else:
                seated.put(Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello"))
