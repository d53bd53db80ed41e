"""Servers of OpenEnv's own package."""

from __future__ import annotations

import math
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
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
        """The observation of the state now."""
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


if __name__ == "__main__":  # serves Game at a port until it is killed
    with served(app_of(Game), at=int(sys.argv[1])) as where:
        print(where, flush=True)
        threading.Event().wait()
