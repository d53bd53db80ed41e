"""One slot of a suite made of others: a world of the cell's own suite plays it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from env_adapters.fitting.tensors import View
from env_adapters.states import seal, unseal
from reglue.environments.world import Cell, Rendered, Step, World
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.spec import Array, Arrays

Sources: TypeAlias = dict[str, tuple[int, str, Sequence[int]]]
"""Of each task: the place of its suite, its name there, and the variants that are played."""

STATE = b"reglue.composed.state.1\n"
"""What states begin with."""


class ComposedWorld:
    """Plays the cells of any suite; see reglue.environments.world."""

    def __init__(
        self, views: Mapping[str, View], horizon: int, worlds: Mapping[int, Any], sources: Sources
    ) -> None:
        """`worlds` are the suites', by their places; `views` are those of the tasks."""
        self._views, self._horizon = views, horizon
        self._worlds, self._sources = worlds, sources
        self._task: str | None = None  # the present one's
        self._last: World | None = None  # of the present or the last episode
        self._steps = 0

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError."""
        if cell.task not in self._sources:
            raise UnknownName("task in this suite", cell.task, self._sources)
        place, task, numbers = self._sources[cell.task]
        if not 0 <= cell.variant < len(numbers):
            wanted = f"0 to {len(numbers) - 1}"
            raise BadArgument(f"{cell.task}: got variant {cell.variant}, wanted {wanted}")
        first = self._worlds[place].start(replace(cell, task=task, variant=numbers[cell.variant]))
        return self._go_on(cell.task, 0).observe(first)

    def step(self, action: Arrays) -> Step:
        """Take one step. Raises UsageError."""
        world, view = self._live()
        step = world.step(view.act(action))
        self._steps += 1
        is_late = 0 < self._horizon <= self._steps
        truncated = step.truncated or (is_late and not step.terminated)
        if step.terminated or truncated:
            self._task = None
        seen = view.observe(step.observation)
        return Step(step.reward, seen, step.terminated, truncated, step.success)

    def render(self) -> Array | None:
        """As the episode's world; None if that does not draw."""
        world: object = self._last
        return world.render() if isinstance(world, Rendered) else None

    def close(self) -> None:
        """Close the worlds; `start` opens them again."""
        for world in self._worlds.values():
            world.close()
        self._task, self._last = None, None

    def _go_on(self, task: str, steps: int) -> View:
        self._task, self._steps = task, steps
        self._last = self._worlds[self._sources[task][0]]
        return self._views[task]

    def _live(self) -> tuple[Any, View]:
        if self._task is None:
            raise UsageError("no episode is running; call start first")
        return self._last, self._views[self._task]


class KeptWorld(ComposedWorld):
    """Its worlds are Restorable, so it is too. It is not Seeded, since the state of one suite's
    random generator means nothing to another suite.
    """

    def __init__(
        self,
        views: Mapping[str, View],
        horizon: int,
        worlds: Mapping[int, Any],
        sources: Sources,
        *,
        mark: str,
    ) -> None:
        """States continue only in a world of the same `mark`."""
        super().__init__(views, horizon, worlds, sources)
        self._mark = mark

    def get_state(self) -> bytes:
        """The world's state, its task and the steps so far. Raises UsageError."""
        inner: bytes = self._live()[0].get_state()
        header = {"mark": self._mark, "task": self._task, "steps": self._steps}
        body = json.dumps(header).encode() + b"\n" + inner
        return seal(STATE, body)

    def set_state(self, state: bytes) -> None:
        """Continue the episode in `state` in place of the present one.

        Raises UsageError, with nothing changed, for a damaged state or another suite's.
        """
        body = unseal(STATE, state, "the state of a composed suite")
        head, _, inner = body.partition(b"\n")
        try:
            header = json.loads(head)
            mark, task, steps = header["mark"], header["task"], int(header["steps"])
        except (ValueError, TypeError, KeyError) as error:
            raise BadArgument(f"got a state that cannot be read: {error!r}") from error
        if mark != self._mark or task not in self._sources:
            raise BadArgument("got a state of other suites, tasks, horizon or tensors than these")
        self._worlds[self._sources[task][0]].set_state(inner)
        self._go_on(task, steps)
