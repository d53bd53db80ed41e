"""An agent, an environment and an experiment for RL-Glue's Python codec 2.02: `python FILE NAME`.

They use the codec as its examples do, and nothing of Reglue. Rewards are sums of numbers that
binary fractions cannot express, and actions depend on all that was seen, so that a bit that is lost
changes the rest of the run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rlglue import RLGlue
from rlglue.agent import AgentLoader
from rlglue.environment import EnvironmentLoader
from rlglue.types import Action, Observation, Reward_observation_terminal

TASK = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 0.9 OBSERVATIONS INTS (0 1000000) "
    "DOUBLES (-1000 UNSPEC) CHARCOUNT 2 ACTIONS INTS (0 9) DOUBLES (-1 1) "
    "REWARDS (-100 UNSPEC) EXTRA drift by the codec"
)


class Drift:
    """Steps until `length` are taken; a message `length N` changes that, others are echoed."""

    def __init__(self, length: int = 40) -> None:
        self._length = length
        self._step = 0
        self._place = 0.1

    def env_init(self) -> str:
        return TASK

    def env_start(self) -> Any:
        self._step, self._place = 0, 0.1
        return self._seen()

    def env_step(self, action: Any) -> Any:
        self._step += 1
        self._place += 0.1 * int(action.intArray[0]) + float(action.doubleArray[0]) / 3
        reward = self._place / 7 - 0.3
        return Reward_observation_terminal(reward, self._seen(), self._step >= self._length)

    def env_cleanup(self) -> None:
        self._length = 40

    def env_message(self, message: str) -> str:
        if message.startswith("length "):
            self._length = int(message.removeprefix("length "))
        return f"env got {message}"

    def _seen(self) -> Any:
        seen = Observation()
        seen.intArray, seen.doubleArray = [self._step * 17], [self._place]
        seen.charArray = [b"x", bytes([self._step % 256])]
        return seen


class Other(Drift):
    """Another bound of the first observation for each number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def env_init(self) -> str:
        return TASK.replace("1000000", f"100000{self._number}")


class Drifter:
    """Chooses by all that it has seen; a message `freeze` lets it choose by the last alone."""

    def __init__(self) -> None:
        self._task, self._sum, self._learns = "", 0.0, True

    def agent_init(self, task: str) -> None:
        self._task, self._sum, self._learns = task, 0.0, True

    def agent_start(self, seen: Any) -> Any:
        return self._act(0.0, seen)

    def agent_step(self, reward: float, seen: Any) -> Any:
        return self._act(reward, seen)

    def agent_end(self, reward: float) -> None:
        self._sum += reward if self._learns else 0.0

    def agent_cleanup(self) -> None:
        pass

    def agent_message(self, message: str) -> str:
        if message == "freeze":
            self._learns = False
        return f"{message}: {self._sum!r} {self._learns}"

    def _act(self, reward: float, seen: Any) -> Any:
        self._sum += reward if self._learns else 0.0
        number = self._sum + float(seen.doubleArray[0]) + byte(seen.charArray[1]) / 9
        chosen = Action()
        chosen.intArray = [int(abs(number) * 1000) % 10]
        chosen.doubleArray = [number % 2 - 1]
        return chosen


class Counting:
    """RL-Glue's routines by their names without RL_, as `play` wants them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(RLGlue, f"RL_{name.rstrip('_')}")


def play(rl: Any) -> list[Any]:
    """All that an experiment gets to know; `rl` has the routines of RL-Glue."""
    told: list[Any] = [rl.env_message("length 25"), rl.init().split()[1]]
    told += [rl.agent_message("hello"), rl.env_message("")]
    first = rl.start()
    told.append([*numbers(first.o), *numbers(first.a)])
    for _ in range(5):
        step = rl.step()
        told.append([step.r, step.terminal, *numbers(step.o), *numbers(step.a)])
    for most in (0, 0, 7, 100):
        told.append([rl.episode(most), rl.num_steps(), rl.num_episodes(), rl.return_()])
    told.append(rl.agent_message("freeze"))
    rl.cleanup()
    told.append([rl.init().split()[1], rl.episode(0), rl.num_steps(), rl.num_episodes()])
    rl.cleanup()
    return told


def numbers(one: Any) -> list[float]:
    """Of an abstract type."""
    chars = [byte(each) for each in one.charArray]
    return [*map(int, one.intArray), *map(float, one.doubleArray), *chars]


def byte(char: bytes) -> int:
    """The codec makes a zero an empty string."""
    return char[0] if char else 0


def main() -> None:
    """Be the one that the command line names."""
    match sys.argv[1:]:
        case ["agent"]:
            AgentLoader.loadAgent(Drifter())
        case ["environment", *length]:
            EnvironmentLoader.loadEnvironment(Drift(*map(int, length)))
        case ["other-task", number]:
            EnvironmentLoader.loadEnvironment(Other(int(number)))
        case ["experiment", path]:
            Path(path).write_text(json.dumps(play(Counting())), encoding="utf-8")


if __name__ == "__main__":
    main()
