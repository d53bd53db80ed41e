"""The metaworld package, loaded when it is first needed: it takes a second or two."""

from __future__ import annotations

import importlib
from functools import cache
from importlib import metadata
from typing import Any

from env_adapters.renderer import how_to_draw
from reglue.errors import MissingExtra, UsageError

# Modules as Any: several of the names we need are private to metaworld. The version is
# pinned, and tests compare what we make of them with what its public classes give.


def metaworld(submodule: str = "") -> Any:
    """The package `metaworld`, or one of its submodules. Raises MissingExtra."""
    return _load("metaworld", submodule)


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra, UsageError where it cannot be loaded."""
    try:
        return _load("mujoco")
    except (ImportError, RuntimeError, AttributeError) as error:  # of what MUJOCO_GL names
        raise UsageError(f"MuJoCo cannot be loaded: {error}; {how_to_draw()}") from error


@cache
def version(package: str) -> str:
    """The version that is installed, or "none"; loads nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _load(package: str, submodule: str = "") -> Any:
    try:
        return importlib.import_module(f"{package}.{submodule}" if submodule else package)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name or package}"
        raise MissingExtra("Meta-World", "metaworld", missing) from error
