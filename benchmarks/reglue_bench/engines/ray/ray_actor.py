"""The actor on a node of a Ray cluster: it starts a process, and passes on its messages."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from glue_server.processes.child import Child
from glue_server.processes.message_codec import Codec

_THREADS = "OMP_NUM_THREADS"
_MOST_BYTES = 2**20  # of messages that are passed on together


class ShardActor:
    """An actor with the process of one player."""

    def __init__(self, module: str, threads: str | None) -> None:
        """`module` is what the process runs.

        `threads` is OMP_NUM_THREADS where the run is: Ray sets another; bits depend on it.
        """
        os.environ.pop(_THREADS, None)
        if threads is not None:
            os.environ[_THREADS] = threads
        self._process = Child(module, Codec[Any](), silence_s=None)

    def is_there(self) -> bool:
        """Return once the actor exists."""
        return True

    def receive(self) -> bytes:
        """Wait for messages, and return those that are there; nothing when the process is gone."""
        messages = b""
        with suppress(EOFError, OSError):
            messages = self._process.receive_bytes()
            while len(messages) < _MOST_BYTES and self._process.has_message():
                messages += self._process.receive_bytes()
        return messages

    def send(self, data: bytes) -> None:
        """Pass on some bytes to the process."""
        with suppress(OSError):  # it has died, which `receive` says
            self._process.socket.sendall(data)

    def death(self, within_s: float) -> str:
        """A text that says how the process ended, after `receive` returned nothing."""
        return self._process.death(within_s)

    def leave(self, within_s: float) -> None:
        """End the process: kill it after that time."""
        self._process.leave()
        self._process.end(within_s)
