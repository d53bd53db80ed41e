"""Facts on which a run's rows depend: the agent's program, arguments, files; versions; machines."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from env_adapters import SuiteName
from env_adapters.metaworld.library import digest
from env_adapters.suites import META_WORLD
from reglue.tools.loading import checkpoint_sha256
from reglue.version import version_of
from reglue_bench.settings import Settings

AGENT_FILE = "agent file "
"""Begins entries of a ledger's `about`: the files that the agent is written in."""

_SOURCES = {".py", ".jl", ".js", ".mjs", ".ts", ".sh", ".jar", ".lua", ".rb"}

_PACKAGES = ("reglue", "numpy", "gymnasium", "metaworld", "mujoco")
_OF_SOME = ("scipy", "ale-py", "gymnasium-robotics", "shimmy", "dm-control", "box2d", "box2d-py")


def identity(settings: Settings, suite: SuiteName) -> dict[str, str]:
    """Facts on which a row's bits depend: versions, and digests of the agent and environment."""
    package_versions = versions(suite).items()
    return agent_facts(settings) | {f"version {name}": each for name, each in package_versions}


def agent_facts(settings: Settings) -> dict[str, str]:
    """Facts that identify the agent, from the settings."""
    facts = {
        "agent program": settings.agent_cmd or settings.agent,
        "agent arguments": json.dumps(settings.agent_args, sort_keys=True),
        "agent label": settings.label,
        "agent training seed": settings.training_seed,
        "agent checkpoint": checkpoint_sha256(_absolute(settings)),
    }
    texts = {name: str(value) for name, value in facts.items() if value is not None}
    return texts | _agent_files(settings)


def versions(suite: SuiteName) -> dict[str, str]:
    """Versions of Python, the machine and the packages that rows depend on.

    Packages that only some environments need are listed if they are installed. For environments
    in files, the start of the SHA-256 of all of them, one after another; for Meta-World, the
    same of its package's sources.
    """
    facts = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            facts[package] = version_of(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    for package in _OF_SOME:
        with suppress(PackageNotFoundError):
            facts[package] = version_of(package)
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


def _absolute(settings: Settings) -> dict[str, str]:
    """The arguments, with `checkpoint` as an absolute path."""
    checkpoint = settings.agent_args.get("checkpoint")
    if checkpoint is None:
        return settings.agent_args
    return settings.agent_args | {"checkpoint": str(Path(settings.directory) / checkpoint)}


def _agent_files(settings: Settings) -> dict[str, str]:
    """The start of each file's SHA-256, as an entry of `about` with its name on the command line.

    Of `file.py:Class` that file, of `package.module:Class` the module's; of a program the first
    word, and others that look like programs, where they are files. Imports of these
    files are not followed. Nothing is run or imported.
    """
    return {
        AGENT_FILE + name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in _files_by_name(settings)
        if file.is_file()
    }


def agent_sources(settings: Settings) -> list[Path]:
    """The files whose digests identify the agent."""
    return [file for _, file in _files_by_name(settings) if file.is_file()]


def _files_by_name(settings: Settings) -> Iterator[tuple[str, Path]]:
    folder = Path(settings.directory)
    if settings.agent_cmd is not None:
        try:
            words = shlex.split(settings.agent_cmd)
        except ValueError:  # starting it reports the error
            return
        for place, word in enumerate(words):
            if not place or Path(word).suffix in _SOURCES:
                yield word, folder / word
        return
    target = (settings.agent or "").rpartition(":")[0]
    if target.endswith(".py") or "/" in target:
        yield target, folder / target
    elif target and (origin := _module_file(target, folder)):
        yield target, origin


def _module_file(name: str, folder: Path) -> Path | None:
    """A module's file, found without importing its packages."""
    places: list[str] | None = [str(folder), *sys.path]
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    assert spec is not None
    return Path(spec.origin) if spec.origin and spec.has_location else None
