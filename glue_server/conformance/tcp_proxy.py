"""Proxies between a peer and the glue, whose connections can be cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

from reglue.net.join_string import split_address


class TcpProxy:
    """Relays connections to `target`, which is `host:port` or a Unix socket's path.

    Without a target it refuses connections, as a host does if nobody listens. A context
    manager that closes it.
    """

    def __init__(self, target: str = "", listen: str = "127.0.0.1:0") -> None:
        """Listen at `listen`, an address like `target`. Raises BadArgument or OSError."""
        self.target = target
        self.cuts = 0  # those that broke a connection
        self.connections = 0  # that were relayed
        self.refused = 0  # connections that were not
        self.takes = threading.Event()  # cleared: it relays only what goes to those that connect
        self.takes.set()
        self._listener, self.address = _listening(listen)
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._acceptor = threading.Thread(target=self._accept, name="proxy-accept")
        self._acceptor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """Break the present connections; what is under way is lost."""
        with self._lock:
            self.cuts += bool(self._ends)
            for end in self._ends:
                _shut(end)

    def close(self) -> None:
        """End the threads and every socket, once."""
        if self._closed:
            return
        self._closed = True
        self.takes.set()
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            _connected(self.address, timeout_s=1.0).close()
        self._acceptor.join()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _to(self) -> str:
        return self.target

    def _note_refused(self) -> None:
        self.refused += 1

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._closed:
                near.close()
                return
            thread = threading.Thread(target=self._relay, args=(near,), name="proxy")
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _relay(self, near: socket.socket) -> None:
        """Relay bytes both ways until both ends are closed."""
        with near:
            try:
                far = _connected(self._to())
            except (OSError, ValueError):
                self._note_refused()
                return
            with far:
                _hurry(near, far)
                with self._lock:
                    if self._closed:
                        return
                    self.connections += 1
                    self._ends |= {near, far}
                back = threading.Thread(target=_pump, args=(far, near), name="proxy-back")
                back.start()
                _pump(near, far, self.takes)
                back.join()
                with self._lock:
                    self._ends -= {near, far}


def _pump(end: socket.socket, other: socket.socket, takes: threading.Event | None = None) -> None:
    """Relay what `end` gets, until it or the other is closed. Last words still come back."""
    with contextlib.suppress(OSError):
        while received := end.recv(1 << 18):
            if takes:
                takes.wait()  # until close() at the latest
            other.sendall(received)
    _shut(end, socket.SHUT_RD)
    _shut(other, socket.SHUT_WR)


def _shut(end: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(how)


def _listening(address: str) -> tuple[socket.socket, str]:
    """A listener and its address."""
    if "/" in address:
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(address)
            listener.listen()
        except BaseException:
            listener.close()
            raise
        return listener, address
    listener = socket.create_server(split_address(address))
    return listener, f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"


def _connected(address: str, timeout_s: float | None = None) -> socket.socket:
    if "/" not in address:
        return socket.create_connection(split_address(address), timeout=timeout_s)
    end = socket.socket(socket.AF_UNIX)
    try:
        end.settimeout(timeout_s)
        end.connect(address)
    except BaseException:
        end.close()
        raise
    return end


def _hurry(*ends: socket.socket) -> None:
    """Disable Nagle's algorithm."""
    for end in ends:
        if end.family != socket.AF_UNIX:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class UnixProxy(TcpProxy):
    """Relays to a glue's port, and from the Unix socket `path` to the glue's own.

    `refused`, `takes`, `target` and `cut` apply to both: without a target both refuse.
    """

    def __init__(self, path: str, target: str = "", listen: str = "127.0.0.1:0") -> None:
        """Listen at both. Raises BadArgument or OSError."""
        self.unix_socket = _UnixSocketProxy(self, path)
        self.unix_socket_target = ""  # the glue's socket
        try:
            super().__init__(target, listen)
        except BaseException:
            self.unix_socket.close()
            raise
        self.unix_socket.takes = self.takes

    def cut(self) -> None:
        self.unix_socket.cut()
        super().cut()
        self.cuts = max(self.cuts, self.unix_socket.cuts)

    def close(self) -> None:
        self.unix_socket.close()
        super().close()


class _UnixSocketProxy(TcpProxy):
    """The Unix socket of a UnixProxy."""

    def __init__(self, proxy: UnixProxy, path: str) -> None:
        self._proxy = proxy
        super().__init__("", path)

    def _to(self) -> str:
        return self._proxy.unix_socket_target if self._proxy.target else ""

    def _note_refused(self) -> None:
        self._proxy.refused += 1
