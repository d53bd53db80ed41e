"""Drives a benchmark program: tells it what to call, and reads what it says it saw."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from glue_server.conformance.clients import ClientRun
from glue_server.conformance.comparing import (
    check_call,
    check_parts,
    check_report,
    check_same,
    cut,
    short,
)
from glue_server.conformance.conformance_tasks import PLAIN
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.reference import glue_reference
from glue_server.conformance.fault_injection import recording_messages
from reglue.conformance.rule import elements
from reglue.conformance.words import spec_text, trajectory_words
from reglue.errors import NotConforming, ReglueError, RoutineRefused
from reglue.experiments.routines import Routines
from reglue.messages.agent_messages import Adapt, AdaptBegin, Budget, Cleanup, Freeze, TextMessage
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment_messages import (
    Counts,
    EnvMessage,
    ExperimentCall,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
    Started,
    Stepped,
)
from reglue.spec import Array, TaskSpec, TensorSpec

LOOK_S = 0.1  # how often the kit checks that the program is still there
_DID = "did "
_TRAJECTORY = ("observations", "actions", "rewards", "end")


class ExperimentDriver(Driver):
    """Gives instructions, answers the calls that they lead to, and reads what was seen."""

    def __init__(self, port: Any, *, timeout_s: float) -> None:
        super().__init__(port, glue_reference(), timeout_s=timeout_s)
        self.spec = PLAIN
        self._is_asked = False  # the program waits for its next instruction
        self._live: set[int] = set()

    def begin(self, spec: TaskSpec) -> None:
        """Let the program tell the environment what to play, then call RL_init."""
        self.ask(EnvMessage(f"play\n{spec_text(spec)}"))
        self.ask(RLInit(spec.slots, 7))

    def go(self, slots: Sequence[int] | None = None) -> None:
        """RL_start in idle slots if there are any, else RL_step."""
        slots = tuple(range(self.spec.slots)) if slots is None else tuple(slots)
        idle = tuple(slot for slot in slots if slot not in self._live)
        self.send(RLStart(idle) if idle else RLStep(slots))

    def _wanted_of(self, call: Instruction, budget: Budget, for_reference: Any) -> None:
        """Instruct the program to make that call."""
        self.tell(instruction_text(call))

    def tell(self, instruction: str) -> None:
        """Send an instruction. Raises NotConforming unless the program waits for one."""
        if not self._is_asked:
            check_same("what it did first", self._report("its first call"), "nothing")
        self._is_asked = False
        self.port.answer(TextMessage(instruction))

    def take(self, instead: ReglueError | None = None) -> Any:
        """The result or error of the routine, once the program has called it and reported on it.
        With `instead` the routine is not carried out: that is the answer. Raises NotConforming.
        """
        instruction, _ = self._wanted[0]
        routine = _routine_of(instruction)
        answer = self.answer(instead)
        if isinstance(instruction, Success) and isinstance(answer, Counts):
            report = self._report(routine)
            check_same(f"what it saw of {routine}", report, str(int(answer.success)))
            return answer
        report = self._report(routine, again=answer if isinstance(instruction, RLCounts) else None)
        self._note(answer)
        check_report(routine, report, answer, self.spec)
        return answer

    def answer(self, instead: ReglueError | None = None) -> Any:
        """As `take`, without reading the program's report."""
        instruction, _ = self._wanted.popleft()
        if isinstance(instruction, Pause):
            return None
        call: ExperimentCall
        match instruction:
            case HalfStep():
                call = instruction.call(self.spec)
            case Success(slot):
                call = RLCounts(slot)
            case _:
                call = instruction
        return self._carry_out(_routine_of(instruction), call, instead)

    def trajectory(self, steps: int, slot: int) -> None:
        """RL_episode of 1.0: the program asks for a start, then for steps."""
        instruction = f"trajectory {steps} {slot}"
        self.tell(instruction)
        routine = f"`{instruction}`"

        def carry_out(call: ExperimentCall) -> object:
            answer = self._carry_out(routine, call)
            self._note(answer)
            return answer

        words = trajectory_words(self.spec, _Led(carry_out).episode_trajectory(steps, slot))
        check_parts(f"what it saw of {routine}", self._report(routine), words, _TRAJECTORY)

    def ask_answered(self, call: Instruction, error: ReglueError) -> None:
        """Have a routine called, and answer it with `error`."""
        self.send(call)
        self.take(error)

    def wait_until_gone(self, run: ClientRun) -> None:
        """Wait until the program has left, then close its session. Raises NotConforming."""
        deadline = time.monotonic() + self._timeout_s
        while not (self.port.is_gone or run.has_left()):
            if (call := self.port.next(LOOK_S)) is not None:
                wanted = "a program that leaves"
                raise NotConforming("leaving", got=short(call), wanted=wanted)
            if time.monotonic() > deadline:
                break  # expect_exit reports it
        self.port.close("the program has left")

    def dismiss(self, run: ClientRun) -> None:
        """Let the program leave; it must say farewell and exit with code 0."""
        with recording_messages(self.port) as received:
            self._play_out(run)
            run.expect_exit()
        kinds = [each.WhichOneof("call") for each in received]
        check_same("what it says", kinds[-1:], ["farewell"])
        if run.client.exit_code() not in (0, None):
            raise NotConforming("leaving", got=run.ending(), wanted="exit code 0")

    def _play_out(self, run: ClientRun) -> None:
        self.tell("leave")
        self.wait_until_gone(run)

    def counts(self) -> dict[str, int]:
        """Ask for the counts of slot 0; return the agent's number of calls of each routine."""
        self.ask(RLCounts(0))
        counts: dict[str, int] = json.loads(self.ask(TextMessage("counts")).text)
        return counts

    def _carry_out(
        self, routine: str, call: ExperimentCall, instead: ReglueError | None = None
    ) -> Any:
        """Answer the program's call. Raises NotConforming if it is another one."""
        check_call(routine, self._hear(f"the call of {routine}"), call)
        answer = instead or self._reference(call, Budget())
        self._give(answer)
        return answer

    def _note(self, answer: Any) -> None:
        """Record what `go` and the rule need."""
        match answer:
            case TaskSpec():
                self.spec, self._live = answer, set()
            case Started(slots):
                self._live |= {*slots}
            case Stepped(slots):
                is_over = (answer.terminated | answer.truncated).tolist()
                self._live -= {slot for slot, over in zip(slots, is_over, strict=True) if over}
            case ReglueError() if not isinstance(answer, RoutineRefused):
                self._live = set()

    def _report(self, routine: str, again: Any = None) -> str:
        """The program's report on the routine. `again` answers counts, asked for one by one."""
        got = self._hear(f"what it did after {routine}")
        while again is not None and isinstance(got, RLCounts):
            self._give(again)
            got = self._hear(f"what it did after {routine}")
        if not isinstance(got, TextMessage) or not got.text.startswith(_DID):
            wanted = f"RL_agent_message({_DID!r} …)"
            raise NotConforming(f"the call after {routine}", got=short(got), wanted=wanted)
        self._is_asked = True
        return got.text.removeprefix(_DID)

    def _give(self, answer: Any) -> None:
        if isinstance(answer, ReglueError):
            self.port.fail(answer)
        else:
            self.port.answer(answer)

    def _hear(self, what: str) -> Any:
        """The next call. Raises NotConforming."""
        deadline = time.monotonic() + self._timeout_s
        while time.monotonic() < deadline:
            if (call := self.port.next(LOOK_S)) is not None:
                return call
            if self.port.is_gone:
                raise NotConforming(what, got="a program that has gone", wanted="a call")
        raise NotConforming(what, got=f"none within {self._timeout_s:g} s", wanted="a call")


