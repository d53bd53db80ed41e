"""The codec's programs in this process: as RL-Glue's hub calls them, and as peers of ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from reglue import Agent
from reglue.environments.world import Step
from reglue.experiments.routines import Routines
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays, TaskSpec
from reglue.task_spec_string import task_spec_from_string, task_spec_to_string
from tests.reglue.bridges.legacy_programs import TASK, Drift, Drifter

SPEC = task_spec_from_string(TASK)


class One(SimpleNamespace):
    """An abstract type, or a pair of them with what a step earned."""


class Original:
    """RL-Glue 3.04's routines as its hub carries them out; the peers are in this process."""

    def __init__(self) -> None:
        self._agent, self._environment = Drifter(), Drift()
        self._total, self._steps, self._episodes = 0.0, 0, 0
        self._action: Any = None

    def init(self) -> str:
        self._agent.agent_init(self._environment.env_init())
        self._total, self._steps, self._episodes = 0.0, 0, 0
        return TASK

    def start(self) -> One:
        self._total, self._steps = 0.0, 1
        seen = self._environment.env_start()
        self._action = self._agent.agent_start(seen)
        return One(o=seen, a=self._action)

    def step(self) -> One:
        earned = self._environment.env_step(self._action)
        self._total += earned.r
        if earned.terminal:
            self._episodes += 1
            self._agent.agent_end(earned.r)
        else:
            self._steps += 1
            self._action = self._agent.agent_step(earned.r, earned.o)
        return One(o=earned.o, a=self._action, r=earned.r, terminal=int(earned.terminal))

    def episode(self, most: int) -> int:
        self.start()
        terminal = 0
        while not terminal and (most == 0 or self._steps < most):
            terminal = self.step().terminal
        return int(terminal)

    def return_(self) -> float:
        return self._total

    def num_steps(self) -> int:
        return self._steps

    def num_episodes(self) -> int:
        return self._episodes

    def agent_message(self, text: str) -> str:
        return self._agent.agent_message(text)

    def env_message(self, text: str) -> str:
        return self._environment.env_message(text)

    def cleanup(self) -> None:
        self._environment.env_cleanup()
        self._agent.agent_cleanup()


class OurAgent(Agent):
    """The codec's agent as one of ours."""

    def __init__(self) -> None:
        self._agent = Drifter()

    def agent_init(self, spec: TaskSpec) -> None:
        self._agent.agent_init(task_spec_to_string(spec))

    def agent_start(self, observations: Arrays, starts: Any) -> Any:
        return rows_of(self._agent.agent_start(first_of(observations)))

    def agent_step(self, rewards: Any, observations: Arrays, steps: Any) -> Any:
        return rows_of(self._agent.agent_step(float(rewards[0]), first_of(observations)))

    def agent_end(self, rewards: Any, observations: Arrays, ends: Any) -> None:
        self._agent.agent_end(float(rewards[0]))

    def agent_message(self, message: str) -> str:
        return self._agent.agent_message(message)


class OurSuite:
    """The codec's environment as a world of ours."""

    spec = SPEC
    variants: Mapping[str, int] = {"drift": 1}
    standardizes = False
    tells_success = False
    raw_actions = True

    def __init__(self) -> None:
        self.drift = Drift()

    def world(self) -> OurWorld:
        return OurWorld(self.drift)


class OurDrifts(OurSuite):
    """Worlds that share nothing."""

    def world(self) -> OurWorld:
        return OurWorld(Drift())


class OurWorld:
    def __init__(self, drift: Drift) -> None:
        self._drift = drift
        self._is_begun = False

    def start(self, cell: Cell) -> Arrays:
        self._is_begun = True
        return row_of(self._drift.env_start())

    def step(self, action: Arrays) -> Step:
        chosen = One(intArray=action["ints"].reshape(-1), doubleArray=action["doubles"])
        earned = self._drift.env_step(chosen)
        return Step(earned.r, row_of(earned.o), earned.terminal, truncated=False, success=False)

    def message(self, text: str) -> str:
        return self._drift.env_message(text)

    def close(self) -> None:
        if self._is_begun:
            self._drift.env_cleanup()


class OurProgram:
    """Routines of ours, by what RL-Glue's return."""

    def __init__(self, rl: Routines) -> None:
        self._rl = rl

    def init(self) -> str:
        return task_spec_to_string(self._rl.init())

    def start(self) -> One:
        started = self._rl.start()
        return One(o=first_of(started.observations), a=first_of(started.actions))

    def step(self) -> One:
        stepped = self._rl.step()
        return One(
            o=first_of(stepped.observations),
            a=first_of(stepped.actions),
            r=float(stepped.rewards[0]),
            terminal=int(stepped.terminated[0]),
        )

    def episode(self, most: int) -> int:
        return int(self._rl.episode(most))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rl, name)


def first_of(rows: Arrays) -> One:
    """The first row as the codec has it."""
    chars = rows["chars"][0].tobytes() if "chars" in rows else b""
    return One(
        intArray=rows["ints"][0].reshape(-1),
        doubleArray=rows["doubles"][0].reshape(-1),
        charArray=[bytes([each]) for each in chars],
    )


def row_of(one: Any) -> dict[str, Any]:
    """The codec's numbers as a row of ours."""
    row = {"ints": np.array(one.intArray[0], np.int32), "doubles": np.array(one.doubleArray)}
    if one.charArray:
        row["chars"] = np.frombuffer(b"".join(one.charArray), np.uint8)
    return row


def rows_of(one: Any) -> dict[str, Any]:
    """As `row_of`, a batch of one."""
    return {name: each[None] for name, each in row_of(one).items()}
