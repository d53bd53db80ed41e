"""A wrapper that lets through what it does not have, and what goal environment is within."""

from __future__ import annotations

from typing import Any

import gymnasium

from env_adapters.goals.goal_environment import GoalEnvironment


class Forwarding(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What it does not have itself is looked for in what it wraps."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return self.env.get_wrapper_attr(name)


def found_in(env: Any) -> GoalEnvironment:
    """The outermost goal environment of `env` and what it wraps. Raises LookupError."""
    while not isinstance(env, GoalEnvironment):
        if env is env.unwrapped:
            raise LookupError(f"{env} wraps no goal environment")
        env = env.env
    return env
