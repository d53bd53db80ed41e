"""Legacy environments as one environment of the SDK: each slot has a program of its own."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reglue.bridges.rl_glue.abstract_types import RowLayout
from reglue.bridges.rl_glue.legacy_frames import MOST_TEXT, Code, text_bytes, text_of
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Step
from reglue.errors import BadReply, EnvironmentFault, EnvironmentLost, SpecError
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays, TaskSpec
from reglue.task_spec_string import task_spec_from_string

_EARNED = struct.Struct("!id")  # whether the episode ended, and the reward


class LegacyEnvironment(Worlds):
    """Plays one slot with one program, or any number of slots if `cmd` starts a program for each.

    A program draws its own random numbers: a cell's seed does not determine its episode. It stays
    connected until `close`, through env_cleanup and the next env_init. A lost program is replaced,
    unless messages were sent, which a new one would not have received.

    Args:
        place: Keywords of `Place`.

    Raises BadArgument. Routines raise EnvironmentFault.
    """

    def __init__(self, **place: Any) -> None:
        self._legacy = _Suite(Place(Kind.ENVIRONMENT, **place))
        super().__init__(self._legacy)

    def connect(self) -> None:
        """Wait until the first program is there. Raises EnvironmentFault, UsageError."""
        self._legacy.free(self._legacy.program())

    @property
    def programs(self) -> Sequence[EnvironmentProgram]:
        """The programs that have connected."""
        return self._legacy.programs

    def close(self) -> None:
        """End the programs."""
        for program in self._legacy.programs:
            program.line.close()


class _Suite:
    """The programs: a world takes one with its first start or message."""

    standardizes = False
    tells_success = False
    repeatable = False
    raw_actions = True  # RL-Glue passes on what the agent chose
    variants: Mapping[str, int] = MappingProxyType({"rl-glue": 1})

    def __init__(self, place: Place) -> None:
        self.programs: list[EnvironmentProgram] = []
        self.had_messages = False
        self.max_slots = 0 if place.cmd else 1
        self._place = place
        self._free: list[EnvironmentProgram] = []  # no world has them
        self._spec: TaskSpec

    @property
    def spec(self) -> TaskSpec:
        """The answer of one program to env_init. All others are asked before their next start."""
        for each in self.programs:
            each.is_begun = False
        program = self.program()
        try:
            self._spec = program.begin()
        finally:
            self.free(program)
        return self._spec

    def world(self) -> _World:
        """A world for one more slot."""
        return _World(self)

    def program(self) -> EnvironmentProgram:
        """A program that no world has. Raises EnvironmentFault, UsageError."""
        while self._free:
            if not (program := self._free.pop()).line.is_lost:
                return program
        if self.had_messages:
            raise EnvironmentFault(
                "a new legacy environment would not have received the messages that were sent"
            )
        try:
            program = EnvironmentProgram(self._place.program())
        except EnvironmentFault as none:
            raise EnvironmentLost(str(none)) from none
        there = [each for each in self.programs if not each.line.is_lost]
        self.programs = [*there, program]
        return program

    def begun(self, program: EnvironmentProgram) -> EnvironmentProgram:
        """`program`, after env_init. Raises EnvironmentFault if its task is not slot 0's."""
        if not program.is_begun and program.begin() != self._spec:
            raise EnvironmentFault("the task spec of this legacy environment differs from slot 0's")
        return program

    def free(self, program: EnvironmentProgram) -> None:
        """Keep the program for another world."""
        self._free.append(program)

    def close(self) -> None:
        """env_cleanup."""
        for each in self.programs:
            if each.is_begun and not each.line.is_lost:
                each.is_begun = False
                each.line.ask(Code.ENV_CLEANUP)


class EnvironmentProgram:
    """A legacy environment that has connected. All raise EnvironmentFault."""

    def __init__(self, line: LegacyProgram) -> None:
        self.line = line
        self.is_begun = False  # after env_init, until env_cleanup
        self._observation: RowLayout
        self._action: RowLayout

    def begin(self) -> TaskSpec:
        """env_init."""
        answer = self.line.ask(Code.ENV_INIT, most=MOST_TEXT)
        task = self.line.read(text_of, answer, Code.ENV_INIT)
        try:
            spec = task_spec_from_string(task)
        except SpecError as error:
            raise Kind.ENVIRONMENT.fault(f"in env_init: the task spec: {error}") from error
        self._observation, self._action = RowLayout(spec.observations), RowLayout(spec.actions)
        self.is_begun = True
        return spec

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

    def _step(self, content: bytes) -> Step:
        """Raises BadReply."""
        observation = self._observation.decode(content[_EARNED.size :])
        terminal, reward = _EARNED.unpack_from(content)
        if terminal not in (0, 1):
            raise BadReply("OUT_OF_DOMAIN", got=f"terminal {terminal}", wanted="0 or 1")
        if not math.isfinite(reward):
            raise BadReply("NOT_FINITE", got=f"reward {reward}", wanted="a finite number")
        return Step(reward, observation, terminal == 1, truncated=False, success=False)


class _World:
    """Plays in one slot. All raise EnvironmentFault."""

    def __init__(self, suite: _Suite) -> None:
        self._suite = suite
        self._program: EnvironmentProgram | None = None

    def start(self, cell: Cell) -> Arrays:
        """env_start, which takes no seed."""
        return self._suite.begun(self._taken()).start()

    def step(self, action: Arrays) -> Step:
        """env_step."""
        return self._taken().step(action)

    def message(self, text: str) -> str:
        """env_message."""
        answer = self._taken().message(text)
        self._suite.had_messages = True
        return answer

    def close(self) -> None:
        """Leave the program to another world."""
        program, self._program = self._program, None
        if program is not None:
            self._suite.free(program)

    def _taken(self) -> EnvironmentProgram:
        if self._program is None:
            self._program = self._suite.program()
        return self._program
