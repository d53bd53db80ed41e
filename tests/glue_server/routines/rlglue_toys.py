"""RL-Glue's toys: an environment and an agent that say every routine in the original's words.

The environment ends after `length` steps; observation and reward are the number of the
step. The agent plays 100, 101, and so on, from 100 again after agent_init.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from reglue import Agent, Ends, Starts, Steps, TaskSpec, TensorSpec
from reglue.environments.environment import Earned, Environment
from reglue.spec import Array, Arrays

SPEC = TaskSpec(
    observations=(
        TensorSpec("ints", "int32", (1,)),
        TensorSpec("doubles", "float64", (1,)),
        TensorSpec("chars", "uint8", (2,)),
    ),
    actions=(TensorSpec("ints", "int32", (1,)),),
)


class ToyEnvironment(Environment):
    def __init__(self, log: Callable[..., None], reply: Callable[[str], str], length: int) -> None:
        self._log, self._reply, self._length = log, reply, length

    def env_init(self, slots: int) -> TaskSpec:
        self._log("env_init", (), ("TS",))
        return SPEC

    def env_start(self, cells: Mapping[int, Any]) -> Arrays:
        self._step = 0
        self._log("env_start", (), (0,))
        return self._observation()

    def env_step(self, actions: Arrays, slots: Array) -> Earned:
        self._step += 1
        over = self._step >= self._length
        taken = int(actions["ints"][0, 0])
        self._log("env_step", (taken,), (self._step, self._step, int(over)))
        return Earned([self._step], self._observation(), terminated=over)

    def env_message(self, message: str) -> str:
        self._log("env_message", (message,), (self._reply(message),))
        return self._reply(message)

    def env_cleanup(self) -> None:
        self._log("env_cleanup", (), ())

    def _observation(self) -> dict[str, Array]:
        return observation(self._step)


class ToyAgent(Agent):
    def __init__(self, log: Callable[..., None], reply: Callable[[str], str]) -> None:
        self._log, self._reply = log, reply

    def agent_init(self, spec: TaskSpec) -> None:
        assert spec == SPEC
        self._next = 100
        self._log("agent_init", ("TS",), ())

    def agent_start(self, observations: Arrays, starts: Starts) -> Any:
        return self._act("agent_start", (), observations)

    def agent_step(self, rewards: Array, observations: Arrays, steps: Steps) -> Any:
        return self._act("agent_step", (float(rewards[0]),), observations)

    def agent_end(self, rewards: Array, observations: Arrays, ends: Ends) -> None:
        self._log("agent_end", (float(rewards[0]),), ())

    def agent_message(self, message: str) -> str:
        self._log("agent_message", (message,), (self._reply(message),))
        return self._reply(message)

    def agent_cleanup(self) -> None:
        self._log("agent_cleanup", (), ())

    def _act(self, routine: str, given: tuple[Any, ...], observations: Arrays) -> Any:
        action, self._next = self._next, self._next + 1
        self._log(routine, (*given, _seen(observations)), (action,))
        return [[action]]


def observation(step: int) -> dict[str, Array]:
    """One row: the step's number, a half, and `xy`."""
    return {
        "ints": np.array([[step]], np.int32),
        "doubles": np.array([[0.5]]),
        "chars": np.frombuffer(b"xy", np.uint8)[None],
    }


def _seen(observations: Arrays) -> int:
    step = int(observations["ints"][0, 0])
    assert all(np.array_equal(observations[name], part) for name, part in observation(step).items())
    return step


# How routines are written down. `given` and `answer` are numbers and strings: observations
# and actions by their only number that changes.


def direct(routine: str, given: tuple[Any, ...], answer: tuple[Any, ...]) -> list[str]:
    """As the original compiled into one program was made to print them."""
    words = ",".join(repr(each) if isinstance(each, str) else f"{each:g}" for each in given)
    match routine, answer:
        case "env_step", (reward, seen, terminal):
            return [f"  {routine}({words})->r={reward},o={seen},t={terminal}"]
        case "env_start" | "agent_start" | "agent_step", (only,):
            return [f"  {routine}({words})->{only}"]
    return [f"  {routine}({words})"]


_CODES = {
    "agent_init": ("agent", 4),
    "agent_start": ("agent", 5),
    "agent_step": ("agent", 6),
    "agent_end": ("agent", 7),
    "agent_cleanup": ("agent", 8),
    "agent_message": ("agent", 10),
    "env_init": ("env", 11),
    "env_start": ("env", 12),
    "env_step": ("env", 13),
    "env_cleanup": ("env", 14),
    "env_message": ("env", 19),
}


def wire(routine: str, given: tuple[Any, ...], answer: tuple[Any, ...]) -> list[str]:
    """As the original's sockets carry them: who, direction, code, payload."""
    who, code = _CODES[routine]
    match routine:
        case "env_start":
            payloads = (b"", observed(*answer))
        case "env_step":
            payloads = (acted(*given), stepped(*answer))
        case "agent_start":
            payloads = (observed(*given), acted(*answer))
        case "agent_step":
            payloads = (double(given[0]) + observed(given[1]), acted(*answer))
        case "agent_end":
            payloads = (double(*given), b"")
        case _:
            payloads = (text(*given), text(*answer))
    return [said(who, "recv", code, payloads[0]), said(who, "send", code, payloads[1])]


def said(who: str, direction: str, code: int, payload: bytes = b"") -> str:
    return f"{who} {direction} {code} {payload.hex()}".rstrip()


def text(words: str | None = None) -> bytes:
    return b"" if words is None else struct.pack(">i", len(words)) + words.encode()


def double(number: float) -> bytes:
    return struct.pack(">d", number)


def acted(action: int | None) -> bytes:
    """An abstract type of one int; None is no action."""
    return struct.pack(">iii", 0, 0, 0) if action is None else struct.pack(">iiii", 1, 0, 0, action)


def observed(step: int) -> bytes:
    return struct.pack(">iiiid", 1, 1, 2, step, 0.5) + b"xy"


def stepped(reward: float, step: int, terminal: int) -> bytes:
    return struct.pack(">id", terminal, reward) + observed(step)
