"""Environments that a program passes as an object, or as what makes one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from env_adapters.disk_cache import keep_cache_folder
from env_adapters.jax_batch import jax_batch_of
from reglue.environments.environment import Environment
from reglue.environments.environment_objects import environment_of
from reglue.errors import NotAnEnvironment, UsageError, brief
from reglue.tools.loading import check_arguments


def given_environment(
    what: str, candidate: object, arguments: Mapping[str, Any], *, name: str
) -> tuple[Environment, str]:
    """The environment that `candidate` is or makes, and what it is called.

    Args:
        what: The name of the parameter, for errors.
        candidate: As of `environment_of`, or a function that makes one of these.
        arguments: Keywords of a class of `gymnasium.Env`, or of the function.
        name: The name that somebody could write instead, as an example.

    Raises NotAnEnvironment; UsageError, also for arguments that it does not take.
    """
    from env_adapters.gymnasium.gymnasium_suite import make_suite  # costs 30 ms
    from env_adapters.gymnasium.vector_batch import batch_of

    keep_cache_folder()
    made = candidate
    if inspect.isroutine(candidate) or isinstance(candidate, functools.partial):
        check_arguments("the function that makes the environment", candidate, arguments)
        made = make_suite(candidate, arguments)
    elif arguments and not isinstance(candidate, type):
        wanted = "its class, a function that makes it, or no args"
        raise UsageError("environment_args", got=f"{dict(arguments)} for an object", wanted=wanted)
    environment = (
        batch_of(made, arguments, candidate)
        or jax_batch_of(made, arguments)
        or environment_of(made, arguments)
    )
    if environment is None:
        wanted = (
            f"a name such as {name}, a gymnasium.Env or VectorEnv, one in JAX, a suite of "
            "worlds, a reglue.Environment, or a function that makes one"
        )
        raise NotAnEnvironment(what, got=brief(made), wanted=wanted)
    is_pair = isinstance(made, tuple)  # of an environment and its params
    return environment, next(iter(environment.variants)) if is_pair else _name(made)


def _name(candidate: Any) -> str:
    """The id of a `gymnasium.Env` that was made by one; else the class."""
    from env_adapters.gymnasium.gymnasium_suite import OneEnvironment  # as above

    if isinstance(candidate, type):
        return candidate.__name__
    if isinstance(candidate, OneEnvironment):
        return next(iter(candidate.variants))
    made_by = getattr(getattr(candidate, "spec", None), "id", None)
    inner = getattr(candidate, "unwrapped", candidate)
    return made_by if isinstance(made_by, str) else type(inner).__name__
