"""A road beside which a Unix socket runs, that is cut with it."""

from __future__ import annotations

from glue_server.conformance.tcp_proxy import TcpProxy


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
