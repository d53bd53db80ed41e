"""What a measurement was made on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("reglue", "grpcio", "protobuf", "numpy", "metaworld", "mujoco", "gymnasium"),
    *("rlglue", "dm-env-rpc", "openenv-core"),
)
_CODEC = "2.02, converted to Python 3"


def machine() -> dict[str, str]:
    """Processor, cores, memory, system and Python."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{gigabytes:.0f} GB",
        "system": _system(),
        "Python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Of Reglue, what it stands on, and its peers."""
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    if name == "rlglue":
        return _CODEC
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    except OSError:
        return f"{platform.system()} {platform.release()}, {platform.machine()}"
