"""Where a curriculum's episodes come from: environments that are given, or described."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np

from env_adapters.configs import check_interpolation, interpolate, sample
from env_adapters.configs.environments import Configured, Env, configured
from env_adapters.curricula.named_env import NamedEnv
from reglue.errors import UsageError


class Source(Protocol):
    """One environment, or one that changes between two."""

    def prepare(self, alpha: float, generator: np.random.Generator) -> tuple[Env, dict[str, Any]]:
        """The environment of one episode, and the options of its reset.

        `alpha` says how far its entry has come, 0 to 1; `generator` draws what is
        distributed.
        """

    def close(self) -> None:
        """Let go of it; `prepare` makes what it needs."""


class Given:
    """A Gymnasium environment that the caller has made."""

    def __init__(self, env: Env) -> None:
        self._env = env

    def prepare(self, alpha: float, generator: np.random.Generator) -> tuple[Env, dict[str, Any]]:
        """Always the same."""
        return self._env, {}

    def close(self) -> None:
        """It is the caller's."""


class Described:
    """One that a config describes."""

    def __init__(self, environment: Configured) -> None:
        self._environment = environment

    def prepare(self, alpha: float, generator: np.random.Generator) -> tuple[Env, dict[str, Any]]:
        """Drawn from its distributions."""
        return _prepared(self._environment, self._environment.config, generator)

    def close(self) -> None:
        """Close it."""
        self._environment.close()


class Between:
    """From one config to another: the first's environment, set to values between the two."""

    def __init__(self, one: Configured, other: dict[str, Any]) -> None:
        """Raises UsageError where there is nothing between them."""
        check_interpolation(one.config, other)
        self._environment, self._other = one, other

    def prepare(self, alpha: float, generator: np.random.Generator) -> tuple[Env, dict[str, Any]]:
        """As far as `alpha` says."""
        config = interpolate(self._environment.config, self._other, alpha)
        return _prepared(self._environment, config, generator)

    def close(self) -> None:
        """Close it."""
        self._environment.close()


class Sources:
    """One source for all that are described alike."""

    def __init__(self, env_kwargs: Mapping[str, Any]) -> None:
        self._env_kwargs = env_kwargs
        self._found: dict[str, Source] = {}

    def of(self, what: Any) -> Source:
        """Of an environment, a name, a path or a config. Raises UsageError."""
        if isinstance(what, gymnasium.Env):
            return self._kept(f"given {id(what)}", Given(what))
        environment = configured(what, self._env_kwargs)
        return self._kept(json.dumps(environment.config), Described(environment))

    def between(self, one: Any, other: Any) -> Source:
        """Raises UsageError, also for environments that no config describes."""
        for end in (one, other):
            if isinstance(end, gymnasium.Env):
                raise UsageError(f"got {end}, wanted two configs: values of these change")
        environment = configured(one, self._env_kwargs)
        whole = configured(other, self._env_kwargs).config
        key = json.dumps([environment.config, whole])
        return self._kept(key, Between(environment, whole))

    def _kept(self, key: str, source: Source) -> Source:
        return self._found.setdefault(key, source)


def _prepared(
    environment: Configured, config: Mapping[str, Any], generator: np.random.Generator
) -> tuple[Env, dict[str, Any]]:
    drawn = sample(dict(config), generator)
    env, options = environment.prepare(drawn)
    return NamedEnv(env, drawn.get("name", drawn["env"])), options
