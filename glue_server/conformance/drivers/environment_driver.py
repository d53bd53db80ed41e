"""Drives an environment: Plays of random episodes, all that the contract allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glue_server.conformance.conformance_tasks import PLAIN, random_rows
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.reference import environment_reference
from reglue.conformance.words import spec_text
from reglue.messages.agent_messages import Phase, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
    Cell,
    EnvironmentInit,
    EnvironmentReady,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
)
from reglue.spec import Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class Kept:
    """A state or seed, as the client wrote it and as its reference did."""

    client: bytes
    reference: bytes


class EnvironmentDriver(Driver):
    """Sends Plays."""

    def __init__(self, port: Any, *, timeout_s: float) -> None:
        super().__init__(port, environment_reference(), timeout_s=timeout_s)
        self.ready = EnvironmentReady(PLAIN, {})
        self.plays = Plays(PLAIN, {})

    def begin(self, spec: TaskSpec) -> None:
        """Tell it what to play, then env_init."""
        self.ask(TextMessage(f"play\n{spec_text(spec)}"))
        self._init(spec.slots)

    def _init(self, slots: int) -> None:
        self.ready = self.ask(EnvironmentInit(slots))
        self.plays = Plays(self.ready.spec, self.ready.variants)

    def go(self, slots: Sequence[int] | None = None) -> None:
        """Send a random Play."""
        self.go_on(self.plays.next(range(self.plays.spec.slots) if slots is None else slots))

    def start_all(self) -> None:
        """Start an episode in every slot."""
        self.go_on(self.plays.write(starts=range(self.plays.spec.slots)))
        self.take()

    def of_every_kind(self) -> Play:
        """A step and a start, of live slots."""
        return self.plays.write(steps=[0], starts=[1])

    def go_on(self, play: Play) -> None:
        """Send that Play."""
        wanted = self.send(play)
        assert isinstance(wanted, Played), wanted
        self.plays.update(play, wanted)

    def episode(self, cell: Cell, actions: Arrays) -> list[list[object]]:
        """Play a cell in every slot at once, with the same actions, (steps, *shape).

        Returns for each slot what happened at its start and at its steps.
        """
        live = list(range(self.plays.spec.slots))
        seen: list[list[object]] = [[] for _ in live]
        self.go_on(Play(np.array([], np.uint32), {}, dict.fromkeys(live, cell)))
        first = self.take()
        for slot in live:
            seen[slot].append(_row(first.observations, slot))
        for step in range(len(next(iter(actions.values())))):
            same = {name: rows[step : step + 1] for name, rows in actions.items()}
            every = {name: np.repeat(row, len(live), axis=0) for name, row in same.items()}
            self.go_on(Play(np.array(live, np.uint32), every, {}))
            played = self.take()
            columns = (played.rewards, played.terminated, played.truncated, played.success)
            for row, slot in enumerate(live):
                earned = [column[row].item() for column in columns]
                seen[slot].append((*earned, _row(played.observations, row)))
            is_over = (played.terminated | played.truncated).tolist()
            live = [slot for slot, over in zip(live, is_over, strict=True) if not over]
            if not live:
                break
        return seen

    def keep(self, call: GetState | GetRandomSeed) -> Kept:
        """Get a state or seed, to be set later."""
        wanted = self.send(call)
        return Kept(self.take().snapshot, wanted.snapshot)

    def put(self, call: type[SetState] | type[SetRandomSeed], slot: int, kept: Kept) -> None:
        """Set a state or seed."""
        self.send(call(slot, kept.client), for_reference=call(slot, kept.reference))
        reply = self.take()
        if call is SetState and isinstance(reply, RoutineDone):
            self.plays.resume(slot)


def _row(observations: Arrays, row: int) -> list[bytes]:
    return [rows[row].tobytes() for rows in observations.values()]


_SEEDS = (0, 1, 41, 2**53 + 1, 2**63 - 1)
_REPEATS = _STEPS = (0, 3, 2**64 - 1)
_PHASES = (Phase.TRAIN, Phase.EVALUATE)


class Plays:
    """Writes one Play after another, and knows which slots are live."""

    def __init__(self, spec: TaskSpec, variants: Mapping[str, int]) -> None:
        self.spec = spec
        self._variants = variants
        self._rng = np.random.default_rng(0)
        self._live: set[int] = set()

    def next(self, slots: Sequence[int]) -> Play:
        """Idle slots start; live ones step, or sometimes start anew."""
        steps = [slot for slot in slots if slot in self._live and self._rng.random() < 0.9]
        return self.write(steps=steps, starts=[slot for slot in slots if slot not in steps])

    def write(
        self, *, steps: Sequence[int] = (), starts: Sequence[int] = (), phase: Phase | None = None
    ) -> Play:
        """A Play of these slots, with random actions and cells, of that phase if there is one."""
        return Play(
            slots=np.array(steps, np.uint32),
            actions=self.actions(len(steps)) if steps else {},
            starts={slot: self.cell(phase) for slot in starts},
        )

    def actions(self, rows: int) -> Arrays:
        """Random actions."""
        return random_rows(self._rng, self.spec.actions, rows)

    def update(self, play: Play, played: Played) -> None:
        """Slots are live from their start to their end."""
        is_over = played.terminated | played.truncated
        self._live -= {*play.slots[is_over].tolist(), *played.faults}
        self._live |= {*play.starts} - {*played.faults}

    def resume(self, slot: int) -> None:
        """A state was set in `slot`: an episode is live."""
        self._live.add(slot)

    def cell(self, phase: Phase | None = None) -> Cell:
        """A random cell. ADAPT has a check of its own, which names what is wrong."""
        task = str(self._rng.choice([*self._variants]))
        return Cell(
            task=task,
            variant=int(self._rng.integers(self._variants[task])),
            seed=_SEEDS[self._rng.integers(len(_SEEDS))],
            repeat=_REPEATS[self._rng.integers(len(_REPEATS))],
            phase=phase or Phase(int(self._rng.choice(_PHASES))),
            steps=_STEPS[self._rng.integers(len(_STEPS))],
        )
