"""Proxies between a peer and the glue, whose connections can be cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class TcpProxy:
    """Passes bytes on to `target`, `host:port` or a Unix socket's path; a context manager
    that closes it.

    Who comes while there is no target is turned away, as by a host where nobody listens.
    """

    def __init__(self, target: str = "", listen: str = "127.0.0.1:0") -> None:
        """Raises OSError if nobody can listen at `listen`, which is such an address too."""
        self.target = target
        self.cuts = 0  # that broke something
        self.journeys = 0  # connections that were passed on
        self.turned_away = 0  # those that were not
        self._listener, self.address = _listening(listen)
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._gate = threading.Thread(target=self._let_in, name="road-gate")
        self._gate.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def cut(self) -> None:
        """Break what is connected now, with what is under way."""
        with self._lock:
            self.cuts += bool(self._ends)
            for end in self._ends:
                _shut(end)

    def close(self) -> None:
        """End the threads and every socket, once."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError):  # to wake who waits for the next
            _connected(self.address, timeout_s=1.0).close()
        self._gate.join()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _to(self) -> str:
        return self.target

    def _note_turned_away(self) -> None:
        self.turned_away += 1

    def _let_in(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._closed:
                near.close()
                return
            thread = threading.Thread(target=self._travel, args=(near,), name="road")
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _travel(self, near: socket.socket) -> None:
        """Carry bytes both ways until either end is gone."""
        with near:
            try:
                far = _connected(self._to())
            except (OSError, ValueError):
                self._note_turned_away()
                return
            with far:
                _hurry(near, far)
                with self._lock:
                    if self._closed:
                        return
                    self.journeys += 1
                    self._ends |= {near, far}
                back = threading.Thread(target=_carry, args=(far, near), name="road-back")
                back.start()
                _carry(near, far)
                back.join()
                with self._lock:
                    self._ends -= {near, far}


def _carry(end: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while received := end.recv(1 << 18):
            other.sendall(received)
    _shut(end)
    _shut(other)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _listening(address: str) -> tuple[socket.socket, str]:
    """A listener, and where it listens."""
    if "/" in address:
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(address)
            listener.listen()
        except BaseException:
            listener.close()
            raise
        return listener, address
    listener = socket.create_server(_place(address))
    return listener, f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"


def _connected(address: str, timeout_s: float | None = None) -> socket.socket:
    if "/" not in address:
        return socket.create_connection(_place(address), timeout=timeout_s)
    end = socket.socket(socket.AF_UNIX)
    try:
        end.settimeout(timeout_s)
        end.connect(address)
    except BaseException:
        end.close()
        raise
    return end


def _hurry(*ends: socket.socket) -> None:
    """Let TCP send at once."""
    for end in ends:
        if end.family != socket.AF_UNIX:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


class UnixProxy(TcpProxy):
    """Leads to a glue's port, and from the Unix socket `path` to its own.

    `turned_away`, `target` and `cut` are of both: without a target neither leads anywhere.
    """

    def __init__(self, path: str, target: str = "", listen: str = "127.0.0.1:0") -> None:
        """Raises OSError if nobody can listen there."""
        self.unix_socket = _UnixSocketProxy(self, path)
        self.unix_socket_target = ""  # the glue's socket
        try:
            super().__init__(target, listen)
        except BaseException:
            self.unix_socket.close()
            raise

    def cut(self) -> None:
        """Break what is connected now, with what is under way."""
        self.unix_socket.cut()
        super().cut()
        self.cuts = max(self.cuts, self.unix_socket.cuts)

    def close(self) -> None:
        """End the threads and every socket, once."""
        self.unix_socket.close()
        super().close()


class _UnixSocketProxy(TcpProxy):
    """The Unix socket, which leads where its road leads."""

    def __init__(self, road: UnixProxy, path: str) -> None:
        self._road = road
        super().__init__("", path)

    def _to(self) -> str:
        return self._road.unix_socket_target if self._road.target else ""

    def _note_turned_away(self) -> None:
        self._road.turned_away += 1
