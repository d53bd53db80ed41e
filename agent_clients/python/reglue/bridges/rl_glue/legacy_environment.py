"""Legacy environments as a suite of worlds: each world is a program of its own."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reglue.bridges.rl_glue.abstract_types import RowLayout
from reglue.bridges.rl_glue.frames import MOST_TEXT, Code, text_bytes, text_of
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.environments.world import Step
from reglue.errors import BadReply, EnvironmentFault, SpecError
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays, TaskSpec
from reglue.task_spec_string import task_spec_from_string

_EARNED = struct.Struct("!id")  # whether the episode ended, and the reward


class LegacySuite:
    """One world with one program, or any number if `cmd` starts one for each.

    A program stays, from env_cleanup to another env_init, until `end`. It draws its own random
    numbers: cells do not decide its episodes. One that is lost is replaced, unless there were
    messages, which another one would not know.

    Args:
        place: Keywords of `Place`.

    Raises BadArgument.
    """

    standardizes = False
    tells_success = False
    repeatable = False
    raw_actions = True  # RL-Glue passes on what the agent chose
    variants: Mapping[str, int] = MappingProxyType({"rl-glue": 1})

    def __init__(self, **place: Any) -> None:
        self._place = Place(Kind.ENVIRONMENT, **place)
        self._programs: list[EnvironmentProgram] = []  # all that are there
        self._free: list[EnvironmentProgram] = []  # those that no world plays with
        self._spec: TaskSpec | None = None  # as the first program told it last
        self.had_messages = False
        self.max_slots = 0 if self._place.cmd else 1

    def connect(self) -> None:
        """Wait until the first program is there. Raises EnvironmentFault, UsageError."""
        self.give_back(self.program())

    @property
    def spec(self) -> TaskSpec:
        """The answer to env_init, of a program that a world will play with."""
        program = self.program()
        self._spec = program.begin()
        self.give_back(program)
        return self._spec

    def world(self) -> LegacyWorld:
        """A world, which takes a program at its first start or message."""
        return LegacyWorld(self)

    def program(self) -> EnvironmentProgram:
        """One that no world plays with. Raises EnvironmentFault."""
        while self._free:
            if not (program := self._free.pop()).line.is_lost:
                return program
        if self.had_messages:
            raise EnvironmentFault(
                "another legacy environment would not know the messages that were sent before"
            )
        program = EnvironmentProgram(self._place.program())
        there = [each for each in self._programs if not each.line.is_lost]
        self._programs = [*there, program]
        return program

    def begin(self, program: EnvironmentProgram) -> None:
        """env_init, unless it was called. Raises EnvironmentFault for another task spec."""
        if program.begin() != self._spec:
            raise EnvironmentFault("the task spec of this legacy environment differs from slot 0's")

    def give_back(self, program: EnvironmentProgram) -> None:
        """Keep it for another world."""
        self._free.append(program)

    def end(self) -> None:
        """End the programs."""
        for program in self._programs:
            program.line.close()


class EnvironmentProgram:
    """A legacy environment that has connected. All raise EnvironmentFault."""

    def __init__(self, line: LegacyProgram) -> None:
        self.line = line
        self._spec: TaskSpec | None = None  # None: env_init comes first
        self._observation: RowLayout
        self._action: RowLayout

    def begin(self) -> TaskSpec:
        """The task; env_init is called once until env_cleanup."""
        if self._spec is None:
            answer = self.line.ask(Code.ENV_INIT, most=MOST_TEXT)
            task = self.line.read(text_of, answer, Code.ENV_INIT)
            try:
                spec = self._spec = task_spec_from_string(task)
            except SpecError as error:
                what = f"the task spec of the legacy environment: {error}"
                raise EnvironmentFault(what) from error
            self._observation, self._action = RowLayout(spec.observations), RowLayout(spec.actions)
        return self._spec

    def start(self) -> Arrays:
        """env_start."""
        answer = self.line.ask(Code.ENV_START, most=self._observation.size)
        return self.line.read(self._observation.decode, answer, Code.ENV_START)

    def step(self, action: Arrays) -> Step:
        """env_step."""
        most = _EARNED.size + self._observation.size
        answer = self.line.ask(Code.ENV_STEP, self._action.encode(action), most=most)
        return self.line.read(self._step, answer, Code.ENV_STEP)

    def message(self, text: str) -> str:
        """env_message."""
        answer = self.line.ask(Code.ENV_MESSAGE, text_bytes(text), most=MOST_TEXT)
        return self.line.read(text_of, answer, Code.ENV_MESSAGE)

    def cleanup(self) -> None:
        """env_cleanup, if it began and is there."""
        if self._spec is not None and not self.line.is_lost:
            self._spec = None
            self.line.ask(Code.ENV_CLEANUP)

    def _step(self, content: bytes) -> Step:
        """Raises BadReply."""
        observation = self._observation.decode(content[_EARNED.size :])
        terminal, reward = _EARNED.unpack_from(content)
        if terminal not in (0, 1):
            raise BadReply("OUT_OF_DOMAIN", got=f"terminal {terminal}", wanted="0 or 1")
        if not math.isfinite(reward):
            raise BadReply("NOT_FINITE", got=f"reward {reward}", wanted="a finite number")
        return Step(reward, observation, terminal == 1, truncated=False, success=False)


class LegacyWorld:
    """Plays in one slot. All raise EnvironmentFault."""

    def __init__(self, suite: LegacySuite) -> None:
        self._suite = suite
        self._program: EnvironmentProgram | None = None

    def start(self, cell: Cell) -> Arrays:
        """env_start, which knows no seed."""
        self._suite.begin(program := self._taken())
        return program.start()

    def step(self, action: Arrays) -> Step:
        """env_step."""
        return self._taken().step(action)

    def message(self, text: str) -> str:
        """env_message."""
        answer = self._taken().message(text)
        self._suite.had_messages = True
        return answer

    def close(self) -> None:
        """env_cleanup; the program stays."""
        program, self._program = self._program, None
        if program is not None:
            try:
                program.cleanup()
            finally:
                self._suite.give_back(program)

    def _taken(self) -> EnvironmentProgram:
        if self._program is None:
            self._program = self._suite.program()
        return self._program
