"""The agent for `reglue conformance agent`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen
from reglue.conformance.rule import (
    START,
    Bytes,
    Commands,
    ToldToFail,
    elements,
    fold,
    number_bytes,
    tensor_bytes,
)
from reglue.conformance.words import spec_text
from reglue.messages.agent_messages import (
    ActionFlag,
    Actions,
    Budget,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.spec import Array, Arrays, TaskSpec

_END, _STEP, _START, _FREEZE, _ADAPT_BEGIN, _ADAPT = range(1, 7)

_KNOWN_FLAGS = np.uint8(ActionFlag.DEFAULTED | ActionFlag.CLIPPED)


class ConformanceAgent(Agent):
    """Computes each action from everything that its slot has received."""

    partial_turns = True

    def __init__(self) -> None:
        self._memory = np.zeros(0, np.uint32)  # of each slot
        self._abandon: tuple[int, ...] = ()  # in the next turn
        self._must_fail = False  # in the next turn
        self._commands = Commands(
            *"init start step end freeze adapt_begin adapt message cleanup".split()
        )

    def agent_init(self, spec: TaskSpec) -> None:
        """Reset every slot's memory."""
        self._commands.count("init")
        self._memory = np.full(spec.slots, START, np.uint32)

    def agent_start(self, observations: Arrays, starts: Starts) -> Chosen:
        """Take in seeds and observations; act."""
        self._commands.count("start", len(starts))
        seeds = number_bytes(starts.seeds, "<u8")
        return self._act(self._take(_START, starts.slots, [seeds], observations))

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Chosen:
        """Take in flags, rewards and observations; act."""
        self._commands.count("step", len(steps))
        flags = number_bytes(steps.flags & _KNOWN_FLAGS, "<u1")
        marks = [flags, self._rewards(rewards)]
        return self._act(self._take(_STEP, steps.slots, marks, observations))

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """Take in kinds, rewards and observations."""
        self._commands.count("end", len(ends))
        marks = [number_bytes(ends.kinds, "<u1"), self._rewards(rewards)]
        self._take(_END, ends.slots, marks, observations)

    def agent_freeze(self) -> None:
        """Every slot takes in a byte."""
        self._commands.count("freeze")
        self._take_byte(_FREEZE)

    def adapt_begin(self) -> None:
        """Every slot takes in a byte."""
        self._commands.count("adapt_begin")
        self._take_byte(_ADAPT_BEGIN)

    def adapt(self) -> None:
        """Every slot takes in a byte."""
        self._commands.count("adapt")
        self._take_byte(_ADAPT)

    def agent_message(self, message: str) -> str:
        """Carry out a command."""
        self._commands.count("message")
        match message.split(" "):
            case ["spec"]:
                return spec_text(self.spec)
            case ["budget"]:
                return _budget_words(self.budget)
            case ["abandon", slot]:
                self._abandon = (int(slot),)
            case ["fail", "turn"]:
                self._must_fail = True
        return self._commands.answer(message)

    def agent_cleanup(self) -> None:
        """Count it."""
        self._commands.count("cleanup")

    def turn(self, turn: Turn) -> Actions | Chosen:
        """Do what the routines do, unless a command says otherwise."""
        if self._must_fail:
            raise ToldToFail
        answer = super().turn(turn)
        if not self._abandon:
            return answer
        abandon, self._abandon = self._abandon, ()
        return Actions(answer, abandon)  # type: ignore[arg-type] # a dict of arrays

    def _take(
        self, kind: int, slots: Array, marks: list[Bytes], observations: Arrays
    ) -> npt.NDArray[np.uint32]:
        """Let each slot take in its row; returns their memories."""
        head = np.tile(np.array([kind, self.phase], np.uint8), (len(slots), 1))
        content = tensor_bytes(self.spec.observations, observations, len(slots))
        self._memory[slots] = fold(self._memory[slots], head, *marks, *content)
        return self._memory[slots]

    def _take_byte(self, byte: int) -> None:
        block = np.full((len(self._memory), 1), byte, np.uint8)
        self._memory = fold(self._memory, block)

    def _act(self, memory: npt.NDArray[np.uint32]) -> dict[str, Array]:
        return elements(memory, self.spec.actions)

    def _rewards(self, rewards: npt.NDArray[np.float64]) -> Bytes:
        """Empty if they are withheld."""
        if self.phase is Phase.EVALUATE and not self.spec.rewards_in_evaluation:
            return np.zeros((len(rewards), 0), np.uint8)
        return number_bytes(rewards, "<f8")


def _budget_words(budget: Budget) -> str:
    limits = (budget.step_us, budget.bank_us, budget.adapt_us, budget.run_us)
    return " ".join("-" if us is None else str(us) for us in limits)
