"""A wrapper that lets through what it does not have, and what goal environment is within."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from env_adapters.goals.goal_environment import GoalEnvironment


class Forwarding(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What it does not have itself is looked for in what it wraps."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return self.env.get_wrapper_attr(name)


class GoalMethods(Forwarding, RecordConstructorArgs):
    """Changes nothing; it lets `compute_reward` and the like through Gymnasium's own wrappers.

    `gymnasium.make` puts it around what is registered with it.
    """

    changes_nothing = True  # so that what it wraps can be kept in mid-episode

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap `env`."""
        RecordConstructorArgs.__init__(self)
        super().__init__(env)


def found_in(env: Any) -> GoalEnvironment:
    """The outermost goal environment of `env` and what it wraps. Raises LookupError."""
    while not isinstance(env, GoalEnvironment):
        if env is env.unwrapped:
            raise LookupError(f"{env} wraps no goal environment")
        env = env.env
    return env
