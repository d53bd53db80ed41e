"""Goals of a task set, drawn from a seed as Meta-World's benchmark classes draw them.

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
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.library import is_verified, metaworld
from env_adapters.metaworld.task_sets import TaskSet
from reglue.errors import BadArgument

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
        raise BadArgument(f"{tasks.label}: got seed {seed}, wanted 0 to {most}")
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
