"""The package gymnax, loaded when it is first needed: environments in JAX by id."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from reglue.errors import CannotLoad, UnknownName


def gymnax(id: str, **params: Any) -> tuple[Any, Any]:  # noqa: A002 - as of Gymnasium's
    """gymnax's environment with an id, and its params; `params` replace some of its defaults.

    Raises CannotLoad without the package, and UnknownName. Source: gymnax 0.0.9 and 1.0.1.
    """
    try:
        package: Any = import_module("gymnax")
    except ImportError as error:
        raise CannotLoad(
            f"gymnax:{id} needs the package {error.name}: pip install 'reglue[jax]' gymnax"
        ) from error
    if id not in package.registered_envs:
        raise UnknownName("environment of gymnax", id, package.registered_envs)
    environment, defaults = package.make(id)
    known = [each.name for each in fields(defaults)]
    for name in params:
        if name not in known:
            raise UnknownName(f"parameter of gymnax:{id} called", name, known)
    return environment, defaults.replace(**params)
