"""What a benchmark program is told to do, in the words of `proto/CONFORMANCE.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from reglue.conformance.rule import elements
from reglue.messages.agent import Cleanup, Freeze, TextMessage
from reglue.messages.environment import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment import (
    EnvMessage,
    ExperimentCall,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
)
from reglue.spec import Array, TaskSpec, TensorSpec

_REWARD = TensorSpec("/reward", "float64")


@dataclass(frozen=True, slots=True)
class Pause:
    """No routine: the program is busy with itself."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class HalfStep:
    """A routine of one half, with rows that the rule makes of `memory`."""

    routine: type[RLEnvStep | RLAgentStart | RLAgentStep | RLAgentEnd]
    slots: tuple[int, ...]
    memory: int = 12345
    truncated: bool = False  # agent_end

    def call(self, spec: TaskSpec) -> ExperimentCall:
        """What the program is to call."""
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


Instruction: TypeAlias = ExperimentCall | HalfStep | Pause


def instruction_text(instruction: Any) -> str:
    """The instruction as it is told."""
    match instruction:
        case TextMessage(text):
            return f"agent_message {text}"
        case EnvMessage(text):
            return f"env_message {text}"
        case HalfStep(routine, slots, memory, truncated):
            ends = [int(truncated)] if routine is RLAgentEnd else []
            return _words(_HALVES[routine], memory, *ends, *slots)
        case Pause(milliseconds):
            return _words("sleep", milliseconds)
        case RLInit(slots, seed):
            return _words("init", slots, seed)
        case RLStart(slots):
            return _words("start", *slots)
        case RLStep(slots):
            return _words("step", *slots)
        case RLEnvStart(slots):
            return _words("env_start", *slots)
        case RLEpisode(max_steps, slots):
            return _words("episode", max_steps, *slots)
        case RLCounts(slot):
            return _words("counts", slot)
        case GetState(slot):
            return _words("get_state", slot)
        case RLSetState(slot, key):
            return _words("set_state", slot, key)
        case GetRandomSeed(slot):
            return _words("get_random_seed", slot)
        case RLSetRandomSeed(slot, key):
            return _words("set_random_seed", slot, key)
        case StandardizeRandomness(seed):
            return _words("standardize", seed)
        case Freeze():
            return "freeze"
        case Cleanup():
            return "cleanup"
    raise AssertionError(f"{instruction} is no instruction")


_HALVES = {
    RLEnvStep: "env_step",
    RLAgentStart: "agent_start",
    RLAgentStep: "agent_step",
    RLAgentEnd: "agent_end",
}


def _words(*words: object) -> str:
    return " ".join(map(str, words))
