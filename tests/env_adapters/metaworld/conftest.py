"""A plain Meta-World to compare with, and the scripted experts that play both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from env_adapters.disk_cache import DiskCache, cache_folder
from env_adapters.metaworld.library import metaworld
from env_adapters.metaworld.shared_env import Models

Expert: TypeAlias = Callable[[Any], Any]  # observation, (39+,) -> action, (4,) float32
Plain: TypeAlias = Any  # a metaworld environment


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a task follow one another: many take less time than MuJoCo needs to compile it."""
    places = [n for n, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ordered = sorted((items[n] for n in places), key=_task)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _task(item: pytest.Item) -> str:
    return str(item.callspec.params.get("task", "")) if hasattr(item, "callspec") else ""


@pytest.fixture(scope="session")
def plain() -> Callable[[str], Plain]:
    """Gives metaworld's own environment of a task. Keeps the last ones: each takes 25 MB."""

    @lru_cache(maxsize=4)
    def give(task: str) -> Plain:
        return metaworld().ALL_V3_ENVIRONMENTS[task](reward_function_version="v2")

    return give


@pytest.fixture(scope="session")
def models() -> Models:
    """Models that are kept for this session's tests: MuJoCo compiles each once."""
    return Models(DiskCache(cache_folder()))


@pytest.fixture(scope="session")
def draw_two(plain: Callable[[str], Plain]) -> Callable[[str], list[list[float]]]:
    """Draws two goals of a task, as Meta-World does but in a fiftieth of the time."""

    @cache
    def draw(task: str) -> list[list[float]]:
        env = plain(task)
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(7)  # noqa: NPY002
        env._set_task_called, env._freeze_rand_vec = True, False
        goals = []
        for _ in range(2):
            env.reset()
            goals.append(env._last_rand_vec.tolist())
        np.random.set_state(before)  # noqa: NPY002
        return goals

    return draw


@pytest.fixture(scope="session")
def start_plain(plain: Callable[[str], Plain]) -> Callable[..., tuple[Plain, Any]]:
    """Sets a goal in metaworld's own environment; returns it with its first observation."""

    def start(task: str, goal: list[float], *, goal_visible: bool = True) -> tuple[Plain, Any]:
        env = plain(task)
        data = {
            "rand_vec": np.array(goal),
            "env_cls": type(env),
            "partially_observable": not goal_visible,
        }
        env.set_task(metaworld()._encode_task(task, data))
        return env, env.reset()[0]

    return start


@pytest.fixture(scope="session")
def expert() -> Callable[[str], Expert]:
    """Gives Meta-World's scripted policy of a task, its actions cast to float32."""

    def give(task: str) -> Expert:
        policy = metaworld("policies").ENV_POLICY_MAP[task]()

        def act(observation: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # actions out of bounds are meant
                # Two experts refuse what the wrappers append, and those of the doors write
                # into what they are shown.
                return policy.get_action(observation[:39].copy()).astype(np.float32)

        return act

    return give
