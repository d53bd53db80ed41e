"""Legacy environments as one environment, or one suite, of the SDK: each slot has a program of its
own.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from reglue.bridges.rl_glue.abstract_types import RowLayout
from reglue.bridges.rl_glue.legacy_frames import MOST_TEXT, Code, text_bytes, text_of
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Step
from reglue.error_message import brief
from reglue.errors import BadArgument, BadReply, EnvironmentFault, EnvironmentLost, SpecError
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays, TaskSpec
from reglue.task_spec_string import task_spec_from_string

_VARIANT = "{variant}"

_EARNED = struct.Struct("!id")  # whether the episode ended, and the reward


class LegacyEnvironment(Worlds):
    """Plays one slot with one program, or any number of slots if `cmd` starts a program for each.

    A program stays connected until `close`, through env_cleanup and the next env_init. A lost
    program is replaced, unless messages were sent, which a new one would not have received.

    Args:
        cmd: Starts a program; by default the environment waits until one connects.
        place: Other keywords of `Place`.

    Raises BadArgument. Routines raise EnvironmentFault.
    """

    def __init__(self, *, cmd: str = "", **place: Any) -> None:
        self._legacy = LegacySuite(cmd, programs_stay=True, **place)
        super().__init__(self._legacy)

    def connect(self) -> None:
        """Wait until the first program is there. Raises EnvironmentFault, UsageError."""
        self._legacy.free(self._legacy.program(None))

    @property
    def programs(self) -> Sequence[EnvironmentProgram]:
        """The programs that have connected."""
        return self._legacy.programs

    def close(self) -> None:
        """End the programs."""
        self._legacy.end()


class LegacySuite:
    """Programs as worlds: a world takes one with its first start or message.

    A program draws its own random numbers: a cell's seed does not determine its episode.

    Args:
        cmd: Starts a program; empty: a world waits until one connects.
        variants: The number of problems, which share a task spec. A program plays one of them, and
            is replaced where a world's variant changes.
        message: Sent to each program by env_message, before env_init.
        task: The name of the task.
        programs_stay: Whether programs stay connected after `close`, until `end`. They may have
            another task after that.
        place: Other keywords of `Place`.

    `{variant}` in `cmd` and `message` stands for the variant, from 0.

    Raises BadArgument. Methods raise EnvironmentFault, UsageError.
    """

    standardizes = False
    tells_success = False
    repeatable = False
    raw_actions = True  # RL-Glue passes on what the agent chose

    def __init__(
        self,
        cmd: str,
        *,
        variants: int = 1,
        message: str = "",
        task: str = "rl-glue",
        programs_stay: bool = False,
        **place: Any,
    ) -> None:
        self._place = Place(Kind.ENVIRONMENT, cmd=cmd, **place)
        count: object = variants
        most = math.inf if _VARIANT in cmd + message else 1
        if type(count) is not int or not 1 <= count <= most:
            wanted = f"1, or more with {_VARIANT} in cmd or message"
            raise BadArgument(got=f"variants {brief(variants)}", wanted=wanted)
        self.variants: Mapping[str, int] = MappingProxyType({task: variants})
        self.programs: list[EnvironmentProgram] = []
        self.had_messages = False
        self.max_slots = 0 if cmd else 1
        self._programs_stay = programs_stay
        self._message = message
        self._free: list[EnvironmentProgram] = []  # those that no world uses
        self._spec: TaskSpec | None = None

    @property
    def spec(self) -> TaskSpec:
        """The answer of a program with variant 0 to env_init; if programs stay, to a new one."""
        if self._spec is None or self._programs_stay:
            self._spec = self._asked()
        return self._spec

    def _asked(self) -> TaskSpec:
        """The answer of one program to env_init. All others are asked before their next start."""
        for each in self.programs:
            each.is_begun = False
        program = self.program(None)
        try:
            return program.begin()
        finally:
            self.free(program)

    def world(self) -> _World:
        """A world for one more slot."""
        return _World(self)

    def program(self, variant: int | None) -> EnvironmentProgram:
        """A program that no world uses, with this variant or, for None, with any.

        Raises EnvironmentLost, UsageError.
        """
        self._free = [each for each in self._free if not each.line.is_lost]
        for each in self._free:
            if variant in (None, each.variant):
                self._free.remove(each)
                return each
        if self.had_messages:
            raise EnvironmentLost(
                "a new legacy environment would not have received the messages that were sent"
            )
        if self._free:
            self._free.pop().line.close()
        return self._another(variant or 0)

    def _another(self, variant: int) -> EnvironmentProgram:
        """Start a program, or wait for one."""
        number = str(variant)
        place = replace(self._place, cmd=self._place.cmd.replace(_VARIANT, number))
        try:
            program = EnvironmentProgram(place.program(), variant)
        except EnvironmentFault as none:
            raise EnvironmentLost(str(none)) from none
        there = [each for each in self.programs if not each.line.is_lost]
        self.programs = [*there, program]
        if self._message:
            program.message(self._message.replace(_VARIANT, number))
        return program

    def begun(self, program: EnvironmentProgram) -> EnvironmentProgram:
        """`program`, after env_init. Ends a program with another task spec."""
        if not program.is_begun and program.begin() != self._spec:
            program.line.close()
            raise EnvironmentFault(
                "the task spec of this legacy environment differs from the first one's"
            )
        return program

    def free(self, program: EnvironmentProgram) -> None:
        """Keep the program for another world."""
        self._free.append(program)

    def close(self) -> None:
        """env_cleanup, then end the programs unless they stay."""
        try:
            for each in self.programs:
                if each.is_begun and not each.line.is_lost:
                    each.is_begun = False
                    each.line.ask(Code.ENV_CLEANUP)
        finally:
            if not self._programs_stay:
                self.end()

    def end(self) -> None:
        """End the programs."""
        for each in self.programs:
            each.line.close()


class EnvironmentProgram:
    """A legacy environment that has connected. All methods raise EnvironmentFault."""

    def __init__(self, line: LegacyProgram, variant: int) -> None:
        self.line = line
        self.variant = variant
        self.is_begun = False  # after env_init, until env_cleanup
        self._observation: RowLayout
        self._action: RowLayout

    def begin(self) -> TaskSpec:
        """Call env_init; the task."""
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
        """Call env_start."""
        answer = self.line.ask(Code.ENV_START, most=self._observation.size)
        return self.line.read(self._seen, answer, Code.ENV_START)

    def step(self, action: Arrays) -> Step:
        """Call env_step."""
        most = _EARNED.size + self._observation.size
        answer = self.line.ask(Code.ENV_STEP, self._action.encode(action, 1)[0], most=most)
        return self.line.read(self._step, answer, Code.ENV_STEP)

    def message(self, text: str) -> str:
        """Call env_message."""
        answer = self.line.ask(Code.ENV_MESSAGE, text_bytes(text), most=MOST_TEXT)
        return self.line.read(text_of, answer, Code.ENV_MESSAGE)

    def _seen(self, content: bytes) -> Arrays:
        """Raises BadReply."""
        return {name: rows[0] for name, rows in self._observation.decode([content]).items()}

    def _step(self, content: bytes) -> Step:
        """Raises BadReply."""
        observation = self._seen(content[_EARNED.size :])
        terminal, reward = _EARNED.unpack_from(content)
        if terminal not in (0, 1):
            raise BadReply("OUT_OF_DOMAIN", got=f"terminal {terminal}", wanted="0 or 1")
        if not math.isfinite(reward):
            raise BadReply("NOT_FINITE", got=f"reward {reward}", wanted="a finite number")
        return Step(reward, observation, terminal == 1, truncated=False, success=False)


class _World:
    """Plays in one slot. All methods raise EnvironmentFault."""

    def __init__(self, suite: LegacySuite) -> None:
        self._suite = suite
        self._program: EnvironmentProgram | None = None

    def start(self, cell: Cell) -> Arrays:
        """Call env_start, which takes no seed."""
        if self._program is not None and self._program.variant != cell.variant:
            self.close()
        return self._suite.begun(self._taken(cell.variant)).start()

    def step(self, action: Arrays) -> Step:
        """Call env_step."""
        return self._taken(None).step(action)

    def message(self, text: str) -> str:
        """Call env_message."""
        answer = self._taken(None).message(text)
        self._suite.had_messages = True
        return answer

    def close(self) -> None:
        """Leave the program to another world."""
        program, self._program = self._program, None
        if program is not None:
            self._suite.free(program)

    def _taken(self, variant: int | None) -> EnvironmentProgram:
        """The world's program. A world without one takes one with this variant, or with any."""
        if self._program is None:
            self._program = self._suite.program(variant)
        return self._program
