"""Goals of a task set, drawn from a seed as Meta-World's benchmark classes draw them.

A goal is Meta-World's `rand_vec`: 3 or 6 coordinates in metres. Variant k of a task
is the k-th `Task` of that name in the benchmark's `train_tasks` or `test_tasks`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from itertools import count, repeat

import numpy as np

from env_adapters.metaworld.draws import DRAWS, Goal
from env_adapters.metaworld.library import metaworld
from env_adapters.metaworld.proof import is_verified
from env_adapters.metaworld.task_sets import TaskSet
from reglue.errors import UsageError

VARIANTS = 50
"""Goals of a task (`metaworld._N_GOALS`)."""

SEEDS = 2**32
"""Seeds are below this: Meta-World draws from NumPy's legacy global stream."""


def draw_goals(
    tasks: TaskSet,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    key: bytes | None = None,
) -> dict[str, tuple[Goal, ...]]:
    """The 50 goals of each task, in order, as `metaworld.<Benchmark>(seed=seed)` has them.

    There are 2^32 such draws, which can be tried one by one. With a `key`, each goal is drawn
    the same way from a stream of its own, which begins with 256 bits of HMAC-SHA256.

    Only the set's own split is drawn. Takes a millisecond a task where it is known how
    this version of metaworld draws, else half a second: a reset for each goal.
    `progress` is called with the number of tasks done and of all tasks after each.
    Meta-World draws from NumPy's global stream; we draw from one of our own that gives
    the same numbers, so that what other threads draw changes nothing.

    Own MT lists are drawn as by `gym.make("Meta-World/custom-mt-envs", seed=seed)`,
    which however ignores a seed of 0; here 0 is a seed like any other.

    Raises UsageError for a seed out of range, MissingExtra without the package.
    """
    most = SEEDS - 1 - max(stream.seed_offset for stream in tasks.streams)
    if not 0 <= seed <= most:
        raise UsageError(f"{tasks.label}: got seed {seed}, wanted 0 to {most}")
    draw = _draw if is_verified() else draw_by_resets
    goals: dict[str, tuple[Goal, ...]] = {}
    for stream in tasks.streams:
        public = repeat(np.random.RandomState(seed + stream.seed_offset))
        for task in stream.tasks:
            words = [tasks.family, tasks.split, seed, stream.seed_offset, *stream.tasks, task]
            goals[task] = draw(task, public if key is None else _keyed(key, json.dumps(words)))
            if progress is not None:
                progress(len(goals), len(tasks.tasks))
    return goals


def _keyed(key: bytes, words: str) -> Iterator[np.random.RandomState]:
    for variant in count():
        digest = hmac.digest(key, f"reglue goal {words} {variant}".encode(), hashlib.sha256)
        yield np.random.RandomState(np.frombuffer(digest, "<u4"))


def _draw(task: str, chance: Iterator[np.random.RandomState]) -> tuple[Goal, ...]:
    return tuple(DRAWS[task].goal(next(chance)) for _ in range(VARIANTS))


def draw_by_resets(task: str, chance: Iterator[np.random.RandomState]) -> tuple[Goal, ...]:
    """The next goals, drawn as `metaworld._make_tasks` does: one a reset."""
    env = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]()
    env._freeze_rand_vec = False
    env._set_task_called = True
    env.seeded_rand_vec = True  # draw from np_random, not from NumPy's global stream
    goals = []
    for _ in range(VARIANTS):
        env.np_random = next(chance)
        env.reset()
        goals.append(tuple(env._last_rand_vec.tolist()))
    env.close()
    return tuple(goals)
