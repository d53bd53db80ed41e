"""A road between a partner and the glue that can be cut."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Road:
    """Passes bytes on to `target`; `cut` breaks every connection at once, with what is under way."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, wake = socket.socketpair()
        self._selector.register(wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._carry, name="road")
        self._closed = False
        self._thread.start()

    def cut(self) -> None:
        """Break what is connected now."""
        with self._lock:
            self.cuts += bool(self._pairs)
            for end in list(self._pairs):
                self._drop(end)

    def close(self) -> None:
        """End the thread and every socket, once."""
        if self._closed:
            return
        self._closed = True
        self._wake.send(b"x")
        self._thread.join()
        self.cut()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._wake.close()

    def _carry(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select():
                with self._lock:
                    if key.fileobj is self._listener:
                        self._connect()
                    elif key.fileobj in self._pairs:
                        self._pass_on(key.fileobj)  # type: ignore[arg-type]

    def _connect(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        for end, other in ((near, far), (far, near)):
            self._pairs[end] = other
            self._selector.register(end, selectors.EVENT_READ)

    def _pass_on(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if received := end.recv(65536):
                self._pairs[end].sendall(received)
                return
        self._drop(end)

    def _drop(self, end: socket.socket) -> None:
        other = self._pairs.pop(end, None)
        if other is None:
            return
        del self._pairs[other]
        for each in (end, other):
            self._selector.unregister(each)
            each.close()


@contextmanager
def road(target: str) -> Iterator[Road]:
    """A road that is closed at the end."""
    made = Road(target)
    try:
        yield made
    finally:
        made.close()
