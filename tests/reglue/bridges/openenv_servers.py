"""Servers of OpenEnv: its package's own, and one that plays a game and misbehaves."""

from __future__ import annotations

import json
import math
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

import openenv.cli.templates
import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State
from pydantic import BaseModel, Field
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve


class Gear(StrEnum):
    """An enumeration of strings."""

    LOW, HIGH = "low", "high"


class Pose(BaseModel):
    """A nested object."""

    at: tuple[float, float, float]
    legs: tuple[int, str] = (4, "none")


class Push(Action):  # type: ignore[misc]
    """Each kind of property that is a tensor."""

    push: Annotated[list[float], Field(min_length=2, max_length=2)]
    gear: Gear
    level: int = Field(ge=-1, lt=3)
    say: str = Field(max_length=8)
    is_fast: bool = False


class Seen(Observation):  # type: ignore[misc]
    """The same of observations."""

    pose: Pose
    ticks: int
    grid: Annotated[
        list[Annotated[list[int], Field(min_length=2, max_length=2)]],
        Field(min_length=2, max_length=2),
    ]
    mood: Literal["glad", "sad", 7] = "glad"
    heard: str = ""
    last: float | None = None
    odd: bool = False


class Game(Environment):  # type: ignore[misc]
    """A point that is pushed about."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    length = 5

    def reset(self, seed: int | None = None, length: int = 5, **_: Any) -> Seen:
        """Begin."""
        self.rng = random.Random(self.seed_of(seed))
        self.at, self.ticks, self.length = [self.rng.gauss(0, 1) for _ in range(3)], 0, length
        return self.seen(None, "", None)

    def seed_of(self, seed: int | None) -> int | None:
        """The seed that is drawn from."""
        return seed

    def step(self, action: Push, **_: Any) -> Seen:
        """Move."""
        if action.say == "crash":
            raise RuntimeError("the point is lost")
        for axis, push in enumerate(action.push):
            self.at[axis] += 0.1 * push * (action.level + 2 + (action.gear is Gear.HIGH))
        self.at[2] = math.sin(sum(self.at)) + 0.01 * self.rng.gauss(0, 1) + action.is_fast
        self.ticks += 1
        return self.seen(self.at[2] / 3, action.say, self.at[2])

    def seen(self, reward: float | None, heard: str, last: float | None) -> Seen:
        """What there is to see."""
        return Seen(
            pose=Pose(at=(self.at[0], self.at[1], self.at[2]), legs=(self.ticks, "é")),
            ticks=self.ticks,
            grid=[[self.ticks] * 2, [-1, 0]],
            mood=("glad", "sad", 7)[self.ticks % 3],
            heard=heard,
            last=last,
            odd=self.ticks % 2 == 1,
            reward=reward,
            done=self.ticks >= self.length,
            metadata={"any": {"thing": [1, None]}},
        )

    @property
    def state(self) -> State:
        """Nothing."""
        return State()


class Careless(Game):
    """Ignores its seed."""

    def seed_of(self, seed: int | None) -> int | None:
        """Another one each time."""
        return None


class Tools(MCPEnvironment):  # type: ignore[misc]
    """Has a tool, and no actions of its own."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        mcp = FastMCP("tools")
        mcp.tool(lambda message: message, name="echo_message")
        super().__init__(mcp)

    def reset(self, seed: int | None = None, **_: Any) -> Observation:
        """Begin."""
        return Observation()

    def _step_impl(self, action: Any, **_: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        """Nothing."""
        return State()


def app_of(environment: Any, most: int = 16) -> Any:
    """The package's app of Game, of a class derived from it, or of Tools."""
    kinds = (CallToolAction, CallToolObservation) if environment is Tools else (Push, Seen)
    return create_fastapi_app(environment, *kinds, max_concurrent_envs=most)


@contextmanager
def served(app: Any, at: int = 0) -> Iterator[str]:
    """An app's URL, until the block ends; `at` is the port, 0 any."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    with socket.create_server(("127.0.0.1", at)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def example(folder: Path) -> Iterator[str]:
    """The URL of the package's example, until the block ends."""
    (template,) = Path(openenv.cli.templates.__path__[0]).glob("openenv_env")
    names = {"__ENV_NAME__": "echo", "__ENV_CLASS_NAME__": "Echo", "__ENV_TITLE_NAME__": "Echo"}
    for path in template.rglob("*.py"):
        text, name = path.read_text(), str(path.relative_to(template))
        for placeholder, value in names.items():
            text, name = text.replace(placeholder, value), name.replace(placeholder, value)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    words = [sys.executable, "-m", "uvicorn", "server.app:app", "--port", "0"]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            lines = iter(server.stderr.readline, "")
            running = next(line for line in lines if "running on" in line)
            yield running.split("running on ")[1].split()[0]
        finally:
            server.terminate()
            server.communicate(timeout=30)


# One that misbehaves.

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


if __name__ == "__main__":  # serves Game at a port until it is killed
    with served(app_of(Game), at=int(sys.argv[1])) as where:
        print(where, flush=True)
        threading.Event().wait()
