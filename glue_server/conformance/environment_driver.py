"""The kit's talk with an environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glue_server.conformance.driver import Driver
from glue_server.conformance.plays import Plays
from glue_server.conformance.reference import EnvironmentReference
from glue_server.conformance.specs import PLAIN
from reglue.conformance.spec_text import spec_text
from reglue.messages.agent import RoutineDone, TextMessage
from reglue.messages.environment import (
    EnvironmentInit,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
)
from reglue.spec import TaskSpec


@dataclass(frozen=True, slots=True)
class Kept:
    """A state or seed, as the client wrote it and as its twin did."""

    client: bytes
    twin: bytes


class EnvironmentDriver(Driver):
    """Plays Plays."""

    def __init__(self, port: Any, *, patience_s: float) -> None:
        super().__init__(port, EnvironmentReference(), patience_s=patience_s)
        self.plays = Plays(PLAIN, {})

    def begin(self, spec: TaskSpec) -> None:
        """Tell it what to play, then env_init."""
        self.ask(TextMessage(f"play\n{spec_text(spec)}"))
        ready = self.ask(EnvironmentInit(spec.slots))
        self.plays = Plays(spec, ready.variants)

    def go(self, slots: Sequence[int] | None = None) -> None:
        """A random Play."""
        self.go_on(self.plays.next(range(self.plays.spec.slots) if slots is None else slots))

    def start_all(self) -> None:
        """An episode in every slot."""
        self.go_on(self.plays.write(starts=range(self.plays.spec.slots)))
        self.take()

    def of_every_kind(self) -> Play:
        """A step and a start, of live slots."""
        return self.plays.write(steps=[0], starts=[1])

    def go_on(self, play: Play) -> None:
        """That Play."""
        wanted = self.send(play)
        assert isinstance(wanted, Played), wanted
        self.plays.took(play, wanted)

    def keep(self, call: GetState | GetRandomSeed) -> Kept:
        """What is to be set again later."""
        wanted = self.send(call)
        return Kept(self.take().snapshot, wanted.snapshot)

    def put(self, call: type[SetState] | type[SetRandomSeed], slot: int, kept: Kept) -> None:
        """Set what was kept."""
        self.send(call(slot, kept.client), for_twin=call(slot, kept.twin))
        reply = self.take()
        if call is SetState and isinstance(reply, RoutineDone):
            self.plays.revived(slot)
