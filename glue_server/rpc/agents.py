"""AgentService: one stream, two threads, one port between it and the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from glue_server.rpc.lobby import Denied, Lobby
from glue_server.rpc.stream_port import StreamPort
from reglue.grpc_settings import grpc
from reglue.v1 import agent_pb2, agent_pb2_grpc

log = logging.getLogger("reglue")

_HELLO_S = 30.0  # how long a stream may stay silent before its hello


class AgentServicer(agent_pb2_grpc.AgentServiceServicer):
    """AgentService: the handler's thread sends, a reader thread receives."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    def Connect(
        self, request_iterator: Iterator[agent_pb2.AgentReply], context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.AgentCall]:
        """Seat the agent that says a good hello, and carry its session."""
        seated: SimpleQueue[StreamPort | Denied] = SimpleQueue()
        session = str(dict(context.invocation_metadata()).get("reglue-session", ""))
        try:
            self._lobby.check_ticket(session)  # strangers must not hold a thread until _HELLO_S
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
            port = seated.get(timeout=_HELLO_S)
        except Empty:
            port = Denied(grpc.StatusCode.DEADLINE_EXCEEDED, f"no hello within {_HELLO_S:g} s")
        if isinstance(port, Denied):
            context.abort(port.code, port.why)
        yield from port.calls()

    def _read(
        self,
        replies: Iterator[agent_pb2.AgentReply],
        session: str,
        seated: SimpleQueue[StreamPort | Denied],
    ) -> None:
        """Take replies in until the stream breaks."""
        port: StreamPort | None = None
        try:
            first = next(replies)
            if not first.HasField("hello"):
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
            port = self._lobby.seat(session, first.hello)
            seated.put(port)
            for reply in replies:
                port.arrived(reply)
        except Denied as denied:
            seated.put(denied)
        except StopIteration:
            pass
        except Exception:
            log.debug("a stream broke", exc_info=True)
        finally:
            if port is not None:
                port.broke()
            else:
                seated.put(Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello"))
