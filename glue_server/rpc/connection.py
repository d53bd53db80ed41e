"""One stream of a session, as the driver sees it."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, Protocol

LOOK = 8
"""Most messages that are taken in where a peer is only looked at: it may send without end."""


class ConnectionEnded(Exception):
    """Nothing more comes in over a line."""


class Connection(Protocol):
    """What goes out over one stream. A session that reconnects gets a new one."""

    def put(self, message: Any) -> None:
        """Send a message. Never waits for long, and says nothing if it cannot be sent: that
        the stream broke is seen by who reads it.
        """

    def end(self) -> None:
        """End the stream behind what was put."""


class GrpcConnection:
    """A stream of gRPC, as the two threads of its handler see it: one of them reads."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def put(self, message: Any) -> None:
        """Send a message."""
        self._queue.put(message)

    def end(self) -> None:
        """End the stream behind what was put."""
        self._queue.put(None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._queue.get, None)


class SessionPort(Protocol):
    """Where a peer sits while its streams come and go. Called by the streams' threads."""

    @property
    def is_gone(self) -> bool:
        """Whether the peer has left for good. Asked before there is a driver."""

    def attach(self, answered: int, line: Connection) -> None:
        """A stream with a good hello takes over. Raises Denied if it has lost its memory."""

    def arrived(self, line: Connection, message: Any) -> None:
        """A message has come in; those of a line that was replaced are dropped."""

    def broke(self, line: Connection) -> None:
        """Nothing more will come in over `line`: cut off, or closed by the peer."""

    def close(self, reason: str) -> None:
        """Say farewell."""
