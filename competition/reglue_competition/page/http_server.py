"""Serves the page over HTTP, to strangers: every connection and request has a deadline."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from reglue.errors import UsageError
from reglue_competition.page.app import Page
from reglue_competition.page.security import caller

CONNECTIONS = 600  # at once, `live.LISTENERS` of which may be streams; others are refused
OF_ADDRESS = 100  # of these, from one address
REQUEST_S = 10.0  # within which a connection must have sent its next request
READ_S = 20.0  # within which its other end must read some 48 KiB of what waits for it
_KEEP_ALIVE_S = 5
_LEAVE_S = 3  # for answers that are under way when the server ends
_HEAD_BYTES = 16 * 1024
_BACKLOG = 256


def server(
    page: Page, *, certificate: Path | None = None, key: Path | None = None
) -> uvicorn.Server:
    """The server of the page, with TLS if there is a certificate (PEM).

    `run(sockets=[listening(…)])` answers until SIGTERM or Ctrl-C.
    """
    config = uvicorn.Config(
        page.app(),
        http=_TimedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_LEAVE_S,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return _Server(config, page)


def listen(address: str) -> socket.socket:
    """A socket that listens at `HOST:PORT`; port 0 is any. Raises UsageError."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise UsageError(got=f"the address {address!r}", wanted="HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(
            (host.strip("[]"), int(port)), family=family, backlog=_BACKLOG, reuse_port=False
        )
    except (OSError, OverflowError) as error:
        raise UsageError(f"the page cannot listen at {address}: {error}") from error


class _Server(uvicorn.Server):
    """Ends the event streams first, which would never end by themselves."""

    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self._page = page

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._page.live.close()
        await super().shutdown(sockets)


class _TimedProtocol(H11Protocol):
    """Closes connections whose request is late, also one that is sent byte by byte.

    And those whose other end does not read what it asked for; and, of one address, those that are
    too many. Who asks again before an answer is complete gets that answer, and no other: each would
    be one more that waits to be read.
    """

    _seen: RequestResponseCycle | None = None
    _is_lost = False
    _taken_at = 0.0  # of the loop's clock: when the other end was last seen to read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        whose = caller(self.client)
        ours = [each for each in self.connections if isinstance(each, _TimedProtocol)]
        if whose and sum(whose == caller(each.client) for each in ours) > OF_ADDRESS:
            transport.abort()
            return
        self._taken_at = self.loop.time()
        self.loop.call_later(REQUEST_S, self._look)

    def data_received(self, data: bytes) -> None:
        """Take in a request, or what is left of it, and nothing before its answer is complete."""
        if not self._is_answering():
            super().data_received(data)
            if not (self._is_answering() and self.conn.trailing_data[0]):
                return
        assert self.cycle is not None, "it is answered"
        self.cycle.keep_alive = False
        self.flow.pause_reading()

    def _is_answering(self) -> bool:
        """Whether a whole request has come, and its answer is not complete."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._is_lost = True
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """The client has read most of its answer."""
        self._taken_at = self.loop.time()
        super().resume_writing()

    def _look(self) -> None:
        if self._is_lost:
            return
        if not self.transport.get_write_buffer_size():
            self._taken_at = self.loop.time()
        elif self.loop.time() - self._taken_at > READ_S:
            self.transport.abort()  # to close it would wait for the other end
            return
        cycle: RequestResponseCycle | None = self.cycle  # None: there was no request yet
        is_busy = cycle is not None and not cycle.response_complete
        if not is_busy and cycle is self._seen:
            self.transport.close()
        self._seen = cycle
        self.loop.call_later(REQUEST_S, self._look)
