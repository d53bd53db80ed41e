"""Plays of random episodes: all that the contract allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glue_server.conformance.random_tensors import random_rows
from reglue.environments.world import Cell
from reglue.messages.agent import Phase
from reglue.messages.environment import Play, Played
from reglue.spec import TaskSpec

_SEEDS = (0, 1, 41, 2**53 + 1, 2**63 - 1)
_REPEATS = _STEPS = (0, 3, 2**64 - 1)


class Plays:
    """Writes one Play after another, and knows which slots are live."""

    def __init__(self, spec: TaskSpec, variants: Mapping[str, int], seed: int = 0) -> None:
        self.spec = spec
        self._variants = variants
        self._rng = np.random.default_rng(seed)
        self._live: set[int] = set()

    def next(self, slots: Sequence[int]) -> Play:
        """Idle slots start; live ones step, or start anew now and then."""
        steps = [slot for slot in slots if slot in self._live and self._rng.random() < 0.9]
        return self.write(steps=steps, starts=[slot for slot in slots if slot not in steps])

    def write(self, *, steps: Sequence[int] = (), starts: Sequence[int] = ()) -> Play:
        """A Play of these slots, with random actions and cells."""
        return Play(
            slots=np.array(steps, np.uint32),
            actions=random_rows(self._rng, self.spec.actions, len(steps)) if steps else {},
            starts={slot: self.cell() for slot in starts},
        )

    def took(self, play: Play, played: Played) -> None:
        """Slots are live from their start to their end."""
        is_over = played.terminated | played.truncated
        self._live -= {*play.slots[is_over].tolist(), *played.faults}
        self._live |= {*play.starts} - {*played.faults}

    def revived(self, slot: int) -> None:
        """A state was set there: an episode is on."""
        self._live.add(slot)

    def cell(self) -> Cell:
        """Any episode that there is."""
        task = str(self._rng.choice([*self._variants]))
        return Cell(
            task=task,
            variant=int(self._rng.integers(self._variants[task])),
            seed=_SEEDS[self._rng.integers(len(_SEEDS))],
            repeat=_REPEATS[self._rng.integers(len(_REPEATS))],
            phase=Phase(int(self._rng.choice([*Phase]))),
            steps=_STEPS[self._rng.integers(len(_STEPS))],
        )
