"""Legacy programs that speak RL-Glue's protocol by themselves, as threads: frames that are given.

They are written from the protocol's description, and use nothing of the bridge.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

CONNECTIONS = {"experiment": 1, "agent": 2, "env": 3}

_HEAD = struct.Struct("!ii")


class WirePeer(threading.Thread):
    """Dials, says what it is, and then does what `plays` does with it."""

    def __init__(self, port: int, hello: int, plays: Callable[[WirePeer], object]) -> None:
        super().__init__(daemon=True)
        self.lines: list[tuple[str, int, bytes]] = []  # recv or send, code, content
        self.error: Exception | None = None
        self._port, self._hello, self._plays = port, hello, plays
        self._socket: socket.socket
        self.start()

    def run(self) -> None:
        try:
            self._socket = dialled(self._port)
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


def dialled(port: int) -> socket.socket:
    """A connection, as soon as somebody listens."""
    until = time.monotonic() + 30.0
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 30.0)
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.01)


def free_port() -> int:
    """One that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
