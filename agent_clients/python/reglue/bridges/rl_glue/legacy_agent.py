"""Legacy agents as one agent of the SDK: each slot has a program of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from reglue.agents.agent import Agent, Chosen
from reglue.bridges.rl_glue.abstract_types import RowLayout, task_string
from reglue.bridges.rl_glue.legacy_frames import DOUBLE, MOST_TEXT, Code, text_bytes, text_of
from reglue.bridges.rl_glue.legacy_program import Kind, LegacyProgram, Place
from reglue.errors import BadReply
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
        if len(turn.ends):
            self._end_episodes(turn)
        ended, starts = len(turn.ends), turn.starts.slots.tolist()
        asked = [(self._programs[slot], Code.AGENT_STEP) for slot in turn.steps.slots.tolist()]
        contents = [DOUBLE.pack(reward) for reward in turn.rewards[ended:].tolist()]
        asked += [(self._programs[slot], Code.AGENT_START) for slot in starts]
        contents += [b""] * len(starts)
        rows = {name: each[ended:] for name, each in turn.observations.items()}
        seen = self._observation.encode(rows, len(asked))
        for (program, code), content, row in zip(asked, contents, seen, strict=True):
            program.send(code, content + row)
        size = self._action.size
        answers = [program.receive(code, most=size) for program, code in asked]
        return self._actions(asked, answers) if asked else {}

    def _end_episodes(self, turn: Turn) -> None:
        """agent_end in all slots whose episode ended as the agent is to hear it."""
        ends, rewards = turn.ends, turn.rewards[: len(turn.ends)].tolist()
        told = [
            (self._programs[slot], reward)
            for slot, kind, reward in zip(
                ends.slots.tolist(), ends.kinds.tolist(), rewards, strict=True
            )
            if kind != EndKind.VOID
        ]
        for program, reward in told:
            program.send(Code.AGENT_END, DOUBLE.pack(reward))
        for program, _ in told:
            program.receive(Code.AGENT_END)

    def _actions(
        self, asked: Sequence[tuple[LegacyProgram, Code]], answers: Sequence[bytes]
    ) -> dict[str, Array]:
        """The answers' rows. The program whose answer does not fit is at fault."""
        try:
            return self._action.decode(answers)
        except BadReply:
            for (program, code), answer in zip(asked, answers, strict=True):
                program.read(self._action.decode, [answer], code)
            raise

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


def _message(program: LegacyProgram, text: str) -> str:
    answer = program.ask(Code.AGENT_MESSAGE, text_bytes(text), most=MOST_TEXT)
    return program.read(text_of, answer, Code.AGENT_MESSAGE)
