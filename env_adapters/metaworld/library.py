"""The metaworld package: loaded when it is first needed, and compared with the tested one."""

from __future__ import annotations

import hashlib
import importlib
import logging
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from env_adapters.machine_identity import machine_identity
from env_adapters.mujoco import defer_glfw, how_to_draw
from reglue.errors import MissingExtra, UsageError

# Modules are Any: several names that we need are private to metaworld. The version is pinned, and
# tests compare our results with those of metaworld's public classes.


def metaworld(submodule: str = "") -> Any:
    """The package `metaworld`, or one of its submodules. Raises MissingExtra."""
    return _load("metaworld", submodule)


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra, UsageError if it cannot be loaded."""
    try:
        return _load("mujoco")
    except (ImportError, RuntimeError, AttributeError) as error:  # of MUJOCO_GL's library
        raise UsageError(f"MuJoCo cannot be loaded: {error}; {how_to_draw()}") from error


@cache
def version(package: str) -> str:
    """The installed version of a package, or "none"; nothing is loaded."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _load(package: str, submodule: str = "") -> Any:
    defer_glfw()
    try:
        return importlib.import_module(f"{package}.{submodule}" if submodule else package)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name or package}"
        raise MissingExtra("Meta-World", "metaworld", missing) from error


_PACKAGES = ("metaworld", "mujoco", "gymnasium", "numpy", "scipy")


@cache
def fingerprint() -> str:
    """A digest of machine, versions and metaworld's files; if equal, results have equal bits."""
    folder = Path(metaworld().__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix not in {"", ".pyc"})
    states = [(str(path.relative_to(folder)), path.stat()) for path in files]
    files_and_times = [(name, status.st_size, status.st_mtime_ns) for name, status in states]
    versions = [(package, version(package)) for package in _PACKAGES]
    text = repr([sorted(machine_identity().items()), versions, files_and_times])
    return hashlib.sha256(text.encode()).hexdigest()


VERIFIED = {"metaworld": "3.1.1", "mujoco": "3.3.0"}

SOURCES = "5d30f400ef6afd1c4fffe8b41bd149b3010688acc8a0d6cf47c18bed1e885210"
"""SHA-256 of what `sources` lists; see `digest`."""

_log = logging.getLogger("reglue")


@cache
def is_verified() -> bool:
    """Whether the installed versions and sources are the verified ones.

    Loads neither metaworld nor MuJoCo. Takes about 15 ms, once a process. Raises MissingExtra
    where a package is listed as installed and cannot be found.
    """
    if {package: version(package) for package in VERIFIED} != VERIFIED:
        return False
    return digest() == SOURCES


@cache
def warn_if_unverified() -> None:
    """Warn once if the shortcuts are off, since everything then takes longer."""
    if version("metaworld") != "none" and not is_verified():
        _log.warning(
            "Meta-World is played without shortcuts: the same numbers, but slower. Installed: "
            "metaworld %s, mujoco %s; the shortcuts were tested with metaworld %s, mujoco %s and "
            "Gymnasium 1.4.0, their files unchanged",
            *map(version, VERIFIED),
            *VERIFIED.values(),
        )


def digest() -> str:
    """SHA-256 of the content of all files that `sources` lists."""
    content_hash = hashlib.sha256()
    for path in sources():
        content_hash.update(hashlib.sha256(path.read_bytes()).digest())
    return content_hash.hexdigest()


def sources() -> Iterator[Path]:
    """Metaworld's sources and models, and Gymnasium's class that they derive from."""
    root = _folder("metaworld")
    yield from sorted(path for path in root.rglob("*") if path.suffix in (".py", ".xml"))
    yield _folder("gymnasium") / "envs" / "mujoco" / "mujoco_env.py"


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingExtra("Meta-World", "metaworld", f"the package {package}")
    return Path(spec.origin).parent
