"""A schedule as a suite: its episodes are cells, which benchmarks play in any process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from env_adapters.argument_checks import RENDER_KEYWORDS
from env_adapters.curricula import environment_state
from env_adapters.curricula.curriculum import make_curriculum
from env_adapters.curricula.schedule_file import curriculum_arguments
from env_adapters.gymnasium.gymnasium_suite import OneEnvironment
from env_adapters.gymnasium.gymnasium_world import Episode, GymnasiumWorld
from env_adapters.gymnasium.space_tensors import Tensors
from env_adapters.states import EpisodeState, read_episode_state
from reglue.errors import BadArgument, UsageError

TASK = "curriculum"

_GYMNASIUM = "gymnasium:"


class Schedule(OneEnvironment):
    """Plays a schedule: the cell's `repeat` is the number of the episode, and its `steps` the
    steps of the run before it.

    `arguments` are those of `make_curriculum`, as JSON, its keywords for environments in
    `env_kwargs`. Its worlds are Restorable if every environment's state can be saved (see
    `env_adapters.curricula.environment_state`). Raises UsageError.
    """

    def __init__(self, **arguments: Any) -> None:
        first = make_curriculum(**curriculum_arguments(arguments))[0]
        super().__init__(TASK, first.another, arguments)
        self._can_be_saved = first.can_be_saved
        self.counts_steps = not arguments.get("episodic", False)
        """Whether a cell's `steps` decide its entry: only online benchmarks count steps."""

    @staticmethod
    def rendering(config: Mapping[str, Any]) -> Mapping[str, Any]:
        """The config in which Gymnasium's environments, and no others, render pictures."""
        return {**config, "schedule": _rendering(config["schedule"])}

    def world(self) -> GymnasiumWorld:
        if not self._can_be_saved:
            return super().world()
        return RestorableCurriculumWorld(
            TASK, self._take, self._observations, self._actions, mark=self._mark()
        )

    def _mark(self) -> Mapping[str, str]:
        mark = super()._mark()
        schedule = hashlib.sha256(mark["options"].encode()).hexdigest()
        return {**mark, "options": schedule}


def _rendering(what: Any) -> Any:
    """A part of a schedule, changed as in `Schedule.rendering`."""
    if isinstance(what, list):
        return [_rendering(each) for each in what]
    if isinstance(what, str) and what.startswith(_GYMNASIUM):
        return {"env": what, "kwargs": RENDER_KEYWORDS}
    if isinstance(what, dict) and str(what.get("env", "")).startswith(_GYMNASIUM):
        return {**what, "kwargs": {**RENDER_KEYWORDS, **what.get("kwargs", {})}}
    if isinstance(what, dict) and "env" not in what:
        return {key: _rendering(value) for key, value in what.items()}
    return what


class RestorableCurriculumWorld(GymnasiumWorld):
    """Plays the cells of a schedule whose environments can all save their state: Restorable.

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
        inside, words = environment_state.read(env)
        mark = {**self._mark, **environment_state.identity(env)}
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
        _check_mark(saved.suite, {**self._mark, **environment_state.identity(env)})
        environment_state.write(env, saved.inside, saved.generator, saved.steps)
        curriculum.skip(saved.steps)
        self._episode = Episode(saved.cell, saved.steps)


def _check_mark(got: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    for name in sorted({*got, *wanted}):
        if got.get(name) != wanted.get(name):
            difference = f"{name} {got.get(name)}, wanted {wanted.get(name)}"
            raise BadArgument(f"got a state saved with {difference}")
