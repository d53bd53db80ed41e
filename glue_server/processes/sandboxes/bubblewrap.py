"""Arguments for bubblewrap: the files that a program can see."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_SYSTEM = "usr bin sbin lib lib32 lib64 libx32 sys nix/store gnu/store opt/rocm*".split()
_ETC = (
    "alternatives ld.so.* nsswitch.conf passwd group hosts host.conf resolv.conf gai.conf services "
    "protocols localtime timezone locale.alias mime.types fonts python* java* R julia "
    "ssl/openssl.cnf ssl/certs ca-certificates* pki/tls/certs pki/ca-trust OpenCL vulkan glvnd egl"
).split()
"""Patterns in /etc of how to find libraries, names, fonts, authorities and graphics."""

TEMPORARY_BYTES = 4 * 2**30  # of /tmp, and of /dev/shm: half of a container's memory
_LITTLE_BYTES = 64 * 2**20  # of folders that are there to be empty

_GRAPHICS = ("nvidia*", "dri", "kfd", "dxg")  # in /dev


def shown_paths(needed: Iterable[Path], readable: Iterable[Path]) -> list[Path]:
    """The paths outside the system that a program sees: a folder stands for all that it holds.

    Folders that hold the user's home, or temporary files, are not shown because they are needed.
    """
    system, private = _system(), _private_folders()
    asked = {path for path in map(_absolute, needed) if not within([path], private)}
    shown: list[Path] = []
    for path in sorted({*asked, *map(_absolute, readable)}):
        is_of_system = within(system, [path]) and not within(private, [path])
        if path.exists() and not is_of_system and not within(shown, [path]):
            shown.append(path)
    return shown


def bubblewrap_words(
    shown: Sequence[Path], *, hidden: Iterable[Path] = (), folder: str = "/", has_network: bool
) -> list[str]:
    """The beginning of bubblewrap's command; the home and `--` are still to come.

    A program finds the system's libraries and what is `shown`, to be read, without what is
    `hidden`, and a /tmp of its own. Without the network it has a loopback of its own, and the
    abstract sockets of others are not there.
    """
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += [*([] if has_network else ["--unshare-net"]), "--cap-drop", "ALL"]
    if os.getuid() == 0:  # to become another user, who has none
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    system = _system()
    for path in system:
        is_link = path.parent == Path("/") and path.is_symlink()  # /bin, to usr/bin
        words += [*_above(path), *(_link(path) if is_link else _bind(path, path))]
    words += ["--proc", "/proc", *_devices()]
    words += [*_above(Path("/tmp")), "--perms", "1777", *_temporary(Path("/tmp"), TEMPORARY_BYTES)]
    for place in (Path("/var/tmp"), *within(system, _private_folders())):
        words += [*_above(place), "--perms", "1777", *_temporary(place)]
    for path in shown:
        words += [*_above(path), *_bind(path, path)]
    for path in hidden:
        for place in _places(path, [*system, *shown]):
            is_folder = place.is_dir()
            words += _temporary(place) if is_folder else _bind(Path("/dev/null"), place)
    words += [*_above(Path(folder, "-")), "--remount-ro", "/"]
    return [*words, "--chdir", folder]


def _system() -> list[Path]:
    """Folders and files of the machine that hold nothing of its users."""
    return list(dict.fromkeys(_named_system()))


def _named_system() -> Iterator[Path]:
    root, etc = Path("/"), Path("/etc")
    yield from (path for each in _SYSTEM for path in root.glob(each))
    yield from (path for each in _ETC for path in etc.glob(each) if path.exists())
    for file in etc.glob("ld.so.conf.d/*.conf"):  # libraries elsewhere, as in /opt
        lines = file.read_text(encoding="utf-8", errors="replace").split()
        yield from (path for path in map(Path, lines) if path.is_absolute() and path.is_dir())


def _devices() -> list[str]:
    """Arguments for the devices that every program has, shared memory, and graphics cards."""
    memory = _temporary(Path("/dev/shm"), TEMPORARY_BYTES)
    words = ["--dev", "/dev", "--perms", "1777", *memory]
    for pattern in _GRAPHICS:
        for device in sorted(Path("/dev").glob(pattern)):
            words += ["--dev-bind-try", str(device), str(device)]
    return [*words, "--remount-ro", "/dev"]  # it is in memory, too


def _private_folders() -> list[Path]:
    """Folders with the files of people and of other programs."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - "~" if there is none
    folders = [Path("/tmp"), Path("/var/tmp"), Path("/run"), home]
    return [each for each in folders if each.is_dir() and each != Path("/")]


def _places(hidden: Path, shown: Iterable[Path]) -> Iterator[Path]:
    """Places at which a hidden path, or its contents, would be seen; links show folders, too."""
    real = hidden.resolve()
    if not real.exists():
        return
    for each in shown:
        if real.is_relative_to(each.resolve()):
            yield each / real.relative_to(each.resolve())
        elif each.resolve().is_relative_to(real):
            yield each


def within(folders: Iterable[Path], paths: Iterable[Path]) -> list[Path]:
    """The paths that are in one of the folders, or are one."""
    return [path for path in paths if any(path.is_relative_to(each) for each in folders)]


def _above(path: Path) -> list[str]:
    """The folders in which it is, open to all, unlike those that bubblewrap makes."""
    return [word for each in reversed(path.parents[:-1]) for word in ("--dir", str(each))]


def _temporary(place: Path, most_bytes: int = _LITTLE_BYTES) -> list[str]:
    return ["--size", str(most_bytes), "--tmpfs", str(place)]


def _bind(source: Path, place: Path) -> list[str]:
    return ["--ro-bind", str(source), str(place)]


def _link(path: Path) -> list[str]:
    return ["--symlink", str(path.readlink()), str(path)]


def _absolute(path: Path) -> Path:
    """Without `..` and doubled slashes; links stay what they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links
