"""A suite made of others: some of their tasks and variants, seen in part, for so many steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from env_adapters.suites import SuiteName
from reglue.errors import UnknownName, UsageError
from reglue.spec import Array, Arrays, TaskSpec
from reglue.worlds import Cell, Rendered, Step, Suite, World


class Composed:
    """Plays tasks of several suites, which agents cannot tell apart but by what they see.

    `suites` are those that tasks come from, `factory` and `config` each. `tasks` says for
    each task which of them is its `suite`, by place, its name there as `task`, and as
    `variants` the numbers of those that are played, in their order. `sees` names the tensors
    that agents see, all by default; after `horizon` steps an episode is truncated, 0 leaves
    that to the suites.

    Raises UsageError where suites, tasks, variants or tensors cannot be had, or what is seen
    and done differs between tasks.
    """

    def __init__(
        self,
        suites: Sequence[Mapping[str, Any]],
        tasks: Mapping[str, Mapping[str, Any]],
        horizon: int = 0,
        sees: Sequence[str] | None = None,
    ) -> None:
        self._suites = [SuiteName(each["factory"], each["config"]).build() for each in suites]
        self._sources: dict[str, tuple[int, str, Sequence[int]]] = {}
        specs = {}
        for name, table in tasks.items():
            suite = self._suites[table["suite"]]
            _check_variants(name, suite, table["task"], table["variants"])
            self._sources[name] = table["suite"], table["task"], table["variants"]
            specs[name] = _spec(name, suite.spec, horizon, sees)
        self._horizon = horizon
        self._spec = _common(specs)

    @property
    def spec(self) -> TaskSpec:
        """What is seen and done in all tasks."""
        return self._spec

    @property
    def variants(self) -> Mapping[str, int]:
        """How many of each task's variants are played."""
        return {name: len(numbers) for name, (_, _, numbers) in self._sources.items()}

    @property
    def standardizes(self) -> bool:
        """True if all suites do."""
        return all(suite.standardizes for suite in self._suites)

    def world(self) -> World:
        """A world for one more slot."""
        seen = [tensor.name for tensor in self._spec.observations]
        return _World(seen, self._horizon, self._suites, self._sources)


class _World:
    """Hands each cell to a world of its suite, made when it is first needed."""

    def __init__(
        self,
        seen: Sequence[str],
        horizon: int,
        suites: Sequence[Suite],
        sources: Mapping[str, tuple[int, str, Sequence[int]]],
    ) -> None:
        self._seen, self._horizon = seen, horizon
        self._suites, self._sources = suites, sources
        self._worlds: dict[int, World] = {}
        self._live: World | None = None
        self._last: World | None = None  # that is live, or was
        self._steps = 0

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode. Raises UsageError."""
        if cell.task not in self._sources:
            raise UnknownName("task in this suite", cell.task, self._sources)
        place, task, numbers = self._sources[cell.task]
        if not 0 <= cell.variant < len(numbers):
            wanted = f"0 to {len(numbers) - 1}"
            raise UsageError(f"{cell.task}: got variant {cell.variant}, wanted {wanted}")
        if place not in self._worlds:
            self._worlds[place] = self._suites[place].world()
        world = self._worlds[place]
        first = world.start(replace(cell, task=task, variant=numbers[cell.variant]))
        self._live, self._last, self._steps = world, world, 0
        return self._shown(first)

    def step(self, action: Arrays) -> Step:
        """Take one step. Raises UsageError."""
        if self._live is None:
            raise UsageError("no episode is on; call start first")
        step = self._live.step(action)
        self._steps += 1
        is_late = 0 < self._horizon <= self._steps
        truncated = step.truncated or (is_late and not step.terminated)
        if step.terminated or truncated:
            self._live = None
        return Step(
            step.reward, self._shown(step.observation), step.terminated, truncated, step.success
        )

    def render(self) -> Array | None:
        """As the episode's world; None where that does not draw."""
        world: object = self._last
        return world.render() if isinstance(world, Rendered) else None

    def close(self) -> None:
        """Close the worlds; `start` makes others."""
        for world in self._worlds.values():
            world.close()
        self._worlds, self._live, self._last = {}, None, None

    def _shown(self, observation: Arrays) -> Arrays:
        return {name: observation[name] for name in self._seen}


def _check_variants(name: str, suite: Suite, task: str, numbers: Sequence[int]) -> None:
    if task not in suite.variants:
        raise UnknownName(f"task for {name} called", task, suite.variants)
    most = suite.variants[task] - 1
    for number in numbers:
        if not 0 <= number <= most:
            raise UsageError(f"{name}: got variant {number}, wanted 0 to {most}")
    if not numbers:
        raise UsageError(f"{name}: got no variants, wanted some of 0 to {most}")


def _spec(name: str, spec: TaskSpec, horizon: int, sees: Sequence[str] | None) -> TaskSpec:
    known = {tensor.name: tensor for tensor in spec.observations}
    for each in sees or ():
        if each not in known:
            raise UnknownName(f"tensor of {name} called", each, known)
    shown = spec.observations if sees is None else tuple(known[each] for each in sees)
    steps = min((each for each in (horizon, spec.horizon) if each), default=0)
    return replace(spec, observations=shown, horizon=steps)


def _common(specs: Mapping[str, TaskSpec]) -> TaskSpec:
    """What holds for all; what is seen and done must be the same."""
    if not specs:
        raise UsageError("got no tasks, wanted at least one")
    first, wanted = next(iter(specs.items()))
    for name, spec in specs.items():
        for what in ("observations", "actions", "discount", "continuing", "rewards_in_evaluation"):
            got, other = getattr(spec, what), getattr(wanted, what)
            if got != other:
                raise UsageError(f"{name}: got as {what} {_words(got, other)} as in {first}")
    lows, highs = zip(*(spec.reward_range for spec in specs.values()), strict=True)
    horizons = [spec.horizon for spec in specs.values()]
    return replace(
        wanted,
        reward_range=(min(lows), max(highs)),
        horizon=max(horizons) if all(horizons) else 0,
    )


def _words(got: object, wanted: object) -> str:
    """A difference: names, dtypes and shapes of tensors, unless they are alike."""
    if not isinstance(got, tuple) or not isinstance(wanted, tuple):
        return f"{got}, wanted {wanted}"
    told, other = (
        ", ".join(f"{tensor.name} {tensor.dtype} {tensor.shape}" for tensor in each)
        for each in (got, wanted)
    )
    if told == other:
        return f"{told} with other bounds than wanted,"
    return f"{told}, wanted {other}"
