"""Any `gymnasium.Env` as a suite: its class, a function that makes it, or an object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from env_adapters.gymnasium.suite import OneEnvironment
from reglue.errors import UsageError
from reglue.tools.loading import check_arguments


def suite_of(
    candidate: object, arguments: Mapping[str, Any] | None = None
) -> OneEnvironment | None:
    """The suite that plays a `gymnasium.Env`, a class or an object; None for anything else.

    Its only task is called by the environment's id, or else by its class. A class, made
    with `arguments`, plays in any number of slots. An object plays in one, and stays open.

    >>> import gymnasium
    >>> suite = suite_of(gymnasium.make("CartPole-v1"))
    >>> dict(suite.variants), suite.spec.actions[0].domain
    ({'CartPole-v1': 1}, Discrete(n=2, start=0))

    Raises CannotLoad for arguments that the class does not take, and UsageError if a space has no
    tensors.
    """
    if isinstance(candidate, _env_class()):
        return _ObjectSuite(candidate)
    if isinstance(candidate, type) and issubclass(candidate, _env_class()):
        check_arguments(candidate.__name__, candidate, arguments or {})
        suite: OneEnvironment = suite_made_by(candidate, arguments or {})
        return suite
    return None


def suite_made_by(make: Callable[..., Any], config: Mapping[str, Any]) -> Any:
    """What `make` makes of `config`: a suite, or a `gymnasium.Env` as one."""
    first = [made := make(**config)]
    if not isinstance(made, _env_class()):
        return made

    def another() -> Any:
        if first:
            return first.pop()
        if (again := make(**config)) is made:
            raise UsageError(
                f"got the same {type(made).__name__} from two calls of what makes it, wanted a new "
                "one from each"
            )
        return again

    return OneEnvironment(_name(made), another, config)


class _ObjectSuite(OneEnvironment):
    """Plays one object."""

    max_slots = 1

    def __init__(self, env: Any) -> None:
        super().__init__(_name(env), lambda: _Lent(env), {})


class _Lent:
    """An environment without `close`, which only its owner calls."""

    changes_nothing = True

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def close(self) -> None:
        """Leave it open."""


def _env_class() -> Any:
    """`gymnasium.Env`; a class without instances if the package was never loaded."""
    return getattr(sys.modules.get("gymnasium"), "Env", ())


def _name(env: Any) -> str:
    return str(env.spec.id) if env.spec else type(env.unwrapped).__name__
