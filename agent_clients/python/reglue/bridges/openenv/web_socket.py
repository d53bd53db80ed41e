"""Connections to an OpenEnv server: its schemas by HTTP, and a WebSocket for each environment.

Every wait has a deadline, and the size of a message is checked before it is parsed.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from reglue.bridges.server_worlds import PAUSES, Wait
from reglue.error_message import brief, error_text
from reglue.errors import (
    BadArgument,
    EnvironmentFault,
    EnvironmentFull,
    EnvironmentLost,
    EnvironmentTimeout,
    IllegalAction,
    MissingExtra,
)

try:
    from websockets.exceptions import (
        ConnectionClosed,
        InvalidHandshake,
        InvalidStatus,
        PayloadTooBig,
        WebSocketException,
    )
    from websockets.sync.client import ClientConnection, connect
except ModuleNotFoundError as error:
    raise MissingExtra("OpenEnv", "openenv", f"the package {error.name}") from error

MOST_BYTES = 16 * 2**20
"""The largest message."""

_PIECE = 2**16  # the most bytes of one read
_CLOSE_S = 1.0
_AWAY = (502, 503, 504)  # a proxy's statuses for a server that it cannot reach

_T = TypeVar("_T")

Request: TypeAlias = tuple[str, Any]
"""A message's type, and its data; None for none."""

_ANSWERS = {"reset": "observation", "step": "observation", "state": "state"}


class Server:
    """The addresses of one server."""

    def __init__(self, url: str) -> None:
        """`url` is http(s)://HOST:PORT, perhaps with a path. Raises BadArgument."""
        given: object = url
        try:
            parts = urlsplit(url if isinstance(given, str) else "")
            self._port = parts.port
        except ValueError:  # the port is not a number, or too large
            parts, self._port = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise BadArgument("OpenEnv", got=brief(url), wanted="http://HOST:PORT of its server")
        self.url = url.rstrip("/")
        self._host, self._is_tls = parts.hostname, parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self.socket_url = f"ws{self.url.removeprefix('http')}/ws"

    def schemas(self, timeout_s: float, *, is_patient: bool) -> Mapping[str, Any]:
        """The JSON object at /schema.

        `is_patient`: try until that time is over, then raise EnvironmentLost. Raises
        EnvironmentFault.
        """
        wait = Wait(timeout_s)
        what = f"GET {self._path}/schema"
        return _tried(what, lambda: self._schemas(wait), wait, is_patient=is_patient)

    def _schemas(self, wait: Wait) -> Mapping[str, Any]:
        """Raises EnvironmentFault; OSError if the server is away."""
        path, timeout_s = f"{self._path}/schema", wait.left_s
        kind = HTTPSConnection if self._is_tls else HTTPConnection
        with ExitStack() as stack:
            connection = kind(self._host, self._port, timeout=timeout_s)
            stack.callback(connection.close)
            try:
                connection.connect()
                watch = Timer(wait.left_s, _shut, [connection.sock])  # also if bytes trickle in
                stack.callback(watch.join)
                stack.callback(watch.cancel)
                watch.start()
                connection.request("GET", path, headers={"Accept": "application/json"})
                response = stack.enter_context(connection.getresponse())
                body = b""
                while len(body) <= MOST_BYTES and (piece := response.read1(_PIECE)):
                    body += piece
            except HTTPException as error:
                raise EnvironmentFault(f"GET {path}: {error_text(error)}") from None
            except OSError:
                if wait.left_s:
                    raise
        if not wait.left_s:
            raise EnvironmentTimeout(f"GET {path}: no answer within {wait.timeout_s:g} s")
        if response.status in _AWAY:
            raise ConnectionError(f"status {response.status}")
        if response.status != 200:
            got = f"status {response.status}, {brief(body.decode(errors='replace'))}"
            raise EnvironmentFault(f"GET {path}", got=got, wanted="the schemas of its environment")
        return json_object(f"GET {path}", body)


