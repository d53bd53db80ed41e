"""OpenEnv: the light environment is served over its WebSocket, and its generic client steps it, or
`make_vec` through Reglue's bridge in so many slots.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.generic_client import GenericEnvClient
from pydantic import Field

from speed.contenders.served_contender import contend
from speed.launches import ContenderFailed, serve
from speed.light import NUMBERS, Light

_STARTS_S = 30.0


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


def step_by_their_client(url: str) -> None:
    """The client."""
    with GenericEnvClient(base_url=url) as client:
        serve(lambda steps: _measure(client, steps))


def _measure(client: Any, steps: int) -> dict[str, float]:
    client.reset()
    began = time.perf_counter()
    for _ in range(steps):
        client.step({"action": 0})
    return {"seconds": time.perf_counter() - began, "steps": steps}


@contextmanager
def serving() -> Iterator[str]:
    """The server's URL, until the block ends. Raises ContenderFailed."""
    app = create_fastapi_app(Served, Move, Seen, max_concurrent_envs=64)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            deadline = time.monotonic() + _STARTS_S
            while not server.started:
                if time.monotonic() > deadline or not thread.is_alive():
                    raise ContenderFailed(f"OpenEnv's server did not start within {_STARTS_S:g} s")
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(5.0)


if __name__ == "__main__":
    contend("openenv_turns", "openenv", client=step_by_their_client, server=serving)
