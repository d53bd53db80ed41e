"""One slot of a schedule whose environments can all save their state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from env_adapters.curricula import kept
from env_adapters.gymnasium.spaces import Tensors
from env_adapters.gymnasium.world import Episode, GymnasiumWorld
from env_adapters.states import EpisodeState, read_episode_state
from reglue.errors import BadArgument, UsageError


class KeptWorld(GymnasiumWorld):
    """Plays the cells of a schedule: Restorable.

    The cell says which environment plays, and how it was made and drawn; a state holds the rest.
    """

    def __init__(
        self,
        task: str,
        make: Callable[[], Any],
        observations: Tensors,
        actions: Tensors,
        *,
        mark: Mapping[str, str],
    ) -> None:
        """States continue only in a world of the same `mark`."""
        super().__init__(task, make, observations, actions)
        self._mark = mark

    def get_state(self) -> bytes:
        """The episode's state, for the same schedule and versions. Raises UsageError if no episode
        is running.
        """
        live, env = self._live(), self._env.playing
        inside, words = kept.read(env)
        mark = {**self._mark, **kept.made_of(env)}
        return EpisodeState(mark, live.cell, live.steps, inside, words).to_bytes()

    def set_state(self, state: bytes) -> None:
        """Continue the episode in `state` in place of the present one.

        Raises UsageError, with nothing changed, for a damaged state or another schedule's.
        """
        saved = read_episode_state(state)
        self._check_cell(saved.cell)
        _check_mark({name: saved.suite.get(name, "none") for name in self._mark}, self._mark)
        before = None if self._episode is None else read_episode_state(self.get_state())
        try:
            self._go_on(saved)
        except UsageError:
            self._episode = None
            if before is not None:
                self._go_on(before)
            raise

    def _go_on(self, saved: EpisodeState) -> None:
        curriculum = self._open()
        self._begin(curriculum, saved.cell)
        env = curriculum.playing
        _check_mark(saved.suite, {**self._mark, **kept.made_of(env)})
        kept.write(env, saved.inside, saved.generator, saved.steps)
        curriculum.skip(saved.steps)
        self._episode = Episode(saved.cell, saved.steps)


def _check_mark(got: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    for name in sorted({*got, *wanted}):
        if got.get(name) != wanted.get(name):
            told = f"{name} {got.get(name)}, wanted {wanted.get(name)}"
            raise BadArgument(f"got a state saved with {told}")
