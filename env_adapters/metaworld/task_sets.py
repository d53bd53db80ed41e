"""The tasks of a benchmark's name, and their goals, drawn as Meta-World's benchmark classes do.

| name | tasks |
| --- | --- |
| `MT10` `MT25` `MT50` | Meta-World's multi-task sets |
| `MT1:reach-v3` | one task |
| `MT:reach-v3,push-v3` | a custom list |
| `ML10` `ML25` `ML45` | Meta-World's meta-learning sets, each with a train and a test split |
| `ML1:reach-v3` | one task; its splits differ in their goals |
| `ML:train=reach-v3,push-v3+test=sweep-v3` | custom lists; you may omit one split |

A goal is Meta-World's `rand_vec`: 3 or 6 coordinates in metres. Variant k of a task
is the k-th `Task` of that name in the benchmark's `train_tasks` or `test_tasks`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.cameras import DEFAULT_SIZE, size_text
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
        "drawer-open-v3 door-close-v3 shelf-place-v3 sweep-into-v3 lever-pull-v3".split()
    ),
    ("ML25", "train"): MT25,
    ("ML25", "test"): tuple(
        "basketball-v3 door-close-v3 shelf-place-v3 sweep-v3 button-press-v3".split()
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
        "bin-picking-v3 box-close-v3 hand-insert-v3 door-lock-v3 door-unlock-v3".split()
    ),
}
"""Task sets by name and split; multi-task sets have "train" only."""


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

    def config(
        self,
        seed: int,
        key: bytes | None = None,
        progress: Callable[[int, int], None] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """The keywords of a MetaWorld that plays it; see draw_goals. `arguments` take precedence.

        Raises UsageError for a seed out of range, and a `camera_size` that is none.
        """
        size = arguments.get("camera_size")
        if size is not None or arguments.get("camera") is not None:  # one form, as it is hashed
            arguments["camera_size"] = size_text(DEFAULT_SIZE if size is None else size)
        goals = draw_goals(self, seed, progress, key=key)
        listed = {task: [list(goal) for goal in of] for task, of in goals.items()}
        return {"goals": listed, "goal_visible": self.goal_visible, **arguments}


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
        return UsageError(got=repr(name), wanted=_LISTS[name][0])
    return UnknownName("Meta-World benchmark", name, catalogue())


def _split(name: str, family: Family, split: str | None) -> Split:
    if split is None:
        return "train" if family == "MT" else "test"
    legal = ("train",) if family == "MT" else ("train", "test")
    if split not in legal:
        raise BadArgument(name, got=f"split {split!r}", wanted=" or ".join(legal))
    return cast(Split, split)


def _built_in(name: str, family: Family, split: Split) -> tuple[str, ...]:
    if is_verified():
        return BUILT_IN[name, split]
    classes = getattr(metaworld("env_dict"), f"{name}_V3")
    return tuple(classes if family == "MT" else classes[split])


def _tasks(name: str, listed: str, most: int | None = None) -> tuple[str, ...]:
    tasks = tuple(check_task(task.strip()) for task in listed.split(",") if task.strip())
    if not tasks or (most is not None and len(tasks) > most):
        raise BadArgument(name, got=f"{len(tasks)} tasks", wanted=most or "one or more")
    if len(set(tasks)) < len(tasks):
        raise BadArgument(f"{name}: a task is listed twice; name each once")
    return tasks


def _side(name: str, listed: str, split: Split) -> tuple[str, ...]:
    """The tasks of `split` in `train=a,b+test=c,d`."""
    sides: dict[str, tuple[str, ...]] = {}
    for part in listed.split("+"):
        side, equals, tasks = part.partition("=")
        if not equals or side not in ("train", "test") or side in sides:
            raise BadArgument(got=repr(name), wanted=_LISTS["ML"][0])
        sides[side] = _tasks(name, tasks)
    if both := set(sides.get("train", ())) & set(sides.get("test", ())):
        raise BadArgument(f"{name}: {', '.join(sorted(both))} is in train and in test")
    if split not in sides:
        raise BadArgument(f"{name} has no {split} tasks; give {split}=<task>,…")
    return sides[split]


Goal: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """The box from which a task's goals are drawn, in metres, and those that are drawn again."""

    low: Sequence[float]  # (3,) or (6,): `_random_reset_space`
    high: Sequence[float]
    apart: float = 0.0  # least distance in x and y of the object (the first 3) from…
    target: Sequence[float] | None = None  # … this, (2,), or else the last 3 of the goal

    def goal(self, rng: np.random.RandomState) -> Goal:
        """The next goal: a reset calls `reset_model` twice, and the second call's goal counts."""
        self._vector(rng)
        return tuple(self._vector(rng).tolist())

    def _vector(self, rng: np.random.RandomState) -> npt.NDArray[np.float64]:
        while True:
            vector = rng.uniform(self.low, self.high)
            target = vector[3:5] if self.target is None else self.target
            if not self.apart or np.linalg.norm(vector[:2] - target) >= self.apart:
                return vector


