"""One slot's Gymnasium, of an environment that is known inside: kept and brought back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from env_adapters.gymnasium.generator import generator_at, words_of
from env_adapters.gymnasium.insides import StateCodec
from env_adapters.gymnasium.snapshot import Snapshot, Standing, read_snapshot, read_standing
from env_adapters.gymnasium.spaces import Tensors
from env_adapters.gymnasium.world import Episode, Goals, World
from reglue.environments.world import Cell
from reglue.errors import UsageError
from reglue.rng import Rng

_TIME_LIMIT = "_elapsed_steps"  # where the wrapper TimeLimit counts


class ExactWorld(World):
    """Plays an environment whose insides are known: Restorable and Seeded too.

    All its chance is `Chance(cell.seed, cell.repeat)`, by NumPy's distributions. Actions go
    in as they came: these clip their motion themselves, and some charge for the rest.
    """

    clips = False

    def __init__(  # noqa: PLR0913 - what OneEnvironment knows
        self,
        task: str,
        make: Callable[[], Any],
        observations: Tensors,
        actions: Tensors,
        *,
        horizon: int,
        insides: StateCodec,
        mark: Mapping[str, str],
        goals: Goals | None = None,
    ) -> None:
        super().__init__(task, make, observations, actions, goals=goals)
        self._horizon = horizon
        self._insides = insides
        self._mark = mark  # what must be the same where a state is to go on

    def get_state(self) -> bytes:
        """The episode's state; only the same id, options and versions take it.

        Raises UsageError when no episode is on.
        """
        live, env = self._live(), self._env.unwrapped
        return Snapshot(
            self._mark, live.cell, live.steps, words_of(env.np_random), self._insides.read(env)
        ).to_bytes()

    def set_state(self, state: bytes) -> None:
        """Leave the present episode for the one in `state`.

        Raises UsageError, with nothing changed, for a damaged state or another suite's.
        """
        snapshot = read_snapshot(state)
        generator = generator_at(snapshot.chance)
        env = self._open()
        self._check_mark(snapshot.suite)
        self._check_cell(snapshot.cell)
        if self._episode is None:  # it holds nothing yet, or what an episode's end left
            self._begin(env, snapshot.cell)
        self._check_fits(snapshot)
        self._insides.write(env.unwrapped, snapshot.inside)
        env.unwrapped.np_random = generator
        if env.has_wrapper_attr(_TIME_LIMIT):
            env.set_wrapper_attr(_TIME_LIMIT, snapshot.steps)
        self._episode = Episode(snapshot.cell, snapshot.steps)

    def get_random_seed(self) -> bytes:
        """Where the generator stands. Raises UsageError when no episode is on."""
        self._live()
        return Standing(self._mark, words_of(self._env.unwrapped.np_random)).to_bytes()

    def set_random_seed(self, seed: bytes) -> None:
        """Let chance go on from `seed`. Raises UsageError with nothing changed."""
        self._live()
        standing = read_standing(seed)
        self._check_mark(standing.suite)
        self._env.unwrapped.np_random = generator_at(standing.chance)

    def _open(self) -> Any:
        if self._env is None:
            env = super()._open()
            self._mark = {**self._mark, **self._insides.made_of(env.unwrapped)}
        return self._env

    def _reset(self, env: Any, cell: Cell) -> Any:
        env.unwrapped.np_random = np.random.Generator(Rng(cell.seed, cell.repeat).bits)
        return env.reset()[0]

    def _check_mark(self, suite: Mapping[str, str]) -> None:
        for name in sorted({*suite, *self._mark}):
            got, wanted = suite.get(name, "none"), self._mark.get(name, "none")
            if got != wanted:
                raise UsageError(f"got what was kept with {name} {got}, wanted {wanted}")

    def _check_fits(self, snapshot: Snapshot) -> None:
        if snapshot.steps < 0 or 0 < self._horizon <= snapshot.steps:
            raise UsageError(f"got a state after {snapshot.steps} steps of {self._horizon}")