class SocketStream:
    """A slot's WebSocket: one environment of the server."""

    def __init__(self, url: str, *, is_patient: bool) -> None:
        """`is_patient`: try to connect until the answers are late, then raise EnvironmentLost."""
        self.owed = 0  # answers that are still to be received
        self.has_failed = False
        self.has_joined = False
        self._url, self._is_patient = url, is_patient
        self._socket: ClientConnection | None = None
        self._closing = ExitStack()

    def send(self, requests: Sequence[Request], wait: Wait) -> None:
        """Send messages. The first call connects.

        Raises EnvironmentFault or EnvironmentLost if it cannot connect. A connection that has ended
        is reported by `receive`.
        """
        if self._socket is None:
            self._socket = self._connect(wait)
        for kind, data in requests:
            message = {"type": kind} if data is None else {"type": kind, "data": data}
            self.owed += 1
            with suppress(ConnectionClosed):  # what the server said before is still to be received
                self._socket.send(json.dumps(message, separators=(",", ":"), allow_nan=False))

    def receive(self, requests: Sequence[Request], wait: Wait) -> list[Mapping[str, Any] | None]:
        """The data of the answers, None for `close`.

        Raises EnvironmentFault, and IllegalAction if the server refused the form of an action.
        """
        answers: list[Mapping[str, Any] | None] = []
        for kind, _ in requests:
            answers.append(self._answer(kind, wait))
            self.owed -= 1
        return answers

    def close(self) -> None:
        """End the connection."""
        self._closing.close()

    def _connect(self, wait: Wait) -> ClientConnection:
        def connected() -> ClientConnection:
            return self._closing.enter_context(_connected(self._url, wait))

        return _tried("no connection", connected, wait, is_patient=self._is_patient)

    def _answer(self, kind: str, wait: Wait) -> Mapping[str, Any] | None:
        assert self._socket is not None, "something was sent"
        try:
            message = self._socket.recv(timeout=wait.left_s)
        except TimeoutError:
            raise EnvironmentTimeout(f"no answer to {kind} within {wait.timeout_s:g} s") from None
        except ConnectionClosed as error:
            if kind == "close":
                return None
            raise _ended(error) from None
        answer = json_object(f"the answer to {kind}", message)
        got, data = answer.get("type"), answer.get("data")
        if not isinstance(data, dict) or got not in (_ANSWERS.get(kind), "error"):
            wanted = f"one of the type {_ANSWERS.get(kind)} with data"
            raise EnvironmentFault(f"the answer to {kind}", got=brief(answer), wanted=wanted)
        if got == "error":
            self._refused(kind, data)
        return data

    def _refused(self, kind: str, data: Mapping[str, Any]) -> None:
        """Raise the server's error, unless it says that the environment has no state yet."""
        code, message = data.get("code"), brief(data.get("message"))
        if code == "CAPACITY_REACHED":
            most = data.get("max_sessions")
            got = f"{most} environments at once as its limit" if type(most) is int else message
            wanted = "fewer slots and runs at a time, or a server with a larger max_concurrent_envs"
            raise EnvironmentFull(got=got, wanted=wanted)
        if kind == "step" and code == "VALIDATION_ERROR":
            self.owed -= 1
            raise IllegalAction(f"it refused the action: {brief(data.get('errors'))}")
        if code in ("EXECUTION_ERROR", "VALIDATION_ERROR"):
            if kind == "state":
                return
            self.owed -= 1
        raise EnvironmentFault(f"it answered {kind} by {brief(code)}: {message}")


def _tried(what: str, call: Callable[[], _T], wait: Wait, *, is_patient: bool) -> _T:
    """The result of a call to a server; the call raises OSError while the server is away.

    `is_patient`: it is called again until the answers are late; then EnvironmentLost is raised.
    Errors begin with `what`. Raises EnvironmentFault.
    """
    tries = PAUSES.within(wait.left_s)
    while True:
        try:
            return call()
        except OSError as error:
            text = f"{what}: {error_text(error)}"
            if not is_patient:
                raise EnvironmentFault(text) from None
            if (pause_s := tries.pause_s()) is None:
                raise EnvironmentLost(f"{text}, for {wait.timeout_s:g} s") from None
            time.sleep(pause_s)


def json_object(what: str, text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises EnvironmentFault."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        got = text if isinstance(text, str) else text.decode(errors="replace")
        raise EnvironmentFault(what, got=brief(got), wanted="JSON without NaN") from None
    if type(value) is not dict:
        raise EnvironmentFault(what, got=brief(value), wanted="a JSON object")
    return value


def _refuse_constant(constant: str) -> Any:
    raise ValueError(constant)


@contextmanager
def _connected(url: str, wait: Wait) -> Iterator[ClientConnection]:
    """A connection, which ends with the block. Raises EnvironmentFault, OSError."""
    with ExitStack() as stack:
        try:
            connecting = connect(
                url,
                compression=None,  # costs more than it saves, and may unpack to more than was sent
                proxy=None,
                open_timeout=wait.left_s,
                ping_interval=None,  # answers have deadlines
                close_timeout=_CLOSE_S,
                max_size=MOST_BYTES,
                max_queue=1,  # at most one answer is awaited
            )
            connection = stack.enter_context(connecting)
        except (ConnectionClosed, InvalidHandshake) as error:
            if _is_away(error):
                raise ConnectionError(error_text(error)) from None
            raise EnvironmentFault(f"no connection: {error_text(error)}") from None
        seconds = struct.pack("ll", max(1, int(wait.timeout_s)), 0)
        with suppress(OSError):  # it has ended; `receive` reports it
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
        yield connection


def _is_away(error: WebSocketException) -> bool:
    """Whether a handshake failed because the server ended, or a proxy cannot reach it."""
    if isinstance(error, InvalidStatus):
        return error.response.status_code in _AWAY
    return isinstance(error, ConnectionClosed) or isinstance(error.__cause__, EOFError)


def _ended(error: ConnectionClosed) -> EnvironmentFault:
    if isinstance(error.__cause__, PayloadTooBig):
        return EnvironmentFault(got=f"{error.__cause__}", wanted=f"at most {MOST_BYTES} bytes")
    return EnvironmentFault(f"it ended the connection: {error}")


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
