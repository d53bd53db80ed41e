"""Runs a program that has a loopback of its own, on which a Unix socket's server answers.

Usage: python loopback.py SOCKET PROGRAM [ARGUMENT …]. What connects to ADDRESS is connected to
SOCKET. The program takes the place of this process; a copy of it carries the bytes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading

_HOST, _PORT = "127.0.0.1", 4096  # every program has a loopback of its own
ADDRESS = f"{_HOST}:{_PORT}"

LOBBY = "lobby"
"""The socket at which gRPC answers, in the folder of a glue's Unix sockets."""

_ROOM = 1 << 16  # bytes that are read at once


def main(path: str, *command: str) -> None:
    """Listen, leave the rest to a child, and become the program."""
    listener = socket.create_server((_HOST, _PORT))
    if os.fork() == 0:
        _carry(listener, path)
    listener.close()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


def _carry(listener: socket.socket, path: str) -> None:
    """Until the program ends, and with it all that is in the sandbox."""
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, signal.SIG_IGN)  # meant for the program, which may still say farewell
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    while True:
        here, _ = listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(path)
        except OSError:  # the server has left
            here.close()
            continue
        for each in ((here, there), (there, here)):
            threading.Thread(target=_copy, args=each, daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while read := source.recv(_ROOM):
            sink.sendall(read)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(*sys.argv[1:])
