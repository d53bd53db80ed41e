"""What a run's bits depend on besides its plan."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path

from env_adapters import SuiteName

_PACKAGES = ("reglue", "numpy", "gymnasium", "metaworld", "mujoco")


def versions(suite: SuiteName) -> dict[str, str]:
    """Of Python, of the machine's kind, and of the packages that episodes pass through.

    Also of the file that holds the environment, if it is one: the start of its SHA-256.
    """
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    file = Path(suite.factory.rpartition(":")[0])
    if file.suffix == ".py" and file.is_file():
        found["environment"] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return found
