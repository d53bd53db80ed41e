"""The tasks of a benchmark's name.

| name | tasks |
| --- | --- |
| `MT10` `MT25` `MT50` | Meta-World's multi-task sets |
| `MT1:reach-v3` | one task |
| `MT:reach-v3,push-v3` | a custom list |
| `ML10` `ML25` `ML45` | Meta-World's meta-learning sets, each with a train and a test split |
| `ML1:reach-v3` | one task; its splits differ in their goals |
| `ML:train=reach-v3,push-v3+test=sweep-v3` | custom lists; you may omit one split |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from env_adapters.metaworld.library import is_verified, metaworld, warn_if_unverified
from reglue.agents.metaworld import ALL_TASKS, MT10, MT25, MT50
from reglue.errors import BadArgument, UnknownName, UsageError

BUILT_IN: dict[tuple[str, str], tuple[str, ...]] = {
    ("MT10", "train"): MT10,
    ("MT25", "train"): MT25,
    ("MT50", "train"): MT50,
    ("ML10", "train"): tuple(
        """
        reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-close-v3
        button-press-topdown-v3 peg-insert-side-v3 window-open-v3 sweep-v3 basketball-v3
        """.split()
    ),
    ("ML10", "test"): tuple(
        """
        drawer-open-v3 door-close-v3 shelf-place-v3 sweep-into-v3 lever-pull-v3
        """.split()
    ),
    ("ML25", "train"): MT25,
    ("ML25", "test"): tuple(
        """
        basketball-v3 door-close-v3 shelf-place-v3 sweep-v3 button-press-v3
        """.split()
    ),
    ("ML45", "train"): tuple(
        """
        assembly-v3 basketball-v3 button-press-topdown-v3 button-press-topdown-wall-v3
        button-press-v3 button-press-wall-v3 coffee-button-v3 coffee-pull-v3
        coffee-push-v3 dial-turn-v3 disassemble-v3 door-close-v3 door-open-v3
        drawer-close-v3 drawer-open-v3 faucet-open-v3 faucet-close-v3 hammer-v3
        handle-press-side-v3 handle-press-v3 handle-pull-side-v3 handle-pull-v3
        lever-pull-v3 pick-place-wall-v3 pick-out-of-hole-v3 push-back-v3 pick-place-v3
        plate-slide-v3 plate-slide-side-v3 plate-slide-back-v3 plate-slide-back-side-v3
        peg-insert-side-v3 peg-unplug-side-v3 soccer-v3 stick-push-v3 stick-pull-v3
        push-wall-v3 push-v3 reach-wall-v3 reach-v3 shelf-place-v3 sweep-into-v3 sweep-v3
        window-open-v3 window-close-v3
        """.split()
    ),
    ("ML45", "test"): tuple(
        """
        bin-picking-v3 box-close-v3 hand-insert-v3 door-lock-v3 door-unlock-v3
        """.split()
    ),
}
"""By name and split; multi-task sets have "train" only."""


def check_task(name: str) -> str:
    """`name` itself. Raises UnknownName, with similar names, if there is no such task."""
    if name not in ALL_TASKS:
        raise UnknownName("Meta-World task", name, ALL_TASKS)
    return name


Family: TypeAlias = Literal["MT", "ML"]
Split: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Stream:
    """Tasks whose goals are drawn one after the other from one random stream."""

    tasks: tuple[str, ...]
    seed_offset: int = 0  # added to the benchmark's seed


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks of one split of a benchmark."""

    label: str  # the benchmark's name, as it was written
    family: Family
    split: Split
    streams: tuple[Stream, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names in Meta-World's order; task i has the one-hot index i."""
        return tuple(task for stream in self.streams for task in stream.tasks)

    @property
    def goal_visible(self) -> bool:
        """Multi-task agents see the goal; meta-learners must find it."""
        return self.family == "MT"


def task_set(name: str, split: str | None = None) -> TaskSet:
    """The set called `name`; see the table above.

    `split` is "train" for MT, and "test" unless said otherwise for ML. Raises
    UnknownName for an unknown benchmark or task, UsageError for a list or a split
    that cannot be played, MissingExtra without the metaworld package.
    """
    warn_if_unverified()
    kind, colon, listed = name.partition(":")
    if name not in _SETS and not (colon and kind in _LISTS):
        raise _unknown(name)
    family: Family = "MT" if kind.startswith("MT") else "ML"
    chosen = _split(name, family, split)
    streams: tuple[Stream, ...]
    match kind:
        case "MT1":
            streams = (Stream(_tasks(name, listed, most=1)),)
        case "ML1":
            # The test goals come from the next seed, so that they differ from train's.
            offset = 1 if chosen == "test" else 0
            streams = (Stream(_tasks(name, listed, most=1), offset),)
        case "MT":
            # As gym.make("Meta-World/custom-mt-envs"): MT1 for each, seeded by its place.
            alone = enumerate(_tasks(name, listed))
            streams = tuple(Stream((task,), place) for place, task in alone)
        case "ML":
            streams = (Stream(_side(name, listed, chosen)),)
        case _:
            streams = (Stream(_built_in(kind, family, chosen)),)
    return TaskSet(name, family, chosen, streams)


def catalogue() -> dict[str, str]:
    """The benchmarks for a listing: each name, or its form, and its meaning."""
    return _SETS | dict(_LISTS.values())


_SETS = {
    "MT10": "10 tasks, goal visible",
    "MT25": "25 tasks, goal visible",
    "MT50": "all 50 tasks, goal visible",
    "ML10": "10 train and 5 test tasks, goal hidden",
    "ML25": "25 train and 5 test tasks, goal hidden",
    "ML45": "45 train and 5 test tasks, goal hidden",
}

_LISTS = {
    "MT1": ("MT1:<task>", "one task, goal visible"),
    "MT": ("MT:<task>,<task>,…", "a custom list of tasks, goal visible"),
    "ML1": ("ML1:<task>", "one task, other goals in test than in train, goal hidden"),
    "ML": ("ML:train=<task>,…+test=<task>,…", "custom lists of tasks, goal hidden"),
}


def _unknown(name: str) -> UsageError:
    if name in _LISTS:
        return UsageError(f"got {name!r}, wanted {_LISTS[name][0]}")
    return UnknownName("Meta-World benchmark", name, catalogue())


def _split(name: str, family: Family, split: str | None) -> Split:
    if split is None:
        return "train" if family == "MT" else "test"
    legal = ("train",) if family == "MT" else ("train", "test")
    if split not in legal:
        raise BadArgument(f"{name}: got split {split!r}, wanted {' or '.join(legal)}")
    return cast(Split, split)


def _built_in(name: str, family: Family, split: Split) -> tuple[str, ...]:
    if is_verified():
        return BUILT_IN[name, split]
    classes = getattr(metaworld("env_dict"), f"{name}_V3")
    return tuple(classes if family == "MT" else classes[split])


def _tasks(name: str, listed: str, most: int | None = None) -> tuple[str, ...]:
    tasks = tuple(check_task(task.strip()) for task in listed.split(",") if task.strip())
    if not tasks or (most is not None and len(tasks) > most):
        raise BadArgument(f"{name}: got {len(tasks)} tasks, wanted {most or 'one or more'}")
    if len(set(tasks)) < len(tasks):
        raise BadArgument(f"{name}: a task is listed twice; name each once")
    return tasks


def _side(name: str, listed: str, split: Split) -> tuple[str, ...]:
    """The tasks of `split` in `train=a,b+test=c,d`."""
    sides: dict[str, tuple[str, ...]] = {}
    for part in listed.split("+"):
        side, equals, tasks = part.partition("=")
        if not equals or side not in ("train", "test") or side in sides:
            raise BadArgument(f"got {name!r}, wanted {_LISTS['ML'][0]}")
        sides[side] = _tasks(name, tasks)
    if both := set(sides.get("train", ())) & set(sides.get("test", ())):
        raise BadArgument(f"{name}: {', '.join(sorted(both))} is in train and in test")
    if split not in sides:
        raise BadArgument(f"{name} has no {split} tasks; give {split}=<task>,…")
    return sides[split]
