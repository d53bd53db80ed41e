"""RL-Glue 3's Python codec: its peers in their own processes, and the leanest hub there can be.

The hub speaks RL-Glue's network protocol ("RL-Glue 3.0 Codec Development", 2009): each message
is two big-endian int32, what it is and how many bytes follow. RL-Glue's own hub is a further
process; here the hub and the benchmark's program are one process, which favours the codec.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from rlglue.agent.ClientAgent import ClientAgent
from rlglue.environment.ClientEnvironment import ClientEnvironment
from rlglue.types import Action, Observation, Reward_observation_terminal

from speed.harness import Helper, serve
from speed.light import NUMBERS, Light

AGENT_CONNECTION, ENVIRONMENT_CONNECTION = 2, 3
AGENT_INIT, AGENT_START, AGENT_STEP = 4, 5, 6
ENV_INIT, ENV_START, ENV_STEP = 11, 12, 13
TERMINATE = 35

_HEAD = struct.Struct("!ii")
_INT = struct.Struct("!i")
_DOUBLE = struct.Struct("!d")
_SIZES = struct.pack("!iii", 0, NUMBERS, 0)  # ints, doubles and chars of an observation
_ACTION = struct.Struct("!iiii")  # sizes, and one int


def hub(environment: str) -> None:
    """`environment` is here, in the hub's process, or served, by the codec."""
    with ExitStack() as closing:
        agent = closing.enter_context(Peer("agent", AGENT_CONNECTION))
        agent.ask(AGENT_INIT, _INT.pack(0))
        step = light_steps()
        if environment == "served":
            served = closing.enter_context(Peer("environment", ENVIRONMENT_CONNECTION))
            served.ask(ENV_INIT, b"")
            step = served_steps(served)

        def measure(steps: int) -> dict[str, float]:
            """Seconds for so many RL_step."""
            action = agent.ask(AGENT_START, step(b"")[_DOUBLE.size :])
            began = time.perf_counter()
            for _ in range(steps):
                action = agent.ask(AGENT_STEP, step(action))
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)


Step = Callable[[bytes], bytes]
"""From an action's bytes, or none to start, to those of reward and observation."""


def light_steps() -> Step:
    """Of the light environment in this process."""
    light = Light()

    def step(action: bytes) -> bytes:
        reward, seen = light.step(_ACTION.unpack(action)[-1]) if action else (0.0, light.reset())
        return _DOUBLE.pack(reward) + _SIZES + seen.astype(">f8").tobytes()

    return step


def served_steps(environment: Peer) -> Step:
    """Of an environment that is served by the codec."""

    def step(action: bytes) -> bytes:
        if not action:
            return _DOUBLE.pack(0.0) + environment.ask(ENV_START, b"")
        return environment.ask(ENV_STEP, action)[_INT.size :]  # behind the terminal flag

    return step


class Peer:
    """An agent or an environment of the codec, in its own process; a context manager."""

    def __init__(self, role: str, connection: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._helper = Helper("rl_glue", role, str(listener.getsockname()[1]))
            self._line, _ = listener.accept()
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._receive(connection)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: Any) -> None:
        self._line.sendall(_HEAD.pack(TERMINATE, 0))
        self._helper.__exit__(None, None, None)
        self._line.close()

    def ask(self, what: int, body: bytes) -> bytes:
        """The body of the answer."""
        self._line.sendall(_HEAD.pack(what, len(body)) + body)
        return self._receive(what)

    def _receive(self, wanted: int) -> bytes:
        got, size = _HEAD.unpack(self._read(_HEAD.size))
        if got != wanted:
            raise ValueError(f"got message {got}, wanted {wanted}")
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._line.recv(size - len(data))
        return data


class Still:
    """The routines of the codec's Agent."""

    def agent_init(self, task: str) -> None:
        """Begin."""

    def agent_start(self, observation: Any) -> Any:
        """The first action."""
        return _still()

    def agent_step(self, reward: float, observation: Any) -> Any:
        """The next action."""
        return _still()

    def agent_cleanup(self) -> None:
        """The very end."""


class Served:
    """The routines of the codec's Environment."""

    def __init__(self) -> None:
        self._light = Light()

    def env_init(self) -> str:
        """The task."""
        return "light"

    def env_start(self) -> Any:
        """The first observation."""
        return _seen(self._light.reset())

    def env_step(self, action: Any) -> Any:
        """Take a step."""
        reward, seen = self._light.step(int(action.intArray[0]))
        return Reward_observation_terminal(reward, _seen(seen), False)

    def env_cleanup(self) -> None:
        """The very end."""


def peer(role: str, port: int) -> None:
    """Play `role` at the hub, until it ends."""
    if role == "agent":
        agent = ClientAgent(Still())
        agent.connect("127.0.0.1", port, 2)
        agent.runAgentEventLoop()
    else:
        environment = ClientEnvironment(Served())
        environment.connect("127.0.0.1", port, 2)
        environment.runEnvironmentEventLoop()


def _still() -> Any:
    action = Action()
    action.intArray = [0]
    return action


def _seen(numbers: Any) -> Any:
    observation = Observation()
    observation.doubleArray = numbers.tolist()
    return observation


if __name__ == "__main__":
    match sys.argv[1:]:
        case [environment]:
            hub(environment)
        case [role, port]:
            peer(role, int(port))
