"""Legacy programs as threads that send given frames of RL-Glue's protocol.

They are written from the protocol's description, and use nothing of the bridge.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

CONNECTIONS = {"experiment": 1, "agent": 2, "environment": 3}

_HEAD = struct.Struct("!ii")


class WirePeers:
    """Programs that connect to a bridge in the order in which they were added, one each time that
    the bridge waits for one.
    """

    def __init__(self) -> None:
        self.started: list[WirePeer] = []
        self._waiting: list[WirePeer] = []

    @property
    def place(self) -> Mapping[str, Any]:
        """Keywords of `Place`: a free port, which the bridge tells to the next program."""
        return {"port": 0, "say": self._say}

    def add(self, kind: str, plays: Callable[[WirePeer], object]) -> WirePeer:
        self._waiting.append(WirePeer(CONNECTIONS[kind], plays))
        return self._waiting[-1]

    def _say(self, text: str) -> None:
        if self._waiting:
            peer = self._waiting.pop(0)
            peer.connect(port_in(text))
            self.started.append(peer)


class WirePeer(threading.Thread):
    """Connects, sends the code of its kind, and then calls `plays` with itself."""

    def __init__(self, hello: int, plays: Callable[[WirePeer], object]) -> None:
        super().__init__(daemon=True)
        self.lines: list[tuple[str, int, bytes]] = []  # recv or send, code, content
        self.error: Exception | None = None
        self._hello, self._plays = hello, plays
        self._socket: socket.socket

    def connect(self, port: int) -> None:
        """Connect to a bridge that listens, and start."""
        self._socket = connection_to(port)
        self.start()

    def run(self) -> None:
        try:
            with self._socket:
                self._socket.sendall(_HEAD.pack(self._hello, 0))
                self._plays(self)
        except Exception as error:  # noqa: BLE001 - `ended` raises it
            self.error = error

    def send(self, code: int, content: bytes = b"") -> None:
        self._socket.sendall(_HEAD.pack(code, len(content)) + content)
        self.lines.append(("send", code, content))

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> tuple[int, bytes]:
        code, size = _HEAD.unpack(self._read(_HEAD.size))
        content = self._read(size)
        self.lines.append(("recv", code, content))
        return code, content

    def close(self) -> None:
        """Leave at once."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def drain(self) -> None:
        """Receive until the bridge has left."""
        with suppress(EOFError, OSError):
            while True:
                self.receive()

    def ended(self) -> None:
        """Wait until it has, and raise what it raised."""
        self.join(30.0)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (more := self._socket.recv(size - len(data))):
                raise EOFError("the bridge has left")
            data += more
        return data


def connection_to(port: int) -> socket.socket:
    """A connection to a bridge on this host."""
    return socket.create_connection(("127.0.0.1", port), 30.0)


def port_in(text: str) -> int:
    """The port in a bridge's message that it waits for a program."""
    return int(text.rpartition(":")[2])