DRAWS = {
    "assembly-v3": Draw((0, 0.6, 0.02, -0.1, 0.75, 0.1), (0, 0.6, 0.02, 0.1, 0.85, 0.1), 0.1),
    "basketball-v3": Draw(
        (-0.1, 0.6, 0.0299, -0.1, 0.85, 0), (0.1, 0.7, 0.0301, 0.1, 0.9000001, 0), 0.15
    ),
    "bin-picking-v3": Draw(
        (-0.21, 0.65, 0.02, 0.1199, 0.699, -0.001), (-0.03, 0.75, 0.02, 0.1201, 0.701, 0.001)
    ),
    "box-close-v3": Draw(
        (-0.05, 0.5, 0.02, -0.1, 0.7, 0.133), (0.05, 0.55, 0.02, 0.1, 0.8, 0.133), 0.25
    ),
    "button-press-topdown-v3": Draw((-0.1, 0.8, 0.115), (0.1, 0.9, 0.115)),
    "button-press-topdown-wall-v3": Draw((-0.1, 0.8, 0.115), (0.1, 0.9, 0.115)),
    "button-press-v3": Draw((-0.1, 0.85, 0.115), (0.1, 0.9, 0.115)),
    "button-press-wall-v3": Draw((-0.05, 0.85, 0.1149), (0.05, 0.9, 0.1151)),
    "coffee-button-v3": Draw((-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)),
    "coffee-pull-v3": Draw(
        (-0.05, 0.7, -0.001, -0.1, 0.55, -0.001), (0.05, 0.75, 0.001, 0.1, 0.65, 0.001), 0.15
    ),
    "coffee-push-v3": Draw(
        (-0.1, 0.55, -0.001, -0.05, 0.7, -0.001), (0.1, 0.65, 0.001, 0.05, 0.75, 0.001), 0.15
    ),
    "dial-turn-v3": Draw((-0.1, 0.7, 0), (0.1, 0.8, 0)),
    "disassemble-v3": Draw(
        (0, 0.6, 0.025, -0.1, 0.6, 0.1699), (0.1, 0.75, 0.02501, 0.1, 0.75, 0.1701), 0.1
    ),
    "door-close-v3": Draw((0, 0.85, 0.15), (0.1, 0.95, 0.15)),
    "door-lock-v3": Draw((-0.1, 0.8, 0.15), (0.1, 0.85, 0.15)),
    "door-open-v3": Draw((0, 0.85, 0.15), (0.1, 0.95, 0.15)),
    "door-unlock-v3": Draw((-0.1, 0.8, 0.15), (0.1, 0.85, 0.15)),
    "drawer-close-v3": Draw((-0.1, 0.9, 0), (0.1, 0.9, 0)),
    "drawer-open-v3": Draw((-0.1, 0.9, 0), (0.1, 0.9, 0)),
    "faucet-close-v3": Draw((-0.1, 0.8, 0), (0.1, 0.85, 0)),
    "faucet-open-v3": Draw((-0.05, 0.8, 0), (0.05, 0.85, 0)),
    "hammer-v3": Draw((-0.1, 0.4, 0), (0.1, 0.5, 0)),
    "hand-insert-v3": Draw(
        (-0.1, 0.6, 0.05, -0.04, 0.8, -0.0201), (0.1, 0.7, 0.05, 0.04, 0.88, -0.0199), 0.15
    ),
    "handle-press-side-v3": Draw((-0.35, 0.65, -0.001), (-0.25, 0.75, 0.001)),
    "handle-press-v3": Draw((-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)),
    "handle-pull-side-v3": Draw((-0.35, 0.65, 0), (-0.25, 0.75, 0)),
    "handle-pull-v3": Draw((-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)),
    "lever-pull-v3": Draw((-0.1, 0.7, 0), (0.1, 0.8, 0)),
    "peg-insert-side-v3": Draw(
        (0, 0.5, 0.02, -0.35, 0.4, -0.001), (0.2, 0.7, 0.02, -0.25, 0.7, 0.001), 0.1
    ),
    "peg-unplug-side-v3": Draw((-0.25, 0.6, -0.001), (-0.15, 0.8, 0.001)),
    "pick-out-of-hole-v3": Draw(
        (0, 0.75, 0.02, -0.1, 0.5, 0.15), (0, 0.75, 0.02, 0.1, 0.6, 0.3), 0.15
    ),
    "pick-place-v3": Draw(
        (-0.1, 0.6, 0.02, -0.1, 0.8, 0.05), (0.1, 0.7, 0.02, 0.1, 0.9, 0.3), 0.15
    ),
    "pick-place-wall-v3": Draw(
        (-0.05, 0.6, 0.015, -0.05, 0.85, 0.05), (0.05, 0.65, 0.015, 0.05, 0.9, 0.3), 0.15
    ),
    "plate-slide-back-side-v3": Draw(
        (-0.25, 0.6, 0, -0.05, 0.6, 0.015), (-0.25, 0.6, 0, 0.15, 0.6, 0.015)
    ),
    "plate-slide-back-v3": Draw((0, 0.85, 0, -0.1, 0.6, 0.015), (0, 0.85, 0, 0.1, 0.6, 0.015)),
    "plate-slide-side-v3": Draw((0, 0.6, 0, -0.3, 0.54, 0), (0, 0.6, 0, -0.25, 0.66, 0)),
    "plate-slide-v3": Draw((0, 0.6, 0, -0.1, 0.85, 0), (0, 0.6, 0, 0.1, 0.9, 0)),
    "push-back-v3": Draw(
        (-0.1, 0.8, 0.02, -0.1, 0.6, 0.0199), (0.1, 0.85, 0.02, 0.1, 0.7, 0.0201), 0.15
    ),
    "push-v3": Draw((-0.1, 0.6, 0.02, -0.1, 0.8, 0.01), (0.1, 0.7, 0.02, 0.1, 0.9, 0.02), 0.15),
    "push-wall-v3": Draw(
        (-0.05, 0.6, 0.015, -0.05, 0.85, 0.01), (0.05, 0.65, 0.015, 0.05, 0.9, 0.02), 0.15
    ),
    "reach-v3": Draw((-0.1, 0.6, 0.02, -0.1, 0.8, 0.05), (0.1, 0.7, 0.02, 0.1, 0.9, 0.3), 0.15),
    "reach-wall-v3": Draw(
        (-0.05, 0.6, 0.015, -0.05, 0.85, 0.05), (0.05, 0.65, 0.015, 0.05, 0.9, 0.3), 0.15
    ),
    "shelf-place-v3": Draw(
        (-0.1, 0.5, 0.019, -0.1, 0.8, 0.299), (0.1, 0.6, 0.021, 0.1, 0.9, 0.301), 0.1
    ),
    "soccer-v3": Draw((-0.1, 0.6, 0.03, -0.1, 0.8, 0), (0.1, 0.7, 0.03, 0.1, 0.9, 0), 0.15),
    "stick-pull-v3": Draw(
        (-0.1, 0.55, 0, 0.35, 0.45, 0.0199), (0, 0.65, 0.001, 0.45, 0.55, 0.0201), 0.1
    ),
    "stick-push-v3": Draw(
        (-0.08, 0.58, 0, 0.399, 0.55, 0.1319), (-0.03, 0.62, 0.001, 0.401, 0.6, 0.1321), 0.1
    ),
    "sweep-into-v3": Draw(
        (-0.1, 0.6, 0.02, -0.001, 0.8399, 0.0199),
        (0.1, 0.7, 0.02, 0.001, 0.8401, 0.0201),
        0.15,
        (0, 0.84),
    ),
    "sweep-v3": Draw((-0.1, 0.6, 0.02), (0.1, 0.7, 0.02)),
    "window-close-v3": Draw((0, 0.75, 0.2), (0, 0.9, 0.2)),
    "window-open-v3": Draw((-0.1, 0.7, 0.16), (0.1, 0.9, 0.16)),
}

