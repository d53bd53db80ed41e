"""A suite made of other suites: some of their tasks, variants and tensors, up to a horizon."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from env_adapters.fitting import FITS, Fit
from env_adapters.fitting.common_tensors import View, fit_specs
from env_adapters.states import seal, unseal
from env_adapters.suite_names import SuiteName
from reglue.environments.world import (
    Messaged,
    Rendered,
    Restorable,
    Step,
    Suite,
    World,
    close_suite,
)
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.environment_messages import Cell
from reglue.spec import Array, Arrays, TaskSpec


class Composed:
    """Plays tasks of several suites. Agents can tell the suites apart only by observations.

    `suites` lists the tasks' suites, each as `factory` and `config`. `tasks` gives for each task
    its `suite` as an index into that list, its name there as `task`, and as `variants` the numbers
    of the variants to play, in order. `sees` names the tensors that agents see, all by default;
    after `horizon` steps an episode is truncated, 0 leaves that to the suites.

    `fit` says how tensors that differ between tasks become those that all share: `equal` refuses
    them, for `pad` and `superset` see `env_adapters.fitting`.

    Raises UsageError if a suite, task, variant or tensor is unknown, or if the tensors of tasks
    cannot be combined.
    """

    def __init__(
        self,
        suites: Sequence[Mapping[str, Any]],
        tasks: Mapping[str, Mapping[str, Any]],
        horizon: int = 0,
        sees: Sequence[str] | None = None,
        fit: Fit = "equal",
    ) -> None:
        self._suites = [SuiteName(each["factory"], each["config"]).build() for each in suites]
        self._sources: Sources = {}
        specs = {}
        for name, table in tasks.items():
            suite = self._suites[table["suite"]]
            _check_variants(name, suite, table["task"], table["variants"])
            self._sources[name] = table["suite"], table["task"], table["variants"]
            specs[name] = _spec(name, suite.spec, horizon, sees)
        self._horizon = horizon
        self._views = {name: _selection(spec) for name, spec in specs.items()}
        if fit not in FITS:
            raise UnknownName("fit", fit, FITS)
        if fit != "equal" and specs:
            specs, self._views = fit_specs(specs, fit)
        if self.raw_actions:
            self._views = {name: self._clipping(name, view) for name, view in self._views.items()}
        self._spec = _common(specs)
        text = json.dumps([suites, tasks, horizon, sees, fit], sort_keys=True, default=repr)
        self._mark = hashlib.sha256(text.encode()).hexdigest()

    @staticmethod
    def rendering(config: Mapping[str, Any]) -> Mapping[str, Any]:
        """The config of a suite whose worlds render pictures, where they can."""
        made = [SuiteName(each["factory"], each["config"]).rendering() for each in config["suites"]]
        suites = [{"factory": each.factory, "config": each.config} for each in made]
        return {**config, "suites": suites}

    @property
    def spec(self) -> TaskSpec:
        """The observations and actions that all tasks share."""
        return self._spec

    @property
    def variants(self) -> Mapping[str, int]:
        """The number of each task's variants that are played."""
        return {name: len(numbers) for name, (_, _, numbers) in self._sources.items()}

    @property
    def standardizes(self) -> bool:
        return all(suite.standardizes for suite in self._suites)

    @property
    def tells_success(self) -> bool:
        return any(getattr(suite, "tells_success", True) for suite in self._suites)

    @property
    def raw_actions(self) -> bool:
        """Whether some suite takes unclipped actions; for the others they are clipped here."""
        return any(map(_is_raw, self._suites))

    @property
    def counts_steps(self) -> bool:
        """Whether the cells of some suite need the number of steps of the run before them."""
        return any(getattr(suite, "counts_steps", False) for suite in self._suites)

    @property
    def repeatable(self) -> bool:
        """Whether the cells decide the episodes of all suites."""
        return all(getattr(suite, "repeatable", True) for suite in self._suites)

    def close(self) -> None:
        """Close the suites."""
        for suite in self._suites:
            close_suite(suite)

    def world(self) -> World:
        """A world for one more slot: Restorable if those of all suites are."""
        places = {place for place, _, _ in self._sources.values()}
        worlds = {place: self._suites[place].world() for place in sorted(places)}
        if not all(isinstance(world, Restorable) for world in worlds.values()):
            return ComposedWorld(self._views, self._horizon, worlds, self._sources)
        return RestorableComposedWorld(
            self._views, self._horizon, worlds, self._sources, mark=self._mark
        )

    def _clipping(self, name: str, view: View) -> View:
        suite = self._suites[self._sources[name][0]]
        if _is_raw(suite):
            return view
        tensors = {tensor.name: tensor for tensor in suite.spec.actions}

        def act(actions: Arrays) -> Arrays:
            return {name: tensors[name].clipped(array) for name, array in view.act(actions).items()}

        return replace(view, act=act)


def _is_raw(suite: Suite) -> bool:
    return bool(getattr(suite, "raw_actions", False))


