"""Socket pairs, and the wait for them, as Python's modules of a simulated run."""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Self

from tests.simulator.scheduler import Process
from tests.simulator.virtual_threads import like, scheduler

_FIRST_DESCRIPTOR = 1_000_000


class _End:
    """One end of a socket pair."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.files: list[int] = []  # descriptors that were sent to it with bytes
        self.is_shut = False  # nothing more comes, or goes
        self.other: _End = self
        self.owner: Process | None = None  # who has it; None: the process that made it

    def shut(self) -> None:
        """Nothing more comes, or goes."""
        self.is_shut = True

    @property
    def is_readable(self) -> bool:
        return bool(self.received) or self.is_shut or self.other.is_shut


class _Descriptors(dict[int, _End]):
    """The ends that are open, by their descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self._next = _FIRST_DESCRIPTOR

    def add(self, end: _End) -> int:
        self._next += 1
        self[self._next] = end
        return self._next


def _open() -> _Descriptors:
    """Those of the run that is simulated now."""
    return scheduler().own(_Descriptors)


class Socket(socket.socket):
    """One end of a socket pair; there are no others in a simulated run."""

    def __init__(self, *args: object, fileno: int | None = None) -> None:
        if fileno is None:
            raise OSError(f"a simulated run has no network of sockets: {args}")
        self._fileno = fileno
        self.end = _open()[fileno]
        self._timeout: float | None = None

    def fileno(self) -> int:
        return self._fileno

    def setblocking(self, flag: bool, /) -> None:
        self._timeout = None if flag else 0.0

    def settimeout(self, value: float | None, /) -> None:
        self._timeout = value

    def send(self, data: Any, flags: int = 0, /) -> int:
        if self._fileno < 0 or self.end.is_shut or self.end.other.is_shut:
            raise BrokenPipeError("the other end is closed")
        self.end.other.received += data
        return len(data)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        self._wait()
        found = bytes(self.end.received[:size])
        del self.end.received[:size]
        return found

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        found = self.recv(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def shutdown(self, how: int, /) -> None:
        self.end.shut()

    def close(self) -> None:
        if self._fileno >= 0:
            current = scheduler().current
            if current is None or self.end.owner in (None, current.process):  # else a child has it
                self.end.shut()
                _open().pop(self._fileno, None)
            self._fileno = -1

    def _wait(self) -> None:
        if self.end.is_readable:
            return
        if self._timeout == 0:
            raise BlockingIOError("nothing has come")
        now = scheduler()
        now.wait(
            lambda: self.end.is_readable,
            math.inf if self._timeout is None else now.now + self._timeout,
        )
        if not self.end.is_readable:
            raise TimeoutError("timed out")

    def __del__(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _socketpair(*_: object) -> tuple[Socket, Socket]:
    one, other = _End(), _End()
    one.other, other.other = other, one
    return Socket(fileno=_open().add(one)), Socket(fileno=_open().add(other))


def _send_fds(via: Socket, buffers: Sequence[bytes], files: Sequence[int]) -> int:
    sent = via.send(b"".join(buffers))
    via.end.other.files += files
    return sent


def _recv_fds(via: Socket, size: int, most: int) -> tuple[bytes, list[int], int, None]:
    received = via.recv(size)
    files, via.end.files = via.end.files[:most], via.end.files[most:]
    return received, files, 0, None


def _no_connection(*_: object, **__: object) -> socket.socket:
    raise ConnectionRefusedError("a simulated run has no network of sockets")


def socket_module() -> ModuleType:
    """`socket`, with socket pairs alone."""
    return like(
        socket,
        socket=Socket,
        socketpair=_socketpair,
        send_fds=_send_fds,
        recv_fds=_recv_fds,
        create_connection=_no_connection,
        create_server=_no_connection,
        gethostname=lambda: "simulated",
    )


def hand_over(descriptor: int, parent: Process | None, child: Process) -> None:
    """Let a child have an end whose other end is its parent's.

    Each is shut when its process ends.
    """
    end = _open()[descriptor]
    end.owner = child
    child.at_end.append(end.shut)
    if parent is not None:
        parent.at_end.append(end.other.shut)


class Poll:
    """`select.poll()`."""

    def __init__(self) -> None:
        self._watched: dict[int, int] = {}

    def register(self, descriptor: Any, events: int = select.POLLIN) -> None:
        """Watch it."""
        self._watched[_number(descriptor)] = events

    modify = register

    def unregister(self, descriptor: Any) -> None:
        """Watch it no longer. Raises KeyError if it was not."""
        del self._watched[_number(descriptor)]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """Descriptors to read, or closed; waits `timeout` milliseconds, None: for ever."""
        if not (found := self._found()) and timeout != 0:
            now = scheduler()
            until = math.inf if timeout is None or timeout < 0 else now.now + timeout / 1000
            now.wait(lambda: bool(self._found()), until)
            found = self._found()
        return found

    def _found(self) -> list[tuple[int, int]]:
        found = []
        for number, events in self._watched.items():
            end = _open().get(number)
            if end is None:
                found.append((number, select.POLLNVAL))
            elif end.other.is_shut or end.is_shut:
                found.append((number, select.POLLHUP | (events & select.POLLIN)))
            elif end.received and events & select.POLLIN:
                found.append((number, select.POLLIN))
        return found


def _number(descriptor: Any) -> int:
    return descriptor if isinstance(descriptor, int) else descriptor.fileno()


def select_module() -> ModuleType:
    """`select`, with poll alone."""
    module = like(select, poll=Poll)
    del module.epoll
    return module
