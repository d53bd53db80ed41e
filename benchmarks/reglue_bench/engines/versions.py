"""The versions that a row's bits depend on."""

from __future__ import annotations

import hashlib
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from env_adapters import SuiteName
from env_adapters.metaworld.library import digest
from env_adapters.suites import META_WORLD

_PACKAGES = ("reglue", "numpy", "gymnasium", "metaworld", "mujoco")
_OF_SOME = ("scipy", "ale-py", "gymnasium-robotics", "shimmy", "dm-control", "box2d", "box2d-py")


def versions(suite: SuiteName) -> dict[str, str]:
    """Versions of Python, the machine and the packages that rows depend on.

    Packages that only some environments need are listed if they are installed. For environments
    in files, the start of the SHA-256 of all of them, one after another; for Meta-World, the
    same of its package's sources.
    """
    facts = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "not installed"
    for package in _OF_SOME:
        with suppress(metadata.PackageNotFoundError):
            facts[package] = metadata.version(package)
    if META_WORLD in suite.texts():
        facts["metaworld sources"] = digest()[:16]
    if files := suite.files():
        code = b"".join(file.read_bytes() for file in files)
        facts["environment"] = hashlib.sha256(code).hexdigest()[:16]
    return facts


def machine() -> str:
    """This machine's name, and the model of its processor."""
    model = platform.processor() or platform.machine()
    with suppress(OSError), Path("/proc/cpuinfo").open() as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        model = next(names, model)
    return f"{platform.node()}, {model}"
