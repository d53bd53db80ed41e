"""Vector environments of Meta-World's, and agents that write down what they are asked."""

from __future__ import annotations

import warnings
from typing import Any, cast

import gymnasium as gym
import metaworld
import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS
from metaworld.policies import ENV_POLICY_MAP

HIDDEN = ["handle-press-v3", "coffee-button-v3"]
"""Solved in 60 steps by experts that do not see the goal."""

TASKS = ["reach-v3", "drawer-close-v3", "button-press-topdown-v3"]


def multi_task(*, goals: int = 6, **options: Any) -> Any:
    """Three tasks; the second's rewards are np.float32 at times where actions are."""
    chosen: dict[str, Any] = {
        "vector_strategy": "sync",
        "envs_list": TASKS,
        "seed": 5,
        "max_episode_steps": 60,
    }
    return _made("Meta-World/custom-mt-envs", chosen | options, goals)


def meta_learning(*, goals: int = 6, **options: Any) -> Any:
    """Two tasks, three sub-environments each."""
    chosen: dict[str, Any] = {
        "vector_strategy": "sync",
        "train_envs": HIDDEN,
        "test_envs": ["window-open-v3"],
        "total_tasks_per_cls": 6,
        "meta_batch_size": 6,
        "task_select": "pseudorandom",
        "seed": 5,
        "max_episode_steps": 60,
    }
    return _made("Meta-World/custom-ml-envs", chosen | options, goals)


def one_task(autoreset: gym.vector.AutoresetMode = gym.vector.AutoresetMode.SAME_STEP) -> Any:
    """Three sub-environments of MT1, which know the id that they were made by."""
    options: dict[str, Any] = {
        "env_name": "reach-v3",
        "num_envs": 3,
        "seed": 5,
        "vector_strategy": "sync",
        "vector_kwargs": {"autoreset_mode": autoreset},
    }
    return _made("Meta-World/MT1", options, 6)


def _made(name: str, options: dict[str, Any], number: int) -> Any:
    """With so many goals a task: drawing them costs a reset each."""
    library = cast(Any, metaworld)
    goals, library._N_GOALS = library._N_GOALS, number
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # gymnasium: a Box becomes float32
            return gym.make_vec(name, **options)
    finally:
        library._N_GOALS = goals


class Experts:
    """One scripted expert a sub-environment, of different strength; keeps every call."""

    def __init__(self, envs: Any, dtype: Any = np.float32, strengths: Any = 1.0) -> None:
        names = {cls.__name__: name for name, cls in ALL_V3_ENVIRONMENTS.items()}
        policies = cast(Any, ENV_POLICY_MAP)
        self._policies = [policies[names[each]]() for each in envs.get_attr("task_name")]
        self._strengths = np.broadcast_to(strengths, len(self._policies))[:, None]
        self._dtype = dtype
        self.calls: list[tuple[Any, ...]] = []

    def eval_action(self, observations: Any) -> Any:
        self.calls.append(("eval_action", observations.copy()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # actions out of bounds are meant
            actions = [
                policy.get_action(seen[:39].astype(np.float64))
                for policy, seen in zip(self._policies, observations, strict=True)
            ]
        return (np.array(actions) * self._strengths).astype(self._dtype)

    def reset(self, env_mask: Any) -> None:
        self.calls.append(("reset", env_mask.copy()))

    def init(self) -> None:
        self.calls.append(("init",))

    def adapt_action(self, observations: Any) -> Any:
        return self.eval_action(observations) * self._dtype(0.5), {"seen": observations[:, :3]}

    def step(self, timestep: Any) -> None:
        *arrays, aux = timestep
        self.calls.append(("step", *(each.copy() for each in arrays), aux["seen"].copy()))

    def adapt(self) -> None:
        self.calls.append(("adapt",))


def same_calls(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    """Equal to the bit, dtypes and shapes included."""
    return [_plain(call) for call in ours] == [_plain(call) for call in theirs]


def _plain(call: tuple[Any, ...]) -> list[Any]:
    return [
        (each.dtype, each.shape, each.tobytes()) if isinstance(each, np.ndarray) else each
        for each in call
    ]


def standing(envs: Any) -> list[Any]:
    """All that decides what a vector environment plays next."""
    names = ["sample_tasks_on_reset", "terminate_on_success", "tasks", "_partially_observable"]
    generators = [each.bit_generator.state for each in envs.get_attr("np_random")]
    goals = [each.tolist() for each in envs.get_attr("_last_rand_vec")]
    return [generators, goals, *(envs.get_attr(name) for name in names)]