VARIANTS = 50
"""Goals of a task (`metaworld._N_GOALS`)."""

SEEDS = 2**32
"""Seeds are below this: Meta-World draws from NumPy's legacy global generator."""


def draw_goals(
    tasks: TaskSet,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    key: bytes | None = None,
) -> dict[str, tuple[Goal, ...]]:
    """The 50 goals of each task, in order, as `metaworld.<Benchmark>(seed=seed)` has them.

    It takes a millisecond for each task if this version of metaworld is verified, else half a
    second: a reset for each goal. Meta-World draws from NumPy's global generator; this function
    draws the same numbers from a generator of its own, so other threads do not affect them.
    Custom MT lists are drawn as by `gym.make("Meta-World/custom-mt-envs", seed=seed)`, except that
    a seed of 0 is used like any other.

    Args:
        tasks: Only the goals of its split are drawn.
        seed: 0 to about 2^32, so all draws can be tried one by one.
        progress: Called after each task with the number of tasks that are done, and of all tasks.
        key: Seeds a generator for each goal with 256 bits of HMAC-SHA256 of the key, the seed and
            the goal's place, so that nobody can try them all.

    Raises UsageError for a seed out of range, MissingExtra without the package.
    """
    most = SEEDS - 1 - max(stream.seed_offset for stream in tasks.streams)
    if not 0 <= seed <= most:
        raise BadArgument(tasks.label, got=f"seed {seed}", wanted=f"0 to {most}")
    draw = _draw if is_verified() else draw_by_resets
    goals: dict[str, tuple[Goal, ...]] = {}
    for stream in tasks.streams:
        public = repeat(np.random.RandomState(seed + stream.seed_offset))
        for task in stream.tasks:
            label = [tasks.family, tasks.split, seed, stream.seed_offset, *stream.tasks, task]
            goals[task] = draw(task, public if key is None else _keyed(key, json.dumps(label)))
            if progress is not None:
                progress(len(goals), len(tasks.tasks))
    return goals


def _keyed(key: bytes, label: str) -> Iterator[np.random.RandomState]:
    for variant in count():
        digest = hmac.digest(key, f"reglue goal {label} {variant}".encode(), hashlib.sha256)
        yield np.random.RandomState(np.frombuffer(digest, "<u4"))


def _draw(task: str, rng: Iterator[np.random.RandomState]) -> tuple[Goal, ...]:
    return tuple(DRAWS[task].goal(next(rng)) for _ in range(VARIANTS))


def draw_by_resets(task: str, rng: Iterator[np.random.RandomState]) -> tuple[Goal, ...]:
    """The next goals, drawn as `metaworld._make_tasks` does: one a reset."""
    env = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]()
    env._freeze_rand_vec = False
    env._set_task_called = True
    env.seeded_rand_vec = True  # draw from np_random, not from NumPy's global stream
    goals = []
    for _ in range(VARIANTS):
        env.np_random = next(rng)
        env.reset()
        goals.append(tuple(env._last_rand_vec.tolist()))
    env.close()
    return tuple(goals)
