"""What runs on a node of a Ray cluster: it starts a process that plays, and passes on frames."""

from __future__ import annotations

import os
from contextlib import suppress

from glue_server.processes.channel import ChannelProcess
from glue_server.processes.frames import is_readable, read_frame_bytes

_THREADS = "OMP_NUM_THREADS"
_MOST_BYTES = 2**20  # of frames that are passed on together


class ShardActor:
    """An actor with the process of one player."""

    def __init__(self, module: str, threads: str | None) -> None:
        """`module` is what the process runs.

        `threads` is OMP_NUM_THREADS where the run is: Ray sets another; bits depend on it.
        """
        os.environ.pop(_THREADS, None)
        if threads is not None:
            os.environ[_THREADS] = threads
        self._process = ChannelProcess(module)

    def is_there(self) -> bool:
        """Once it has been made."""
        return True

    def receive(self) -> bytes:
        """Wait for frames, and return those that are there; nothing when the process is gone."""
        frames = b""
        channel = self._process.channel
        with suppress(EOFError, OSError):
            frames = read_frame_bytes(channel)
            while len(frames) < _MOST_BYTES and is_readable(channel):
                frames += read_frame_bytes(channel)
        return frames

    def send(self, data: bytes) -> None:
        """Pass on some bytes to the process."""
        with suppress(OSError):  # it has died, which `receive` says
            self._process.channel.sendall(data)

    def death(self, within_s: float) -> str:
        """How the process ended, in words, after `receive` returned nothing."""
        return self._process.death(within_s)

    def leave(self, within_s: float) -> None:
        """End the process: kill it after that time."""
        self._process.leave()
        self._process.end(within_s)
