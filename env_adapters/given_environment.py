"""Environments that a program passes as an object, or as what makes one; or that a name makes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from env_adapters.disk_cache import keep_cache_folder
from reglue.agents.agent import Agent
from reglue.environments.environment import Environment
from reglue.environments.environment_objects import environment_of
from reglue.error_message import brief
from reglue.errors import NotAnEnvironment, UsageError
from reglue.tools.loading import check_arguments


def given_environment(
    what: str, candidate: object, arguments: Mapping[str, Any], *, name: str
) -> tuple[Environment, str]:
    """The environment that `candidate` is or makes, and what it is called.

    Args:
        what: The name of the parameter, for errors.
        candidate: As of `environment_of`, a class of one of these, or a function that makes one.
        arguments: Keywords of the class or the function.
        name: The name that somebody could write instead, as an example.

    Raises NotAnEnvironment; UsageError, also for arguments that it does not take.
    """
    keep_cache_folder()
    made = candidate
    if makes_one(candidate):
        is_class = isinstance(candidate, type)
        called = brief(candidate) if is_class else "the function that makes the environment"
        made = made_by(candidate, arguments, called=called)
    elif arguments:
        wanted = "its class, a function that makes it, or no args"
        raise UsageError("environment_args", got=f"{dict(arguments)} for an object", wanted=wanted)
    environment = played_by(made, candidate, arguments)
    if environment is None:
        wanted = (
            f"a name such as {name}, a gymnasium.Env or VectorEnv, one in JAX, a suite of "
            "worlds, a reglue.Environment, or a class or function that makes one"
        )
        raise NotAnEnvironment(what, got=brief(made), wanted=wanted)
    if isinstance(candidate, type):
        return environment, candidate.__name__
    is_pair = isinstance(made, tuple)  # of an environment and its params
    return environment, next(iter(environment.variants)) if is_pair else _name(made)


def makes_one(candidate: object) -> bool:
    """Whether `candidate` is a function, or a class, that could make an environment."""
    if inspect.isroutine(candidate) or isinstance(candidate, functools.partial):
        return True
    if not isinstance(candidate, type) or issubclass(candidate, Agent):
        return False
    if issubclass(candidate, Environment):
        return True
    return any(callable(getattr(candidate, name, None)) for name in ("step", "world"))


def made_by(make: Any, arguments: Mapping[str, Any], *, called: str) -> Any:
    """The environment that the class or function `make` makes; errors call it `called`. A
    `gymnasium.Env` becomes a suite.

    A required keyword `num_envs` is 1. Raises CannotLoad for arguments that it does not take.
    """
    from env_adapters.gymnasium.gymnasium_suite import make_suite  # costs 30 ms

    whole = {"num_envs": 1, **arguments} if _needs_size(make) else arguments
    check_arguments(called, make, whole)
    return make_suite(make, whole)


def played_by(made: object, make: object, arguments: Mapping[str, Any]) -> Environment | None:
    """The Environment that plays what `make` made of `arguments`; None if nothing does.

    Raises NotAnEnvironment.
    """
    from env_adapters.gymnasium.vector_batch import batch_of  # as above
    from env_adapters.jax.jax_batch import jax_batch_of

    return batch_of(made, arguments, make) or jax_batch_of(made, {}) or environment_of(made)


def _needs_size(make: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(make).parameters.get("num_envs")
    except (TypeError, ValueError):  # some C functions have no signature
        return False
    return parameter is not None and parameter.default is parameter.empty


def _name(candidate: Any) -> str:
    """The id of a `gymnasium.Env` that was made by one; else the class."""
    from env_adapters.gymnasium.gymnasium_suite import OneEnvironment  # as above

    if isinstance(candidate, OneEnvironment):
        return next(iter(candidate.variants))
    made_by = getattr(getattr(candidate, "spec", None), "id", None)
    inner = getattr(candidate, "unwrapped", candidate)
    return made_by if isinstance(made_by, str) else type(inner).__name__
