"""The parts of a TaskSpec that Gymnasium's spaces lack: reward range, success and horizon.

Source: gymnasium 1.3.0 and 1.4.0, ale-py 0.12.1, Shimmy 2.0.1 and dm_control 1.0.28.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from env_adapters.gymnasium_library import gymnasium

Range: TypeAlias = tuple[float, float]

UNKNOWN: Range = (-math.inf, math.inf)

_NO_SUCCESS = re.compile(r"(gymnasium\.envs|ale_py|shimmy)\b.*")  # modules
_BARE = ("OrderEnforcing", "PassiveEnvChecker", "TimeLimit")  # wrappers that change no reward


def reward_range(env: Any) -> Range:
    """The least and the largest reward of one step; infinite where it is unknown."""
    known = tuple(getattr(gymnasium().wrappers, name) for name in _BARE)
    while env is not env.unwrapped:
        if type(env) not in known and not getattr(type(env), "changes_nothing", False):
            return UNKNOWN
        env = env.env
    name = f"{type(env).__module__}:{type(env).__qualname__}"
    if name in _RANGES:
        return _RANGES[name](env)
    return _reward_range_attribute(env)


def tells_success(env: Any) -> bool:
    """False for environments whose `info` never has a flag of success, or that say so."""
    known = not _NO_SUCCESS.fullmatch(type(env.unwrapped).__module__)
    return bool(getattr(env.unwrapped, "tells_success", known))


def _reward_range_attribute(env: Any) -> Range:
    """The attribute `reward_range`, as Gym had it and FrozenLake has it again."""
    try:
        low, high = (float(end) for end in env.reward_range)
    except (AttributeError, TypeError, ValueError):
        return UNKNOWN
    return (low, high) if low <= high else UNKNOWN


def _cart_pole(env: Any) -> Range:
    """1 a step; in the book's form 0, and -1 at the end."""
    return (-1.0, 0.0) if env._sutton_barto_reward else (1.0, 1.0)


def _pendulum(env: Any) -> Range:
    """The pole hangs down, at full speed and torque: -16.27 in its docstring, here rounded down."""
    worst = np.pi**2 + 0.1 * env.max_speed**2 + 0.001 * env.max_torque**2
    return float(np.nextafter(-worst, -np.inf)), 0.0


def _always(low: float, high: float) -> Callable[[Any], Range]:
    return lambda _env: (low, high)


_RANGES: Mapping[str, Callable[[Any], Range]] = MappingProxyType(
    {
        f"gymnasium.envs.{name}": found
        for name, found in {
            "classic_control.acrobot:AcrobotEnv": _always(-1.0, 0.0),
            "classic_control.cartpole:CartPoleEnv": _cart_pole,
            "classic_control.mountain_car:MountainCarEnv": _always(-1.0, -1.0),
            "classic_control.pendulum:PendulumEnv": _pendulum,
            "toy_text.blackjack:BlackjackEnv": _always(-1.0, 1.5),
            "toy_text.cliffwalking:CliffWalkingEnv": _always(-100.0, -1.0),
            "toy_text.taxi:TaxiEnv": _always(-10.0, 20.0),
            "mujoco.inverted_pendulum_v4:InvertedPendulumEnv": _always(0.0, 1.0),
            "mujoco.inverted_pendulum_v5:InvertedPendulumEnv": _always(0.0, 1.0),
        }.items()
    }
)


def horizon_of(env: Any) -> int:
    """Steps to truncation, by Gymnasium's time limit or the environment's own; 0 for neither."""
    inner = env.unwrapped
    horizon = _HORIZONS.get(f"{type(inner).__module__}:{type(inner).__qualname__}")
    limits = [env.spec.max_episode_steps if env.spec else None, horizon(inner) if horizon else None]
    steps = min(limit or math.inf for limit in limits)
    return math.ceil(steps) if steps < math.inf else 0


def _atari(env: Any) -> float:
    """ale-py counts frames; of a random frameskip the least is taken."""
    skipped = env._frameskip
    frames: int = env.ale.getInt("max_num_frames_per_episode")
    return frames / (skipped if isinstance(skipped, int) else skipped[0])


def _dm_control(env: Any) -> float:
    """dm_control's suite counts steps; composer environments compare the clock after each step."""
    inner = env._env
    seconds = getattr(inner, "_time_limit", math.inf)
    steps: float = getattr(inner, "_step_limit", math.inf)
    return _steps_until(seconds, inner.task) if seconds < math.inf else steps


def _steps_until(seconds: float, task: Any) -> int:
    """MuJoCo's clock adds up ticks with rounding errors, so 30 s of 0.03 s may be 1001 steps."""
    tick = task.physics_timestep
    clock = np.cumsum(np.full(math.ceil(seconds / tick) + 1, tick))
    ticks = int(np.searchsorted(clock, seconds)) + 1
    return -(-ticks // int(task.physics_steps_per_control_step))


def _arcade(env: Any) -> float:
    steps: float = env.horizon or math.inf
    return steps


_HORIZONS: Mapping[str, Callable[[Any], float]] = MappingProxyType(
    {
        "ale_py.env:AtariEnv": _atari,
        "env_adapters.arcade.arcade_env:Arcade": _arcade,
        "shimmy.dm_control_compatibility:DmControlCompatibilityV0": _dm_control,
    }
)
"""Horizons that environments have besides Gymnasium's time limit, by class."""
