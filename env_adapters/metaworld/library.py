"""The metaworld package, loaded when it is first needed: it takes a second or two."""

from __future__ import annotations

import importlib
from typing import Any

from reglue.errors import MissingExtra

# Modules as Any: several of the names we need are private to metaworld. The version is
# pinned, and tests compare what we make of them with what its public classes give.


def metaworld(submodule: str = "") -> Any:
    """The package `metaworld`, or one of its submodules. Raises MissingExtra."""
    return _load("metaworld", submodule)


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra."""
    return _load("mujoco")


def _load(package: str, submodule: str = "") -> Any:
    try:
        return importlib.import_module(f"{package}.{submodule}" if submodule else package)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name or package}"
        raise MissingExtra("Meta-World", "metaworld", missing) from error
