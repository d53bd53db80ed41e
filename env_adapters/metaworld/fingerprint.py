"""What everything that is computed with Meta-World depends on, besides the task."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from env_adapters.machine import machine
from env_adapters.metaworld.library import metaworld, version

_PACKAGES = ("metaworld", "mujoco", "gymnasium", "numpy", "scipy")


@cache
def fingerprint() -> str:
    """The same where the bits are the same. Changed files of metaworld are noticed."""
    folder = Path(metaworld().__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix not in {"", ".pyc"})
    states = [(str(path.relative_to(folder)), path.stat()) for path in files]
    told = [(name, status.st_size, status.st_mtime_ns) for name, status in states]
    versions = [(package, version(package)) for package in _PACKAGES]
    text = repr([sorted(machine().items()), versions, told])
    return hashlib.sha256(text.encode()).hexdigest()
