"""The files that a program must read to run."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

_VARIABLES = (
    "PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD JULIA_DEPOT_PATH JULIA_PROJECT NODE_PATH "
    "REGLUE_LIBRARY VIRTUAL_ENV CONDA_PREFIX SSL_CERT_FILE SSL_CERT_DIR"
).split()
"""They name files and folders."""

_SCRIPTS = {".py", ".jl", ".js", ".mjs"}  # they load what is beside them
_MOST_LINKS = 40  # as Linux


def needed_paths(command: Sequence[str], environment: Mapping[str, str], folder: str) -> list[Path]:
    """The paths that a command names, and those of this Python if it is the command."""
    named = named_paths(command, environment, folder)
    return [*named, *_python_paths()] if command[0] == sys.executable else named


def named_paths(command: Sequence[str], environment: Mapping[str, str], folder: str) -> list[Path]:
    """A program's own files, its folder, and the paths that it is given."""
    found = [Path(folder)]
    if program := shutil.which(command[0], path=environment.get("PATH")):
        found += _of_program(Path(folder, program), environment)
    for name in _VARIABLES:
        words = environment.get(name, "").split(os.pathsep)
        found += [Path(folder, each) for each in words if each]
    for word in command[1:]:
        found += _named(word, folder, environment)
    # Not `resolve`, which follows links; nor `Path.exists`, which raises OSError for a word that is
    # too long for a path.
    absolute = dict.fromkeys(Path(os.path.abspath(each)) for each in found)  # noqa: PTH100
    return [path for path in absolute if os.path.exists(path)]  # noqa: PTH110


def _python_paths() -> list[Path]:
    """The paths that this Python reads."""
    found = [*map(Path, [sys.prefix, sys.base_prefix, *filter(None, sys.path)])]
    found += _of_program(Path(sys.executable), {})
    return [path for path in found if path.exists()]


def _of_program(file: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """The file, what it links to, what runs it, and the folders of their libraries."""
    for each in (*_links(file), file.resolve()):
        yield each
        prefix = each.parent.parent
        if each.parent.name == "bin" and any(prefix.glob("lib*")):
            yield prefix
            yield from _edited(prefix)
    if (runs_it := _interpreter(file, environment)) and runs_it.resolve() != file.resolve():
        yield from _of_program(runs_it, environment)


def _links(file: Path) -> Iterator[Path]:
    """The file, and each link on the way to what it is."""
    for _ in range(_MOST_LINKS):
        yield file
        if not file.is_symlink():
            return
        file = file.parent / file.readlink()


def _interpreter(file: Path, environment: Mapping[str, str]) -> Path | None:
    """The interpreter in the first line of a script."""
    with file.open("rb") as script:
        first = script.readline(256).decode(errors="replace")
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    if words and Path(words[0]).name == "env":
        words = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
    found = shutil.which(words[0], path=environment.get("PATH")) if words else None
    return Path(found) if found else None


def _edited(prefix: Path) -> Iterator[Path]:
    """Projects that are installed in a Python as they are being edited (PEP 610)."""
    for file in prefix.glob("lib/python3*/site-packages/*.dist-info/direct_url.json"):
        origin = json.loads(file.read_text(encoding="utf-8"))
        if origin.get("dir_info", {}).get("editable"):
            yield Path(unquote(urlsplit(origin["url"]).path))


def _named(word: str, folder: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Files that a word names: `w.npz`, `checkpoint=w.npz`, `file.py:Class` with its folder."""
    value = (word.partition("=")[2] or word).strip('"')  # JSON
    file = Path(folder, value.rpartition(":")[0] or value)
    if os.path.isfile(file):  # noqa: PTH113 - as above
        yield from _of_program(file, environment)
        if file.suffix in _SCRIPTS:
            yield file.parent
            packages = (each for each in file.parents if (each / "package.json").is_file())
            yield from islice(packages, 1)  # whose node_modules it loads
    elif os.sep in value:
        yield Path(folder, value)
