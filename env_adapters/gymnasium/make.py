"""Makes environments with an id, also those of gymnasium-robotics with a fixed goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from env_adapters import gymnasium_library


def make(name: str, options: Mapping[str, Any]) -> Any:
    """As `env_adapters.gymnasium_library.make`; gymnasium-robotics' take `fixed_goal` too."""
    return gymnasium_library.make(name, options, fix_goal=_fix_goal)


def _fix_goal(env: Any, goal: Any) -> Any:
    from env_adapters.goals import goal_environment  # loads gymnasium

    return goal_environment(env, fixed_goal=goal)
