"""Accepts environments: an Environment, a suite of worlds, or another library's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reglue.agents.agent import Agent
from reglue.environments.environment import Environment
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Suite
from reglue.errors import NotAnEnvironment
from reglue.signatures import check_routines

_STEPS = ("env_start", "env_step")
_ROUTINES = (
    "env_init env_get_state env_set_state env_get_random_seed env_set_random_seed "
    "env_standardize_randomness env_message env_cleanup".split()
)


def environment_of(
    candidate: object, arguments: Mapping[str, Any] | None = None
) -> Environment | None:
    """`candidate` as an Environment; None if it is no environment. It may be a
    `reglue.Environment`, a suite of worlds, or what an adapter accepts: a class of `gymnasium.Env`
    (made with `arguments`) or an object. Raises NotAnEnvironment for a class of the first two, and
    for a missing method.
    """
    if isinstance(candidate, Environment):
        _check_environment(candidate)
        return candidate
    cls = candidate if isinstance(candidate, type) else type(candidate)
    if issubclass(cls, Agent) or hasattr(candidate, "eval_action"):
        return None  # an agent's attribute `world` may be its model of the world
    suite = adapted_suite(candidate, arguments)
    if suite is None and (
        issubclass(cls, Environment) or callable(getattr(candidate, "world", None))
    ):
        if cls is candidate:
            raise NotAnEnvironment(got=f"the class {cls.__name__}", wanted="an object of it")
        suite = _checked_suite(candidate)
    return None if suite is None else Worlds(suite)


def adapted_suite(candidate: object, arguments: Mapping[str, Any] | None = None) -> Suite | None:
    """The suite of another library's class or object; None if no adapter accepts it.

    Adapters are entry points of the group `reglue.environment_objects`: functions of the
    candidate and the keywords of its constructor, which return a suite or None.
    """
    if isinstance(candidate, type) and issubclass(candidate, Agent):
        return None  # no adapter is imported for one: that takes longer than the SDK itself
    from importlib.metadata import entry_points  # a tenth of what a worker would load

    for adapter in entry_points(group="reglue.environment_objects"):
        suite: Suite | None = adapter.load()(candidate, arguments)
        if suite is not None:
            return suite
    return None


def _checked_suite(candidate: Any) -> Suite:
    for name in ("spec", "variants", "standardizes"):
        if not hasattr(candidate, name):
            raise NotAnEnvironment(
                f"{type(candidate).__name__} lacks {name}; a suite has spec, variants, "
                "standardizes and world()"
            )
    suite: Suite = candidate
    return suite


def _check_environment(environment: Environment) -> None:
    cls = type(environment)
    plays = cls.play is not Environment.play
    for name in ("env_init",) if plays else ("env_init", "env_start", "env_step"):
        if getattr(cls, name) is getattr(Environment, name):
            raise NotAnEnvironment(
                f"{cls.__name__} lacks {name}(); write env_init(), and env_start() and "
                "env_step(), or play()"
            )
    check_routines(environment, Environment, ["play"] if plays else _STEPS, NotAnEnvironment)
    check_routines(environment, Environment, _ROUTINES, NotAnEnvironment)