def _check_variants(name: str, suite: Suite, task: str, numbers: Sequence[int]) -> None:
    if task not in suite.variants:
        raise UnknownName(f"task for {name} called", task, suite.variants)
    most = suite.variants[task] - 1
    for number in numbers:
        if not 0 <= number <= most:
            raise BadArgument(name, got=f"variant {number}", wanted=f"0 to {most}")
    if not numbers:
        raise BadArgument(name, got="no variants", wanted=f"some of 0 to {most}")


def _spec(name: str, spec: TaskSpec, horizon: int, sees: Sequence[str] | None) -> TaskSpec:
    known = {tensor.name: tensor for tensor in spec.observations}
    for each in sees or ():
        if each not in known:
            raise UnknownName(f"tensor of {name} called", each, known)
    observations = spec.observations if sees is None else tuple(known[each] for each in sees)
    steps = min((each for each in (horizon, spec.horizon) if each), default=0)
    return replace(spec, observations=observations, horizon=steps)


def _selection(spec: TaskSpec) -> View:
    """A view that leaves out tensors, and changes no actions."""
    names = [tensor.name for tensor in spec.observations]
    return View(lambda arrays: {name: arrays[name] for name in names}, lambda actions: actions)


def _common(specs: Mapping[str, TaskSpec]) -> TaskSpec:
    """The spec that all tasks share; their tensors must be equal."""
    if not specs:
        raise BadArgument(got="no tasks", wanted="at least one")
    first, wanted = next(iter(specs.items()))
    for name, spec in specs.items():
        for what in ("observations", "actions", "discount", "continuing", "rewards_in_evaluation"):
            got, other = getattr(spec, what), getattr(wanted, what)
            if got != other:
                hint = '; fit = "pad" or "superset" combines them' * isinstance(got, tuple)
                message = f"got as {what} {_difference(got, other)} as in {first}{hint}"
                raise BadArgument(f"{name}: {message}")
    lows, highs = zip(*(spec.reward_range for spec in specs.values()), strict=True)
    horizons = [spec.horizon for spec in specs.values()]
    return replace(
        wanted,
        reward_range=(min(lows), max(highs)),
        horizon=max(horizons) if all(horizons) else 0,
        extra=wanted.extra if all(spec.extra == wanted.extra for spec in specs.values()) else "",
    )


def _difference(got: object, wanted: object) -> str:
    """Both values; of tensors their names, dtypes and shapes, or that only the bounds differ."""
    if not isinstance(got, tuple) or not isinstance(wanted, tuple):
        return f"{got}, wanted {wanted}"
    got_text, wanted_text = (
        ", ".join(f"{tensor.name} {tensor.dtype} {tensor.shape}" for tensor in each)
        for each in (got, wanted)
    )
    if got_text == wanted_text:
        return f"{got_text} with other bounds than wanted,"
    return f"{got_text}, wanted {wanted_text}"


Sources: TypeAlias = dict[str, tuple[int, str, Sequence[int]]]
"""For each task: the index of its suite, its name there, and the variants that are played."""

STATE = b"reglue.composed.state.1\n"
"""The first bytes of every state."""


class ComposedWorld:
    """Plays the cells of any suite; see reglue.environments.world."""

    def __init__(
        self, views: Mapping[str, View], horizon: int, worlds: Mapping[int, Any], sources: Sources
    ) -> None:
        """`views` are by task, `worlds` by the index of their suite."""
        self._views, self._horizon = views, horizon
        self._worlds, self._sources = worlds, sources
        self._task: str | None = None  # of the running episode
        self._last: World | None = None  # plays the running episode, or played the last one
        self._steps = 0

    def start(self, cell: Cell) -> Arrays:
        if cell.task not in self._sources:
            raise UnknownName("task in this suite", cell.task, self._sources)
        place, task, numbers = self._sources[cell.task]
        if not 0 <= cell.variant < len(numbers):
            wanted = f"0 to {len(numbers) - 1}"
            raise BadArgument(cell.task, got=f"variant {cell.variant}", wanted=wanted)
        first = self._worlds[place].start(replace(cell, task=task, variant=numbers[cell.variant]))
        return self._go_on(cell.task, 0).observe(first)

    def step(self, action: Arrays) -> Step:
        world, view = self._live()
        step = world.step(view.act(action))
        self._steps += 1
        is_late = 0 < self._horizon <= self._steps
        truncated = step.truncated or (is_late and not step.terminated)
        if step.terminated or truncated:
            self._task = None
        seen = view.observe(step.observation)
        return Step(step.reward, seen, step.terminated, truncated, step.success)

    @property
    def reports_success(self) -> bool:
        """Whether one of the worlds has reported success, or that there was none."""
        return any(getattr(world, "reports_success", False) for world in self._worlds.values())

    def message(self, text: str) -> str:
        """Send a message to every world that answers messages.

        The first answer that is not empty, in the order of suites: messages name no suite.
        """
        answers = [
            world.message(text) for world in self._worlds.values() if isinstance(world, Messaged)
        ]
        return next(filter(None, answers), "")

    def render(self) -> Array | None:
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


class RestorableComposedWorld(ComposedWorld):
    """A ComposedWorld whose worlds are all Restorable. It is not Seeded, since the state of one
    suite's random generator means nothing to another suite.
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
