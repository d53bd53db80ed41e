"""Legacy agents as one agent of the SDK: each slot has a program of its own."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from reglue.agents.agent import Agent, Chosen
from reglue.bridges.rl_glue.abstract_types import RowLayout, task_string
from reglue.bridges.rl_glue.legacy_frames import DOUBLE, MOST_TEXT, Code, text_bytes, text_of
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.messages.agent_messages import EndKind, Turn
from reglue.spec import Array, TaskSpec

log = logging.getLogger("reglue")


class LegacyAgent(Agent):
    """Plays one slot with one program, or any number of slots if `cmd` starts a program for each.

    agent_end carries only a reward, so a program cannot tell a truncated episode from a terminated
    one. An episode that the environment lost ends without agent_end, like one that an experiment of
    RL-Glue cuts off. A reward that is withheld during evaluation is NaN.

    Args:
        freeze_message: Sent as agent_message at freeze, for which RL-Glue has no call.
        place: Keywords of `Place`.

    Raises BadArgument. Routines raise AgentFault, and agent_init NotCapable for a task that RL-Glue
    cannot express.
    """

    partial_turns = True

    def __init__(self, *, freeze_message: str = "", **place: Any) -> None:
        self._place = Place(Kind.AGENT, **place)
        self._freeze_message = freeze_message
        self._programs: list[LegacyProgram] = []  # by slot
        self._observation: RowLayout
        self._action: RowLayout
        self.max_slots = 0 if self._place.cmd else 1

    def connect(self, slots: int = 1) -> None:
        """Wait until `slots` programs have connected. Raises AgentFault, UsageError."""
        while len(self._programs) < slots:
            self._programs.append(self._place.program())

    def agent_init(self, spec: TaskSpec) -> None:
        """Give every program the task spec string."""
        task = text_bytes(task_string(spec))
        self._observation, self._action = RowLayout(spec.observations), RowLayout(spec.actions)
        self.connect(spec.slots)
        self._tell_all(Code.AGENT_INIT, task)

    def turn(self, turn: Turn) -> Chosen:
        """Send to all programs before waiting for any answer."""
        ended, stepped = len(turn.ends), len(turn.ends) + len(turn.steps)
        ends = zip(turn.ends.slots.tolist(), turn.ends.kinds.tolist(), strict=True)
        told = [(slot, row) for row, (slot, kind) in enumerate(ends) if kind != EndKind.VOID]
        for slot, row in told:
            self._programs[slot].send(Code.AGENT_END, DOUBLE.pack(turn.rewards[row]))
        for slot, _ in told:
            self._programs[slot].receive(Code.AGENT_END)
        asked: list[tuple[int, Code]] = []
        for row, slot in enumerate(turn.steps.slots.tolist(), ended):
            content = DOUBLE.pack(turn.rewards[row]) + self._seen(turn, row)
            self._programs[slot].send(Code.AGENT_STEP, content)
            asked.append((slot, Code.AGENT_STEP))
        for row, slot in enumerate(turn.starts.slots.tolist(), stepped):
            self._programs[slot].send(Code.AGENT_START, self._seen(turn, row))
            asked.append((slot, Code.AGENT_START))
        actions = [self._chosen(slot, code) for slot, code in asked]
        return (
            {name: np.stack([each[name] for each in actions]) for name in actions[0]}
            if actions
            else {}
        )

    def agent_freeze(self) -> None:
        """Send the freeze message to every program; without one, log a warning."""
        if self._freeze_message:
            for program in self._programs:
                _message(program, self._freeze_message)
        else:
            log.warning("the legacy agent may go on learning: there is no freeze message")

    def agent_message(self, message: str) -> str:
        """Send it to every program; the answer is slot 0's."""
        self.connect()
        answers = [_message(program, message) for program in self._programs]
        return answers[0]

    def agent_cleanup(self) -> None:
        """Send agent_cleanup to every program; they stay connected."""
        self._tell_all(Code.AGENT_CLEANUP)

    def close(self) -> None:
        """End the programs."""
        for program in self._programs:
            program.close()

    def _tell_all(self, code: Code, content: bytes = b"") -> None:
        for program in self._programs:
            program.send(code, content)
        for program in self._programs:
            program.receive(code)

    def _seen(self, turn: Turn, row: int) -> bytes:
        return self._observation.encode(
            {name: each[row] for name, each in turn.observations.items()}
        )

    def _chosen(self, slot: int, code: Code) -> dict[str, Array]:
        program = self._programs[slot]
        content = program.receive(code, most=self._action.size)
        return program.read(self._action.decode, content, code)


def _message(program: LegacyProgram, text: str) -> str:
    answer = program.ask(Code.AGENT_MESSAGE, text_bytes(text), most=MOST_TEXT)
    return program.read(text_of, answer, Code.AGENT_MESSAGE)
