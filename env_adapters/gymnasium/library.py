"""The gymnasium package, loaded when it is first needed, and what it makes by id."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

from reglue.errors import CannotLoad, MissingExtra, UnknownName

# Modules and environments as Any: we set what is no part of Gymnasium's interface. Tests
# compare what we make of it with what plain Gymnasium plays.

_EXTRA = ("gymnasium", "mujoco", "imageio", "glfw", "packaging")
"""Packages that the extra brings, directly or not; gymnasium.envs.mujoco imports the last four."""


def gymnasium() -> Any:
    """The package `gymnasium`. Raises MissingExtra."""
    return _load("gymnasium")


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra."""
    return _load("mujoco")


def make(name: str, options: Mapping[str, Any]) -> Any:
    """Gymnasium's environment with the id `name`, without its checker of environments.

    Raises UnknownName, MissingExtra, or CannotLoad where Gymnasium cannot make it so.
    """
    gym = gymnasium()
    with warnings.catch_warnings():
        # Old versions and loose bounds are warned of, which is fatal where warnings are errors.
        warnings.simplefilter("ignore")
        try:
            return gym.make(name, disable_env_checker=True, **options)
        except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv) as error:
            raise UnknownName("Gymnasium environment", name, gym.registry) from error
        except Exception as error:  # the edge of somebody's environment
            missing = _missing(error)
            if missing in _EXTRA:
                raise MissingExtra(name, "gymnasium", f"the package {missing}") from error
            what = f"{type(error).__name__}: {error}"
            raise CannotLoad(f"{name} could not be made with {dict(options)}: {what}") from error


def _load(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra("Gymnasium", "gymnasium", f"the package {error.name}") from error


def _missing(error: BaseException | None) -> str | None:
    """The package for whose lack it was raised; Gymnasium wraps some import errors."""
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__
    return error.name if error is not None else None
