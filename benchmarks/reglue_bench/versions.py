"""What a run's bits depend on besides its plan."""

from __future__ import annotations

import platform
from importlib import metadata

_PACKAGES = ("reglue", "numpy", "gymnasium", "metaworld", "mujoco")


def versions() -> dict[str, str]:
    """Of Python, of the machine's kind, and of the packages that episodes pass through."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
