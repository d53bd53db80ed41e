"""A Unix socket between two processes, and nothing else: bytes of a Turn there, of Actions back.

Blocking, each message behind its length. This is what the same talk costs at least in Python.
"""

from __future__ import annotations

import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

from speed.contender import Helper, serve
from speed.messages import CALL, REPLY

_LENGTH = struct.Struct("<I")


def main() -> None:
    """The side that asks."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        path = str(Path(folder, "s"))
        door.bind(path)
        door.listen()
        with Helper("raw_socket", path), door.accept()[0] as line:

            def metric(steps: int) -> dict[str, float]:
                """Seconds for so many round trips."""
                began = time.perf_counter()
                for _ in range(steps):
                    _send(line, CALL)
                    _receive(line)
                return {"seconds": time.perf_counter() - began, "steps": steps}

            serve(metric)


def answer(path: str) -> None:
    """The side that answers."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        while _receive(line):
            _send(line, REPLY)


def _send(line: socket.socket, message: bytes) -> None:
    line.sendall(_LENGTH.pack(len(message)) + message)


def _receive(line: socket.socket) -> bytes:
    if not (head := line.recv(_LENGTH.size)):
        return b""
    (size,) = _LENGTH.unpack(head)
    message = line.recv(size)
    while len(message) < size:
        message += line.recv(size - len(message))
    return message


if __name__ == "__main__":
    answer(sys.argv[1]) if sys.argv[1:] else main()
