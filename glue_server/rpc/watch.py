"""One file descriptor that tells a driver when to look, whatever its peer's streams are."""

from __future__ import annotations

import contextlib
import selectors
import socket
from queue import SimpleQueue
from typing import Any

from glue_server.rpc.connection import Connection
from glue_server.rpc.unix_connection import UnixConnection


class Wakeup:
    """Readable after `ring`, or when something has come over the watched Unix socket."""

    def __init__(self, line: Connection | None) -> None:
        self._selector = selectors.DefaultSelector()
        self._rings = False
        self._bell, self._rope = socket.socketpair()
        for end in (self._bell, self._rope):
            end.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self.change(None, line)

    def fileno(self) -> int:
        """The same as long as it is open."""
        return self._selector.fileno()

    def is_readable(self) -> bool:
        """Whether it is now. Also beyond descriptor 1023, where select.select fails."""
        return bool(self._selector.select(0))

    def change(self, old: Connection | None, line: Connection | None) -> None:
        """Another line, before the old one is ended."""
        if isinstance(old, UnixConnection):
            self._selector.unregister(old)
        if isinstance(line, UnixConnection):
            self._selector.register(line, selectors.EVENT_READ)

    def ring(self) -> None:
        """Something waits."""
        self._rings = True
        with contextlib.suppress(OSError):  # it rings already, or nobody watches any more
            self._rope.send(b"!")

    def hush(self, inbox: SimpleQueue[Any]) -> None:
        """Ring no more, unless something waits in there."""
        if not self._rings:
            return
        self._rings = False
        with contextlib.suppress(OSError):
            while self._bell.recv(64):
                pass
        if not inbox.empty():
            self.ring()

    def close(self) -> None:
        """Let the descriptors go."""
        self._selector.close()
        self._bell.close()
        self._rope.close()
