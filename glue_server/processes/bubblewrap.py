"""What bubblewrap is told: what a program sees of this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_GRAPHICS = ("nvidia*", "dri", "kfd", "dxg")  # in /dev
_PATHS = (
    "PYTHONPATH LD_LIBRARY_PATH JULIA_DEPOT_PATH JULIA_PROJECT NODE_PATH REGLUE_LIBRARY "
    "VIRTUAL_ENV CONDA_PREFIX".split()
)
"""Variables that name files and folders."""


def probe_words() -> list[str]:
    """The beginning of a command that shows whether bubblewrap works here."""
    return [*_system(), *_private(_private_folders()), "--"]


def bubblewrap_words(
    *, needed: Iterable[Path], readable: Iterable[Path], hidden: Iterable[Path]
) -> list[str]:
    """The beginning of bubblewrap's command; where it is and `--` are still to come.

    The system can be read, `needed` and `readable` wherever they are; /tmp, the user's home
    and /run are empty otherwise. `hidden` is not seen, wherever it is. Nothing can be
    written but what ends with it.
    """
    private = _private_folders()
    words = [*_system(), *_private(private)]
    shown: list[Path] = []
    for path in [*_within(private, needed), *map(_absolute, readable)]:
        if not any(path.is_relative_to(each) for each in shown):
            shown.append(path)
            for above in reversed(_within(private, path.parents)):
                words += ["--dir", str(above)]  # that others may enter, unlike those it makes
            words += ["--ro-bind", str(path), str(path)]
    for path in map(_absolute, hidden):
        if path.is_dir():
            words += ["--tmpfs", str(path)]
        elif path.exists():
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def needed_paths(command: Sequence[str], environment: Mapping[str, str], folder: str) -> list[Path]:
    """What a program must read to run: itself, its folder, and the paths that it is given."""
    program = shutil.which(command[0], path=environment.get("PATH"))
    found = [Path(folder), *([_prefix(Path(folder, program))] if program else [])]
    if program and Path(folder, program).exists():
        found.append(_prefix(Path(folder, program).resolve()))
    if command[0] == sys.executable:
        found += map(Path, [sys.prefix, sys.base_prefix, *filter(None, sys.path)])
    for name in _PATHS:
        found += [
            Path(folder, each) for each in environment.get(name, "").split(os.pathsep) if each
        ]
    for word in command[1:]:
        found += _named(word, folder)
    return [path for path in dict.fromkeys(map(_absolute, found)) if path.exists()]


def _named(word: str, folder: str) -> list[Path]:
    """Files that a word names: `w.npz`, `checkpoint=w.npz`, `file.py:Class` with its folder."""
    value = word.partition("=")[2] or word
    if (script := Path(folder, value.rpartition(":")[0] or value)).is_file():
        return [script, script.parent] if script.suffix in {".py", ".jl", ".js"} else [script]
    return [Path(folder, value)] if os.sep in value else []


def _prefix(program: Path) -> Path:
    """Where its libraries are: the folder that holds `bin`."""
    return program.parent.parent if program.parent.name == "bin" else program


def _system() -> list[str]:
    """Everything as it is, to be read; processes, devices and messages are its own."""
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL"]
    if os.getuid() == 0:  # to become another user, who has none
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    for pattern in _GRAPHICS:
        for device in sorted(Path("/dev").glob(pattern)):
            words += ["--dev-bind-try", str(device), str(device)]
    return words


def _private_folders() -> list[Path]:
    """Where people, and other programs, have what is theirs."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - "~" where there is none
    folders = [Path("/tmp"), Path("/var/tmp"), Path("/run"), home]
    return [each for each in folders if each.is_dir() and each != Path("/")]


def _private(folders: Iterable[Path]) -> list[str]:
    words: list[str] = []
    for folder in folders:
        mode = "1777" if folder.name == "tmp" else "0755"
        words += ["--perms", mode, "--tmpfs", str(folder)]
    return words


def _within(private: Sequence[Path], paths: Iterable[Path]) -> list[Path]:
    """Those that must be shown again; never a private folder as a whole."""
    return [
        path
        for path in paths
        if any(path.is_relative_to(each) for each in private) and path not in private
    ]


def _absolute(path: Path) -> Path:
    """Without `..` and doubled slashes; links stay what they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links
