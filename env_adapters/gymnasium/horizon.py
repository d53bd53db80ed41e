"""How many steps an episode takes at most, where somebody says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


def horizon_of(env: Any) -> int:
    """Steps to truncation, by Gymnasium's time limit or the environment's own; 0 for neither."""
    inner = env.unwrapped
    own = _OWN.get(f"{type(inner).__module__}:{type(inner).__qualname__}")
    limits = [env.spec.max_episode_steps if env.spec else None, own(inner) if own else None]
    steps = min(limit or math.inf for limit in limits)
    return math.ceil(steps) if steps < math.inf else 0


def _atari(env: Any) -> float:
    """Counts frames; where it skips so many by chance, few may be skipped always."""
    skipped = env._frameskip
    frames: int = env.ale.getInt("max_num_frames_per_episode")
    return frames / (skipped if isinstance(skipped, int) else skipped[0])


def _dm_control(env: Any) -> float:
    """The suite counts steps; a composer's environments look at the clock after each."""
    inner = env._env
    seconds = getattr(inner, "_time_limit", math.inf)
    steps: float = getattr(inner, "_step_limit", math.inf)
    return _steps_until(seconds, inner.task) if seconds < math.inf else steps


def _steps_until(seconds: float, task: Any) -> int:
    """MuJoCo's clock adds up ticks, so 30 s of 0.03 s may be 1001 steps."""
    tick = task.physics_timestep
    clock = np.cumsum(np.full(math.ceil(seconds / tick) + 1, tick))
    ticks = int(np.searchsorted(clock, seconds)) + 1
    return -(-ticks // int(task.physics_steps_per_control_step))


def _arcade(env: Any) -> float:
    steps: float = env.horizon or math.inf
    return steps


_OWN: Mapping[str, Callable[[Any], float]] = MappingProxyType(
    {
        "ale_py.env:AtariEnv": _atari,
        "env_adapters.arcade.environment:Arcade": _arcade,
        "shimmy.dm_control_compatibility:DmControlCompatibilityV0": _dm_control,
    }
)
"""Limits that Gymnasium does not know of, by class. Found in the sources of ale-py 0.12.1,
Shimmy 2.0.1 and dm_control 1.0.28.
"""
