"""stdout and stderr of a command: what it does matters more than what it shows.

A stream that is closed, whose reader is gone, whose disk is full or that lacks a character ends no
command. One whose output is its product fails by one line: see `product`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from reglue.errors import StorageFailed

_STDOUT, _STDERR = 1, 2


class Output(io.FileIO):
    """A descriptor that is written to; once that fails, what follows is lost.

    A `strict` one raises StorageFailed then. stdout says once on stderr that it is lost.
    """

    def __init__(self, fd: int, *, failure: str = "", strict: bool = False) -> None:
        """`failure`: why nothing can be written from the beginning."""
        super().__init__(fd, "wb", closefd=fd > _STDERR)
        self.strict = strict
        self._failure = failure
        self._is_told = fd == _STDERR

    def buffered(self) -> io.BufferedWriter[Any]:
        """A buffer before it."""
        return io.BufferedWriter(cast("Any", self))

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override] # of bytes alone
        """Write, or lose, all of `data`. Raises StorageFailed if it is strict."""
        if not self._failure:
            try:
                return super().write(data)
            except OSError as error:
                self._failure = error.strerror or str(error)
                _discard(self.fileno())  # also what other programs write there
        self.check()
        if not self._is_told:
            self._is_told = True
            sys.stderr.write(f"reglue: stdout: {self._failure}; what follows there is lost\n")
        return len(data)

    def check(self) -> None:
        """Raise StorageFailed if it is strict and nothing can be written."""
        if self.strict and self._failure:
            self._is_told = True
            raise StorageFailed(f"stdout cannot be written to: {self._failure}")


def keep_outputs() -> None:
    """From now on no write to stdout or stderr fails; characters that they lack are replaced.

    A closed descriptor is opened, or the next file, such as a ledger, would get its number.
    """
    closed = set()
    while (fd := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(fd, True)
        closed.add(fd)
    os.close(fd)
    stdout, stderr = (
        Output(fd, failure="it is closed" if fd in closed else "") for fd in (_STDOUT, _STDERR)
    )
    sys.stdout = _text(stdout, sys.stdout, "replace")
    sys.stderr = _text(stderr, sys.stderr, "backslashreplace")


@contextmanager
def product() -> Iterator[None]:
    """Within the block stdout gets the product of a command.

    Raises StorageFailed if it cannot be written to.
    """
    output = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if not isinstance(output, Output):  # not the command's own process
        yield
        return
    sys.stdout.flush()
    output.strict = True
    try:
        output.check()
        yield
    finally:
        try:
            sys.stdout.flush()
        finally:
            output.strict = False


def _text(output: Output, before: object, errors: str) -> io.TextIOWrapper:
    """A text stream like Python's own `before`, which is None for a closed descriptor."""
    python = before if isinstance(before, io.TextIOWrapper) else None
    return io.TextIOWrapper(
        output.buffered(),
        encoding="utf-8" if python is None else python.encoding,
        errors=errors,
        line_buffering=python is not None and (python.line_buffering or python.write_through),
    )


def _discard(fd: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)
