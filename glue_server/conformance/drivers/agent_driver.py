"""Drives an agent: random turns, all that the contract allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glue_server.conformance.comparing import check_spec, read_spec
from glue_server.conformance.conformance_tasks import PLAIN, random_rows
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.reference import agent_reference
from reglue.messages.agent_messages import AgentInit, EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.spec import Array, TaskSpec


class AgentDriver(Driver):
    """Sends turns."""

    def __init__(self, port: Any, *, timeout_s: float) -> None:
        super().__init__(port, agent_reference(), timeout_s=timeout_s)
        self.turns = Turns(PLAIN)

    def begin(self, spec: TaskSpec) -> None:
        """Send agent_init, then ask the agent for the spec that it received."""
        self.turns = Turns(spec)
        self.ask(AgentInit(spec))
        check_spec(read_spec("`spec`", self.hear("spec")[0]), spec)

    def go(self, slots: Sequence[int] | None = None) -> None:
        """Send a random turn."""
        self.send(self.turns.next(range(self.turns.spec.slots) if slots is None else slots))

    def start_all(self) -> None:
        """Start an episode in every slot."""
        self.send(self.turns.write(starts=range(self.turns.spec.slots)))
        self.take()

    def of_every_kind(self) -> Turn:
        """An end, a step and a start, of three live slots."""
        return self.turns.write(ends=[2], steps=[0], starts=[1])


_FLAGS = (0, 0, 1, 2, 3, 128)  # 128 has no meaning yet; clients must ignore it
_SEEDS = (0, 1, 2**63, 2**64 - 1)
_REWARDS = (0.0, -0.0, 1.5, -1e300, 5e-324, 0.1)


class Turns:
    """Writes one turn after another, and knows which slots are live."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec
        self.phase = Phase.TRAIN
        self._rng = np.random.default_rng(0)
        self._live: set[int] = set()

    def next(self, slots: Sequence[int]) -> Turn:
        """Idle slots start; live ones step, end, end and start, or are cut off."""
        ends, steps, starts = [], [], []
        for slot in slots:
            fate = self._rng.choice(["step", "end", "both", "cut"], p=[0.7, 0.1, 0.1, 0.1])
            if slot not in self._live or fate in {"both", "cut"}:
                starts.append(slot)
            if slot in self._live and fate in {"end", "both"}:
                ends.append(slot)
            if slot in self._live and fate == "step":
                steps.append(slot)
        return self.write(ends=ends, steps=steps, starts=starts)

    def write(
        self,
        *,
        ends: Sequence[int] = (),
        steps: Sequence[int] = (),
        starts: Sequence[int] = (),
        kinds: Sequence[EndKind] = (),
    ) -> Turn:
        """A turn of these slots; without `kinds` the kinds of the ends are random."""
        self._live = (self._live - {*ends}) | {*starts}
        rewards = self._draw(_REWARDS, len(ends) + len(steps), np.float64)
        if self.phase is Phase.EVALUATE and not self.spec.rewards_in_evaluation:
            rewards = np.full(len(rewards), np.nan)
        drawn = self._rng.choice([*EndKind], len(ends))
        flags = self._draw(_FLAGS, len(steps), np.uint8)
        return Turn(
            phase=self.phase,
            ends=Ends(np.array(ends, np.uint32), np.array(kinds or drawn, np.uint8)),
            steps=Steps(np.array(steps, np.uint32), flags),
            starts=Starts(np.array(starts, np.uint32), self._draw(_SEEDS, len(starts), np.uint64)),
            rewards=rewards,
            observations=random_rows(
                self._rng, self.spec.observations, len(ends) + len(steps) + len(starts)
            ),
        )

    def _draw(self, numbers: Sequence[float], count: int, dtype: type[np.generic]) -> Array:
        return np.array(numbers, dtype)[self._rng.integers(0, len(numbers), count)]
