"""OpenEnv: the light environment is served over its WebSocket, and its generic client steps it, or
`make_vec` through our bridge in so many slots.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from typing import Annotated, Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.generic_client import GenericEnvClient
from pydantic import Field

from reglue.gymnasium import make_vec
from speed.contenders.stepped_contender import steps_of
from speed.launches import Helper, serve
from speed.light import NUMBERS, Light


class Move(Action):  # type: ignore[misc]
    """An action."""

    action: Annotated[int, Field(ge=0, lt=2)]


class Seen(Observation):  # type: ignore[misc]
    """An observation."""

    numbers: Annotated[list[float], Field(min_length=NUMBERS, max_length=NUMBERS)]


class Served(Environment):  # type: ignore[misc]
    """The light environment as OpenEnv has it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._light = Light()

    def reset(self, **_asked: object) -> Seen:
        """Begin again."""
        return Seen(numbers=self._light.reset().tolist(), reward=0.0)

    def step(self, action: Move, **_asked: object) -> Seen:
        """Take a step."""
        reward, seen = self._light.step(action.action)
        return Seen(numbers=seen.tolist(), reward=reward)

    @property
    def state(self) -> State:
        """Nothing: it is not used."""
        return State()


def main() -> None:
    """The client."""
    with (
        Helper("openenv_turns", "serve") as helper,
        GenericEnvClient(base_url=helper.line()) as client,
    ):
        serve(lambda steps: _measure(client, steps))


def bridged(slots: int) -> None:
    """Our client."""
    with Helper("openenv_turns", "serve") as helper:
        steps_of(make_vec(f"openenv:{helper.line()}", slots))


def _measure(client: Any, steps: int) -> dict[str, float]:
    client.reset()
    began = time.perf_counter()
    for _ in range(steps):
        client.step({"action": 0})
    return {"seconds": time.perf_counter() - began, "steps": steps}


def serve_environment() -> None:
    """The server, until its input ends."""
    app = create_fastapi_app(Served, Move, Seen, max_concurrent_envs=64)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()
        server.should_exit = True
        thread.join(5.0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["bridged", slots]:
            bridged(int(slots))
        case ["serve"]:
            serve_environment()
