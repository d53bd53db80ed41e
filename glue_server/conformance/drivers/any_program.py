"""Drives programs that are not the kit's: an answer has to fit its call, whatever it says."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glue_server.agent.actions import ActionChecks, given_up, held
from glue_server.conformance.clients import ClientRun
from glue_server.conformance.comparing import check_refused, check_same, short
from glue_server.conformance.drivers.agent_driver import AgentDriver, Turns
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.environment_driver import EnvironmentDriver
from glue_server.conformance.drivers.experiment_driver import LOOK_S, ExperimentDriver, Instruction
from reglue.conformance.words import spec_text
from reglue.errors import BadReply, NotConforming, ReglueError, RoutineRefused
from reglue.messages.agent_messages import (
    Actions,
    AgentInit,
    Budget,
    RoutineDone,
    TextMessage,
    Turn,
)
from reglue.messages.environment_messages import (
    EnvironmentInit,
    EnvironmentReady,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    Snapshot,
)
from reglue.messages.experiment_messages import EnvMessage
from reglue.spec import TaskSpec

_ANSWERS: Mapping[type, type] = {
    Turn: Actions,
    TextMessage: TextMessage,
    EnvironmentInit: EnvironmentReady,
    Play: Played,
    GetState: Snapshot,
    GetRandomSeed: Snapshot,
}
"""Kinds of calls and of their answers; RoutineDone answers the others."""


class _AnyPeerDriver(Driver):
    """Compares only kinds of answers, and takes any text for the answer to a message."""

    def counts(self) -> dict[str, int]:
        """Send a message. Returns no counts: the answer may be any text."""
        self.ask(TextMessage("counts"))
        return {}

    def _check(self, call: Any, reply: Any, wanted: Any) -> None:
        kind = _ANSWERS.get(type(call), RoutineDone)
        check_same(f"the reply to {type(call).__name__}", type(reply).__name__, kind.__name__)


class AnyAgentDriver(_AnyPeerDriver, AgentDriver):
    """Drives any agent that plays every task."""

    def begin(self, spec: TaskSpec) -> None:
        """Send agent_init."""
        self.turns = Turns(spec)
        self.ask(AgentInit(spec))

    def _check(self, call: Any, reply: Any, wanted: Any) -> None:
        super()._check(call, reply, wanted)
        if isinstance(call, Turn):
            try:
                self._check_actions(call, reply)
            except BadReply as bad:
                raise NotConforming("the actions", got=bad.got, wanted=bad.wanted) from bad

    def _check_actions(self, turn: Turn, actions: Actions) -> None:
        """Raise BadReply unless each row is legal, or of a slot that the agent may leave out."""
        slots = np.concatenate([turn.steps.slots, turn.starts.slots])
        abandoned = given_up(actions.abandon, slots)
        left_out = abandoned | held(actions.held, slots, abandoned)
        checked = ActionChecks(self.turns.spec).check(actions.arrays, len(slots))
        for row, bad in checked.refused.items():
            if slots[row] not in left_out:
                raise bad


class AnyEnvironmentDriver(_AnyPeerDriver, EnvironmentDriver):
    """Drives any environment, on its own tasks. One call is under way at a time."""

    def begin(self, spec: TaskSpec) -> None:
        """Send env_init, with the slots of `spec`."""
        self._init(spec.slots)

    def _wanted_of(self, call: Any, budget: Budget, for_reference: Any) -> Any:
        """Send the call, and wait for the reply, which `take` returns again."""
        reply = self._answer_to(call, budget)
        self._check(call, reply, None)
        if isinstance(reply, Played):
            check_same("slots that failed", dict(reply.faults), {})
        return reply

    def take(self) -> Any:
        return self._wanted.popleft()[1]

    def ask_refused(self, call: Any, code: str) -> None:
        check_refused(call, self._answer_to(call, Budget()), code)

    def _answer_to(self, call: Any, budget: Budget) -> Any:
        self._put(call, budget)
        return self._receive(f"the reply to {type(call).__name__}", object)


class AnyExperimentDriver(ExperimentDriver):
    """Carries out what any benchmark program calls: it chooses the routines itself."""

    def begin(self, spec: TaskSpec) -> None:
        """Have the kit's environment play that from the program's RL_init on."""
        self._reference(EnvMessage(f"play\n{spec_text(spec)}"), Budget())

    def go(self, slots: Sequence[int] | None = None) -> None:
        """Nothing: the program calls by itself."""

    def _wanted_of(self, call: Instruction, budget: Budget, for_reference: Any) -> None:
        """Nothing: the program calls what it wants."""

    def take(self, instead: ReglueError | None = None) -> Any:
        """The answer to the program's next call. Raises NotConforming if that is not legal."""
        return self.answer(instead)

    def answer(self, instead: ReglueError | None = None) -> Any:
        return self._carry_out_legal(self._hear("the program's next call"))

    def _carry_out_legal(self, call: Any) -> Any:
        answer = self._reference(call, Budget())
        if isinstance(answer, RoutineRefused):
            raise NotConforming(f"the call {short(call)}", got=answer.got, wanted=answer.wanted)
        self._give(answer)
        return answer

    def counts(self) -> dict[str, int]:
        """Nothing: the program cannot be told to ask for them."""
        return {}

    def _play_out(self, run: ClientRun) -> None:
        deadline = time.monotonic() + self._timeout_s
        while not (self.port.is_gone or run.has_left()):
            if (call := self.port.next(LOOK_S)) is not None:
                self._carry_out_legal(call)
            if time.monotonic() > deadline:
                got, wanted = "one that goes on", f"one that leaves within {self._timeout_s:g} s"
                raise NotConforming("the program", got=got, wanted=wanted)
        self.port.close("the program has left")
