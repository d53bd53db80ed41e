"""A server that speaks OpenEnv's protocol without its package, and misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

SCHEMAS: Mapping[str, Any] = {
    "action": {"type": "object", "properties": {"n": {"enum": ["a", "b"]}}},
    "observation": {
        "type": "object",
        "properties": {
            "x": {"type": "number", "minimum": 0},
            "place": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "word": {"type": "string", "maxLength": 4},
            "kind": {"enum": ["low", "high"]},
            "count": {"type": "integer", "minimum": 0, "maximum": 99},
            "more": {"type": "object", "properties": {"flag": {"type": "boolean"}}},
        },
    },
    "state": {},
}


def good(ticks: int) -> dict[str, Any]:
    """An answer as it should be."""
    seen = {
        "x": ticks / 2,
        "place": [0.0, 1],
        "word": "wört",
        "kind": "high",
        "count": ticks,
        "more": {"flag": True},
    }
    return {"observation": seen, "reward": 0.5, "done": ticks >= 4}


def _without(*path: str) -> Callable[[dict[str, Any]], Any]:
    def change(data: dict[str, Any]) -> Any:
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return data

    return change


def _with(value: Any, *path: str) -> Callable[[dict[str, Any]], Any]:
    def change(data: dict[str, Any]) -> Any:
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return data

    return change


BAD_DATA: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "no observation": _without("observation"),
    "observation is a list": _with([1], "observation"),
    "lacks a property": _without("observation", "x"),
    "lacks a nested property": _without("observation", "more", "flag"),
    "nested is a number": _with(3, "observation", "more"),
    "text for a number": _with("1.5", "observation", "x"),
    "boolean for a number": _with(True, "observation", "x"),
    "null for a number": _with(None, "observation", "x"),
    "object for a number": _with({}, "observation", "x"),
    "array for a number": _with([1.0], "observation", "x"),
    "longer array": _with([0.0, 1.0, 2.0], "observation", "place"),
    "text for an array": _with("01", "observation", "place"),
    "ragged array": _with([0.0, [1.0]], "observation", "place"),
    "text in an array": _with([0.0, "1"], "observation", "place"),
    "null in an array": _with([0.0, None], "observation", "place"),
    "longer text": _with("worte", "observation", "word"),
    "text with NUL": _with("a\0b", "observation", "word"),
    "half a surrogate pair": _with("\ud800", "observation", "word"),
    "number for a text": _with(7, "observation", "word"),
    "another choice": _with("middle", "observation", "kind"),
    "list for a choice": _with(["low"], "observation", "kind"),
    "integer out of bounds": _with(100, "observation", "count"),
    "huge integer": _with(2**70, "observation", "count"),
    "unsigned integer": _with(2**63 + 5, "observation", "count"),
    "half an integer": _with(1.5, "observation", "count"),
    "reward is a text": _with("1", "reward"),
    "reward is huge": _with(10**400, "reward"),
    "done is a number": _with(1, "done"),
    "done is missing": _without("done"),
}
"""Changes of what is in an answer."""

BAD_TEXTS: Mapping[str, str] = {
    "html": "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
    "half": '{"type": "observation", "data": {"observation": {"x": 1',
    "empty": "",
    "list": "[]",
    "number": "3",
    "nan": '{"type": "observation", "data": {"observation": {}, "reward": NaN, "done": false}}',
    "infinity": '{"type": "observation", "data": {"reward": -Infinity, "done": false}}',
    "deep": "[" * 100_000,
    "many digits": "9" * 100_000,
    "another type": '{"type": "state", "data": {}}',
    "no type": '{"data": {}}',
    "no data": '{"type": "observation"}',
    "data is a list": '{"type": "observation", "data": []}',
    "error": '{"type": "error", "data": {"code": "EXECUTION_ERROR", "message": "it broke"}}',
    "error without words": '{"type": "error", "data": {}}',
    "error of odd words": '{"type": "error", "data": {"code": [1], "message": {"a": "\\u001b"}}}',
}
"""Messages in the place of an answer."""


@dataclass
class BentServer:
    """Plays `good`, but in sockets of `failing`, by number from 1, it answers the second step by
    `fails`: a name of BAD_DATA or BAD_TEXTS, or `hangs`, `leaves`, `huge`, `bytes`.
    """

    fails: str = ""
    failing: tuple[int, ...] = (1,)
    schemas: str = field(default_factory=lambda: json.dumps(SCHEMAS))
    status: HTTPStatus = HTTPStatus.OK
    together: threading.Barrier | None = None  # of the steps that are answered together
    ended: threading.Event = field(default_factory=threading.Event)
    count: int = 0
    closed: int = 0  # by a `close` message
    connections: list[ServerConnection] = field(default_factory=list)

    def answer_http(self, connection: ServerConnection, request: Any) -> Any:
        """The schemas."""
        if request.path == "/ws":
            return None
        return connection.respond(self.status, self.schemas)

    def play(self, connection: ServerConnection) -> None:
        """Answer one message after another."""
        self.count += 1
        self.connections.append(connection)
        fails, ticks = self.fails if self.count in self.failing else "", 0
        try:
            for text in connection:
                message = json.loads(text)
                match message["type"]:
                    case "close":
                        self.closed += 1
                        return
                    case "state":
                        _send(connection, "state", {})
                        continue
                    case "reset":
                        ticks = 0
                    case "step":
                        if self.together is not None:
                            self.together.wait(10)
                        ticks += 1
                if ticks == 2 and fails:
                    if not self._fail(connection, fails, good(ticks)):
                        return
                else:
                    _send(connection, "observation", good(ticks))
        except ConnectionClosed:
            pass

    def _fail(self, connection: ServerConnection, how: str, data: dict[str, Any]) -> bool:
        """Whether it goes on."""
        match how:
            case "hangs":
                self.ended.wait(60)
            case "leaves":
                return False
            case "huge":
                connection.send("x" * (17 * 2**20))
            case "bytes":
                connection.send(b"\xff\xfe{")
            case _ if how in BAD_TEXTS:
                connection.send(BAD_TEXTS[how])
            case _:
                _send(connection, "observation", BAD_DATA[how](data))
        return True


@contextmanager
def bent(server: BentServer, *, at: int = 0) -> Iterator[str]:
    """Its URL, until the block ends; `at` is its port."""
    with serve(
        server.play, "127.0.0.1", at, process_request=server.answer_http, max_size=2**20
    ) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.socket.getsockname()[1]}"
        finally:
            server.ended.set()
            listening.shutdown()
            for connection in server.connections:  # before version 17 they stay open
                connection.close()
            thread.join(30)


def _send(connection: ServerConnection, kind: str, data: Any) -> None:
    connection.send(json.dumps({"type": kind, "data": data}))
