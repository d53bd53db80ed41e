"""What rewards Gymnasium's own environments can give, and whether they tell success.

Found in the sources of gymnasium 1.3.0 and 1.4.0. Where nothing is known the range has no ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from env_adapters.gymnasium.library import gymnasium

Range: TypeAlias = tuple[float, float]

UNKNOWN: Range = (-math.inf, math.inf)

_NO_SUCCESS = re.compile(r"(gymnasium\.envs|ale_py|shimmy)\b.*")  # modules
_BARE = ("OrderEnforcing", "PassiveEnvChecker", "TimeLimit")  # wrappers that change no reward


def reward_range(env: Any) -> Range:
    """The least and the most that a step can earn, as far as that is known."""
    known = tuple(getattr(gymnasium().wrappers, name) for name in _BARE)
    while env is not env.unwrapped:
        if type(env) not in known and not getattr(type(env), "changes_nothing", False):
            return UNKNOWN
        env = env.env
    name = f"{type(env).__module__}:{type(env).__qualname__}"
    if name in _RANGES:
        return _RANGES[name](env)
    return _own(env)


def tells_success(env: Any) -> bool:
    """False for environments whose `info` never has a flag of success, or that say so."""
    known = not _NO_SUCCESS.fullmatch(type(env.unwrapped).__module__)
    return bool(getattr(env.unwrapped, "tells_success", known))


def _own(env: Any) -> Range:
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
    """Hanging down, at full speed and torque: its docstring's -16.27, unrounded downwards."""
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
