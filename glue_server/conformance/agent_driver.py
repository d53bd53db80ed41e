"""The kit's talk with an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glue_server.conformance.comparing import check_spec
from glue_server.conformance.driver import Driver
from glue_server.conformance.reference import AgentReference
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.turns import Turns
from reglue.conformance.spec_text import spec_of_text
from reglue.errors import NotConforming, SpecError
from reglue.messages.agent import AgentInit, Turn
from reglue.spec import TaskSpec


class AgentDriver(Driver):
    """Plays turns."""

    def __init__(self, port: Any, *, patience_s: float) -> None:
        super().__init__(port, AgentReference(), patience_s=patience_s)
        self.turns = Turns(PLAIN)

    def begin(self, spec: TaskSpec) -> None:
        """agent_init; the agent is asked what it was told."""
        self.turns = Turns(spec)
        self.ask(AgentInit(spec))
        got, wanted = self.hear("spec")
        try:
            told = spec_of_text(got)
        except (SpecError, ValueError) as error:
            raise NotConforming("`spec`", got=repr(got), wanted=repr(wanted)) from error
        check_spec(told, spec)

    def go(self, slots: Sequence[int] | None = None) -> None:
        """A random turn."""
        self.send(self.turns.next(range(self.turns.spec.slots) if slots is None else slots))

    def start_all(self) -> None:
        """An episode in every slot."""
        self.send(self.turns.write(starts=range(self.turns.spec.slots)))
        self.take()

    def of_every_kind(self) -> Turn:
        """An end, a step and a start, of three live slots."""
        return self.turns.write(ends=[2], steps=[0], starts=[1])
