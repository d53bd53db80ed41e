"""The files that an agent's program is written in, as far as its command line names them."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from reglue_bench.settings import Settings

_SOURCES = {".py", ".jl", ".js", ".mjs", ".ts", ".sh", ".jar", ".lua", ".rb"}


def agent_code(settings: Settings) -> dict[str, str]:
    """The start of the SHA-256 of each file, by the name that it has on the command line.

    Of `file.py:Class` that file, of `package.module:Class` the module's; of a program the first
    word, and others that look like programs, where they are files. What those import is not
    seen. Nothing is run or imported.
    """
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in _named(settings)
        if file.is_file()
    }


def _named(settings: Settings) -> Iterator[tuple[str, Path]]:
    folder = Path(settings.directory)
    if settings.agent_cmd is not None:
        try:
            words = shlex.split(settings.agent_cmd)
        except ValueError:  # said when it is started
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
    """Where a module is, found without importing the packages that it is in."""
    places: list[str] | None = [str(folder), *sys.path]
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:depth]), places)
        if found is None:
            return None
        places = list(found.submodule_search_locations or ())
    assert found is not None
    return Path(found.origin) if found.origin and found.has_location else None
