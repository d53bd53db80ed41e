"""RL-Glue 3's Python codec: its peers in their own processes, and the leanest hub there can be.

The hub speaks RL-Glue's network protocol ("RL-Glue 3.0 Codec Development", 2009): each message
is two big-endian int32, what it is and how many bytes follow. The program of the benchmark is the
codec's, and asks the hub over a connection of its own, as with RL-Glue; or it is one process with
the hub, which favours the codec.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rlglue import RLGlue
from rlglue.agent.ClientAgent import ClientAgent
from rlglue.environment.ClientEnvironment import ClientEnvironment
from rlglue.types import Action, Observation, Reward_observation_terminal

from speed.launches import Helper, serve
from speed.light import NUMBERS, Light

EXPERIMENT_CONNECTION, AGENT_CONNECTION, ENVIRONMENT_CONNECTION = 1, 2, 3
AGENT_INIT, AGENT_START, AGENT_STEP = 4, 5, 6
ENV_INIT, ENV_START, ENV_STEP = 11, 12, 13
RL_INIT, RL_START, RL_STEP, RL_CLEANUP, RL_EPISODE = 20, 21, 22, 23, 27
TERMINATE = 35

_HEAD = struct.Struct("!ii")
_INT = struct.Struct("!i")
_DOUBLE = struct.Struct("!d")
_SIZES = struct.pack("!iii", 0, NUMBERS, 0)  # ints, doubles and chars of an observation
_ACTION = struct.Struct("!iiii")  # sizes, and one int


def lean(environment: str) -> None:
    """Hub and program in one; `environment` is here as well, or served, by the codec."""
    with joined(environment) as (agent, step):

        def measure(steps: int) -> dict[str, float]:
            """Seconds for so many RL_step."""
            action = start(agent, step)[1]
            began = time.perf_counter()
            for _ in range(steps):
                action = agent.ask(AGENT_STEP, step(action))
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)


def program() -> None:
    """The codec's program; the hub, agent and environment have processes of their own."""
    with Helper("rl_glue", "hub") as hub:
        os.environ["RLGLUE_PORT"] = hub.line()
        with contextlib.redirect_stdout(sys.stderr):
            RLGlue.RL_init()

        def measure(steps: int, routine: str = "step") -> dict[str, float]:
            """Seconds for so many steps."""
            RLGlue.RL_start()
            began = time.perf_counter()
            if routine == "episode":
                RLGlue.RL_episode(steps)
            else:
                for _ in range(steps):
                    RLGlue.RL_step()
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)
        RLGlue.RL_cleanup()


def hub() -> None:
    """Carry out one program's routines, until RL_cleanup."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        asking = Line(listener.accept()[0])
    asking.receive(EXPERIMENT_CONNECTION)
    with joined("served") as (agent, step):
        what, action = -1, b""
        while what != RL_CLEANUP:
            what, body = asking.next()
            answer = b""
            if what == RL_INIT:
                answer = _INT.pack(0)
            elif what == RL_START:
                seen, action = start(agent, step)
                answer = seen + action
            elif what == RL_STEP:
                earned = step(action)
                action = agent.ask(AGENT_STEP, earned)
                answer = _INT.pack(0) + earned + action
            elif what == RL_EPISODE:
                _, action = start(agent, step)
                for _ in range(_INT.unpack(body)[0]):
                    action = agent.ask(AGENT_STEP, step(action))
                answer = _INT.pack(0)
            asking.send(what, answer)


@contextmanager
def joined(environment: str) -> Iterator[tuple[Peer, Step]]:
    """An agent and an environment, ready to start."""
    with ExitStack() as closing:
        agent = closing.enter_context(Peer("agent", AGENT_CONNECTION))
        agent.ask(AGENT_INIT, _INT.pack(0))
        if environment == "here":
            yield agent, light_steps()
            return
        served = closing.enter_context(Peer("environment", ENVIRONMENT_CONNECTION))
        served.ask(ENV_INIT, b"")
        yield agent, served_steps(served)


def start(agent: Peer, step: Step) -> tuple[bytes, bytes]:
    """First observation and action."""
    seen = step(b"")[_DOUBLE.size :]
    return seen, agent.ask(AGENT_START, seen)


Step = Callable[[bytes], bytes]
"""From an action's bytes, or none to start, to those of reward and observation."""


def light_steps() -> Step:
    """Steps of the light environment in this process."""
    light = Light()

    def step(action: bytes) -> bytes:
        reward, seen = light.step(_ACTION.unpack(action)[-1]) if action else (0.0, light.reset())
        return _DOUBLE.pack(reward) + _SIZES + seen.astype(">f8").tobytes()

    return step


def served_steps(environment: Peer) -> Step:
    """Steps of an environment that is served by the codec."""

    def step(action: bytes) -> bytes:
        if not action:
            return _DOUBLE.pack(0.0) + environment.ask(ENV_START, b"")
        return environment.ask(ENV_STEP, action)[_INT.size :]  # behind the terminal flag

    return step


class Line:
    """A connection of the protocol."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, what: int, body: bytes) -> None:
        """One message."""
        self._connection.sendall(_HEAD.pack(what, len(body)) + body)

    def receive(self, wanted: int) -> bytes:
        """The body of a message, which is the `wanted` one."""
        got, body = self.next()
        if got != wanted:
            raise ValueError(f"got message {got}, wanted {wanted}")
        return body

    def next(self) -> tuple[int, bytes]:
        """The next message: its kind and its body. Raises EOFError."""
        what, size = _HEAD.unpack(self._read(_HEAD.size))
        return what, self._read(size) if size else b""

    def close(self) -> None:
        """End it."""
        self._connection.close()

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (more := self._connection.recv(size - len(data))):
                raise EOFError("the other end has left")
            data += more
        return data


class Peer:
    """An agent or an environment of the codec, in its own process; a context manager."""

    def __init__(self, role: str, connection: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._helper = Helper("rl_glue", role, str(listener.getsockname()[1]))
            self._line = Line(listener.accept()[0])
        self._line.receive(connection)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: Any) -> None:
        self._line.send(TERMINATE, b"")
        self._helper.__exit__(None, None, None)
        self._line.close()

    def ask(self, what: int, body: bytes) -> bytes:
        """The body of the answer."""
        self._line.send(what, body)
        return self._line.receive(what)


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
        case ["program"]:
            program()
        case ["hub"]:
            hub()
        case ["agent"]:
            peer("agent", int(os.environ["RLGLUE_PORT"]))
        case [environment]:
            lean(environment)
        case [role, port]:
            peer(role, int(port))
