"""Goals of a task set, drawn from a seed as Meta-World's benchmark classes draw them.

A goal is Meta-World's `rand_vec`: 3 or 6 coordinates in metres. Variant k of a task
is the k-th `Task` of that name in the benchmark's `train_tasks` or `test_tasks`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from env_adapters.metaworld.library import metaworld
from env_adapters.metaworld.task_sets import TaskSet
from reglue.errors import UsageError

Goal: TypeAlias = tuple[float, ...]

SEEDS = 2**32
"""Seeds are below this: Meta-World draws from NumPy's legacy global stream."""


def draw_goals(
    tasks: TaskSet, seed: int, progress: Callable[[int, int], None] | None = None
) -> dict[str, tuple[Goal, ...]]:
    """The 50 goals of each task, in order, as `metaworld.<Benchmark>(seed=seed)` has them.

    Only the set's own split is drawn. Takes half a second a task; `progress` is
    called with the number of tasks done and of all tasks after each. NumPy's global
    stream is used and put back, so no other thread may draw from it meanwhile.

    Own MT lists are drawn as by `gym.make("Meta-World/custom-mt-envs", seed=seed)`,
    which however ignores a seed of 0; here 0 is a seed like any other.

    Raises UsageError for a seed out of range, MissingExtra without the package.
    """
    most = SEEDS - 1 - max(stream.seed_offset for stream in tasks.streams)
    if not 0 <= seed <= most:
        raise UsageError(f"{tasks.label}: got seed {seed}, wanted 0 to {most}")
    goals: dict[str, tuple[Goal, ...]] = {}
    with _global_stream_kept():
        for stream in tasks.streams:
            np.random.seed(seed + stream.seed_offset)  # noqa: NPY002
            for task in stream.tasks:
                goals[task] = _draw(task)
                if progress is not None:
                    progress(len(goals), len(tasks.tasks))
    return goals


def _draw(task: str) -> tuple[Goal, ...]:
    """The next 50 goals of NumPy's global stream."""
    envs = metaworld("env_dict")
    # Without a seed Meta-World goes on in the stream as it stands, which lets us draw a
    # benchmark task by task.
    drawn = metaworld()._make_tasks(
        {task: envs.ALL_V3_ENVIRONMENTS[task]}, {task: envs.ML1_ARGS_KWARGS[task]}, {}, seed=None
    )
    return tuple(_goal(each.data) for each in drawn)


def _goal(pickled: bytes) -> Goal:
    """The goal in a task that this process has just made; no pickle comes from elsewhere."""
    return tuple(pickle.loads(pickled)["rand_vec"].tolist())  # noqa: S301


@contextmanager
def _global_stream_kept() -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
