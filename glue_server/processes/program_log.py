"""What a program prints: read from a pipe, kept in a file up to a limit."""

from __future__ import annotations

import os
import select
import threading
from pathlib import Path

from reglue.errors import printable

LIMIT_BYTES = 64 * 2**20
"""Of a log; what is printed beyond it is read and thrown away."""

_PIPE_BYTES = 2**20  # at most in a pipe, so that one read empties it (pipe-max-size)
_TAIL_BYTES = 8000  # kept at hand, to be told


class ProgramLog:
    """Copies into `file` what comes through `writer`, which is handed to a program.

    A program has no descriptor of the file, as that would lead it to the run's folder.
    """

    def __init__(self, file: Path) -> None:
        """Raises OSError if the file cannot be written to."""
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._left = LIMIT_BYTES - os.fstat(self._file).st_size
        self._tail = b""
        self._reading = threading.Lock()  # around the pipe's read, and what follows from it
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._stop, self._rope = os.pipe()
        self._thread = threading.Thread(target=self._copy, name="reglue-agent-log", daemon=True)
        self._thread.start()

    def last_lines(self, count: int = 20) -> str:
        """The end of what was printed so far, as it may be printed again."""
        self._drain()
        lines = self._tail.decode(errors="replace").rstrip().splitlines()
        return printable("\n".join(lines[-count:]))

    def close_writer(self) -> None:
        """The program has its own by now."""
        os.close(self.writer)

    def close(self) -> None:
        """Copy what is there, and wait for no more: its children may have the pipe still."""
        if self._reader < 0:
            return
        os.close(self._rope)
        self._thread.join()
        self._drain()
        with self._reading:
            for descriptor in (self._reader, self._stop, self._file):
                os.close(descriptor)
            self._reader = -1

    def _copy(self) -> None:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        poll.register(self._stop)
        while not any(found == self._stop for found, _ in poll.poll()):
            if not self._drain():
                return

    def _drain(self) -> bool:
        """Copy what the pipe holds now; whether there may be more."""
        with self._reading:
            if self._reader < 0:
                return False
            try:
                printed = os.read(self._reader, _PIPE_BYTES)
            except BlockingIOError:
                return True
            self._tail = (self._tail + printed)[-_TAIL_BYTES:]
            self._keep(printed)
            return bool(printed)

    def _keep(self, printed: bytes) -> None:
        if self._left <= 0 or not printed:
            return
        kept = printed[: self._left]
        self._left -= len(printed)
        if self._left <= 0:
            kept += b"\nreglue: this log is full (%d MiB); what follows is not kept\n" % (
                LIMIT_BYTES // 2**20
            )
        try:
            os.write(self._file, kept)
        except OSError:  # a full disk: the program is not to blame
            self._left = 0
