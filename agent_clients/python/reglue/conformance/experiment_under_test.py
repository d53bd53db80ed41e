"""The benchmark program for `reglue conformance experiment`.

`python -m reglue.conformance.experiment_under_test` runs it. The glue tells it what to do: it says
by RL_agent_message what it has just seen, and the answer is its next instruction.
`proto/CONFORMANCE.md` has the instructions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from reglue.conformance.rule import elements
from reglue.conformance.words import (
    counts_words,
    rows_word,
    spec_text,
    started_words,
    stepped_words,
    tasks_words,
    trajectory_words,
)
from reglue.errors import AgentFault, EnvironmentFault, ReglueError, RoutineRefused
from reglue.experiments.experiment import Experiment
from reglue.experiments.routines import Routines
from reglue.messages.experiment_messages import Counts, Tasks
from reglue.spec import Array, TaskSpec, TensorSpec

_REWARD = TensorSpec("/reward", "float64")
"""The tensor after the observations in an agent's half step."""

_NOTHING = TaskSpec((TensorSpec("nothing", "bool"),), (TensorSpec("nothing", "bool"),))
"""Before RL_init; routines that show observations are refused then."""


_STARTS = ("start", "episode", "env_start")


class _Goal(TypedDict, total=False):
    task: str
    variant: int


class ConformanceExperiment:
    """Carries out instructions, one after another."""

    def __init__(self, rl: Routines) -> None:
        self._rl = rl
        self._spec = _NOTHING

    def run(self) -> None:
        """Follow instructions until `leave`."""
        saw = "nothing"
        while (instruction := self._rl.agent_message(f"did {saw}")) != "leave":
            saw = self._try(instruction)

    def _try(self, instruction: str) -> str:
        try:
            return self._carry_out(instruction)
        except RoutineRefused as refused:
            return f"refused {refused.code} {refused}"
        except AgentFault as fault:
            return f"agent fault {fault}"
        except EnvironmentFault as fault:
            return f"environment fault {fault}"

    def _carry_out(self, instruction: str) -> str:
        """Carry it out, and return its observable results as text."""
        rl, (routine, _, text) = self._rl, instruction.partition(" ")
        match routine:
            case "agent_message":
                return rl.agent_message(text)
            case "env_message":
                return rl.env_message(text)
            case "set_state" | "set_random_seed":
                place, key = text.split(" ")
                return self._put(routine, int(place), key)
        goal: _Goal = {}
        if routine in _STARTS:
            text, goal = _parted(text)
        numbers = [int(word) for word in text.split()]
        match routine, numbers:
            case "sleep", [milliseconds]:
                time.sleep(milliseconds / 1000)
            case "init", [slots, seed]:
                self._spec = rl.init(slots=slots, seed=seed)
                return spec_text(self._spec)
            case "start", slots:
                return started_words(self._spec, rl.start(slots, **goal))
            case "step", slots:
                return stepped_words(self._spec, rl.step(slots))
            case "episode", [max_steps, *slots]:
                return str(int(rl.episode(max_steps, slots, **goal)))
            case "trajectory", [steps, slot]:
                return trajectory_words(self._spec, rl.episode_trajectory(steps, slot))
            case "counts", [slot]:
                return counts_words(
                    Counts(
                        rl.return_(slot=slot), rl.num_steps(slot=slot), rl.num_episodes(slot=slot)
                    )
                )
            case "env_start", slots:
                return started_words(self._spec, rl.env_start(slots, **goal))
            case "success", [slot]:
                return str(int(rl.success(slot=slot)))
            case "tasks", []:
                return tasks_words(Tasks(rl.tasks))
            case "iterate_goal", slots:
                rl.iterate_goal(slots)
            case "adapt_begin", []:
                rl.adapt_begin()
            case "adapt", []:
                rl.adapt()
            case "get_state", [slot]:
                return rl.get_state(slot)
            case "get_random_seed", [slot]:
                return rl.get_random_seed(slot)
            case "standardize", [seed]:
                rl.standardize_randomness(seed)
            case "freeze", []:
                rl.freeze()
            case "cleanup", []:
                rl.cleanup()
            case _:
                return self._half_step(routine, numbers)
        return ""

    def _half_step(self, routine: str, numbers: Sequence[int]) -> str:
        rl, spec = self._rl, self._spec
        match routine, numbers:
            case "env_step", [memory, *slots]:
                actions = _rows(spec.actions, memory, slots)
                return stepped_words(spec, rl.env_step(actions, slots))
            case "agent_start", [memory, *slots]:
                seen = _rows(spec.observations, memory, slots)
                acted = rl.agent_start(seen, slots)
                return rows_word(spec.actions, acted, len(slots))
            case "agent_step", [memory, *slots]:
                seen = _rows((*spec.observations, _REWARD), memory, slots)
                acted = rl.agent_step(seen.pop(_REWARD.name), seen, slots)
                return rows_word(spec.actions, acted, len(slots))
            case "agent_end", [memory, truncated, *slots]:
                seen = _rows((*spec.observations, _REWARD), memory, slots)
                rewards = seen.pop(_REWARD.name)
                rl.agent_end(rewards, seen, slots, truncated=truncated == 1)
                return ""
        return "what is that?"

    def _put(self, routine: str, slot: int, key: str) -> str:
        put = self._rl.set_state if routine == "set_state" else self._rl.set_random_seed
        put(key, slot)
        return ""


def _parted(text: str) -> tuple[str, _Goal]:
    """The part before `of VARIANT TASK`, and that goal."""
    before, has_goal, goal = f" {text}".partition(" of ")
    if not has_goal:
        return text, {}
    variant, _, task = goal.partition(" ")
    return before, {"task": task, "variant": int(variant)}


def _rows(tensors: Sequence[TensorSpec], memory: int, slots: Sequence[int]) -> dict[str, Array]:
    """Values by the rule for each slot, whose memory is `memory` plus the slot's number."""
    return elements(np.array([(memory + slot) % 2**32 for slot in slots], np.uint32), tensors)


def main() -> int:
    """The program. Prints the reason and exits with code 1 if it cannot continue."""
    try:
        with Experiment(name="ConformanceExperiment") as rl:
            ConformanceExperiment(rl).run()
    except ReglueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