class _Led(Routines):
    """The routines; each takes the program's next call."""

    def __init__(self, carry_out: Callable[[ExperimentCall], object]) -> None:
        super().__init__(slots=1, seed=0, task="", variant=0)
        self._carry_out = carry_out

    def _call(self, call: ExperimentCall) -> object:
        return self._carry_out(call)


def _routine_of(instruction: Instruction) -> str:
    return f"`{cut(instruction_text(instruction))}`"


_REWARD = TensorSpec("/reward", "float64")


@dataclass(frozen=True, slots=True)
class Pause:
    """No routine: the program sleeps."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Success:
    """RL_success, which the program reads from the counts."""

    slot: int


@dataclass(frozen=True, slots=True)
class HalfStep:
    """A routine of one half, with rows that the rule makes of `memory`."""

    routine: type[RLEnvStep | RLAgentStart | RLAgentStep | RLAgentEnd]
    slots: tuple[int, ...]
    memory: int = 12345
    truncated: bool = False  # agent_end

    def call(self, spec: TaskSpec) -> ExperimentCall:
        """The call that the program must make."""
        if self.routine is RLEnvStep:
            return RLEnvStep(self.slots, self._rows(spec.actions))
        if self.routine is RLAgentStart:
            return RLAgentStart(self.slots, self._rows(spec.observations))
        seen = self._rows((*spec.observations, _REWARD))
        rewards = seen.pop(_REWARD.name)
        if self.routine is RLAgentStep:
            return RLAgentStep(self.slots, rewards, seen)
        return RLAgentEnd(self.slots, rewards, seen, self.truncated)

    def _rows(self, tensors: Sequence[TensorSpec]) -> dict[str, Array]:
        memory = np.array(self.slots, np.uint32) + np.uint32(self.memory)
        return elements(memory, tensors)


Instruction: TypeAlias = ExperimentCall | HalfStep | Pause | Success


def instruction_text(instruction: Any) -> str:
    """The instruction's text: a word, then its fields."""
    match instruction:
        case HalfStep(routine, slots, memory, truncated):
            ends = [int(truncated)] if routine is RLAgentEnd else []
            return _words(_NAMES[routine], memory, *ends, *slots)
        case RLInit(slots, seed):
            return _words("init", slots, seed)
    words: list[object] = [_NAMES[type(instruction)]]
    for field in fields(instruction):
        value = getattr(instruction, field.name)
        if isinstance(value, Goal):
            value = ("of", value.variant, value.task) if value.task else ("of", value.variant)
        if value is None:
            continue
        words += value if isinstance(value, tuple) else [value]
    return _words(*words)


_NAMES: Mapping[type, str] = {
    TextMessage: "agent_message",
    EnvMessage: "env_message",
    Pause: "sleep",
    Success: "success",
    AdaptBegin: "adapt_begin",
    Adapt: "adapt",
    RLTasks: "tasks",
    RLIterateGoal: "iterate_goal",
    RLStart: "start",
    RLStep: "step",
    RLEpisode: "episode",
    RLCounts: "counts",
    Cleanup: "cleanup",
    Freeze: "freeze",
    StandardizeRandomness: "standardize",
    GetState: "get_state",
    RLSetState: "set_state",
    GetRandomSeed: "get_random_seed",
    RLSetRandomSeed: "set_random_seed",
    RLEnvStart: "env_start",
    RLEnvStep: "env_step",
    RLAgentStart: "agent_start",
    RLAgentStep: "agent_step",
    RLAgentEnd: "agent_end",
}


def _words(*words: object) -> str:
    return " ".join(map(str, words))
