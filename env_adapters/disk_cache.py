"""A folder that stores expensive results for later processes.

The key of an entry names everything that the entry depends on, so a change gives another
key. Any number of processes may write; each entry is written whole or not at all. A damaged
entry, or one of another key, counts as missing: it is computed and written again. If the
folder cannot be written to, nothing is stored. There are no locks, so the folder may be on a
network file system.

Entries decide what is simulated, and nothing in an entry proves who wrote it: a folder that
other users may write to is neither read nor written. Programs of the same user can write to
it, unless they run in a sandbox.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Key: TypeAlias = Mapping[str, Any]
"""JSON that names the entry and everything it depends on."""

LIMIT_BYTES = 2**31
"""The folder's largest size; it may exceed this by a few entries for a moment."""

_FOLDER = "REGLUE_CACHE_DIR"
_MAGIC = b"reglue.cache.1\n"  # part of file names too: entries of other formats stay untouched
_DIGEST_BYTES = 32
_LENGTH = struct.Struct("<I")  # bytes of the key
_ENTRY, _FILE, _TEMPORARY = ".entry", ".file", ".tmp"
_RECENT_S = 3600.0  # resolution of the time at which an entry was last used

_log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """REGLUE_CACHE_DIR, or `reglue` in the user's cache folder; None if it is set to ""."""
    if (chosen := os.environ.get(_FOLDER)) is not None:
        return Path(chosen).absolute() if chosen else None
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if xdg.is_absolute():  # its specification ignores others
        return xdg / "reglue"
    with suppress(RuntimeError):  # no home
        return Path.home() / ".cache" / "reglue"
    return None


def keep_cache_folder() -> None:
    """Let a relative REGLUE_CACHE_DIR go on to name its folder, here and in child processes.

    Called before code of a user's, which may move this process to another folder.
    """
    if chosen := os.environ.get(_FOLDER):
        os.environ[_FOLDER] = str(Path(chosen).absolute())


@dataclass(frozen=True, slots=True)
class Usage:
    """The number and size of a cache's entries."""

    entries: int
    size_bytes: int


class DiskCache:
    """Stores bytes and files in `folder`; stores nothing if that is None."""

    def __init__(self, folder: Path | None, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self._is_used = folder is not None and not _others_write(folder)
        self.limit_bytes = limit_bytes
        self._unchecked_bytes = limit_bytes  # written since the last check of the size

    def get(self, key: Key) -> bytes | None:
        """The bytes that were stored under `key`; None if there are none, or they were changed."""
        path = self._path(key, _ENTRY)
        content = _read(path)
        if path is None or content is None:
            return None
        value = _open(content, _text(key))
        if value is None:
            _log.debug("%s is damaged or of another key; it will be computed again", path)
            return None
        _touch(path)
        return value

    def put(self, key: Key, value: bytes) -> None:
        """Store `value`, if the folder can be written to."""
        text = _text(key)
        body = _LENGTH.pack(len(text)) + text + value
        content = _MAGIC + hashlib.sha256(body).digest() + body
        self._write(self._path(key, _ENTRY), lambda path: path.write_bytes(content))

    def get_file(self, key: Key) -> Path | None:
        """The file that was stored under `key`; None if there is none, or it was changed."""
        path, value = self._path(key, _FILE), self.get(key)
        if path is None or value is None or value != _file_digest(path):
            return None
        _touch(path)
        return path

    def put_file(self, key: Key, write: Callable[[Path], object]) -> None:
        """Store a file: `write` is called with the path at which it writes the content."""
        path = self._path(key, _FILE)
        self._write(path, write)
        # The entry is written last: a file without an entry is not used.
        if path is not None and (digest := _file_digest(path)):
            self.put(key, digest)

    def usage(self) -> Usage:
        """The number of entries and their size."""
        files = self._files()
        entries = sum(path.suffix == _ENTRY for path, _ in files)
        return Usage(entries, sum(status.st_size for _, status in files))

    def clear(self) -> Usage:
        """Delete every file that a cache has written, and no other file.

        Returns the usage before.
        """
        usage_before = self.usage()
        for path, _ in self._files():
            _delete(path)
        return usage_before

    def _path(self, key: Key, suffix: str) -> Path | None:
        if self.folder is None or not self._is_used:
            return None
        return self.folder / (hashlib.sha256(_MAGIC + _text(key)).hexdigest() + suffix)

    def _write(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """Write a temporary file in the same folder, then rename it: readers see all or nothing."""
        if path is None:
            return
        temporary = path.with_suffix(f".{os.urandom(8).hex()}{_TEMPORARY}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                write(temporary)
                self._unchecked_bytes += temporary.stat().st_size
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            _log.debug("cannot write to the cache in %s: %s", path.parent, error)
        else:
            self._trim()

    def _trim(self) -> None:
        """Now and then delete the least recently used files, if the folder is too large."""
        if self._unchecked_bytes < self.limit_bytes // 16:
            return
        self._unchecked_bytes = 0
        files = sorted(self._files(), key=lambda file: file[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.limit_bytes
        spare = self.limit_bytes // 8 if excess > 0 else 0
        for path, status in files:
            left = path.suffix == _TEMPORARY and time.time() - status.st_mtime > _RECENT_S
            if left or excess + spare > 0:
                _delete(path)
                excess -= status.st_size

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        """All files that a cache has written, in this process or another, with their status."""
        files = []
        with suppress(OSError):
            for each in os.scandir(self.folder) if self.folder else ():
                path = Path(each)
                named = len(path.name.partition(".")[0]) == 2 * _DIGEST_BYTES
                if named and path.suffix in (_ENTRY, _FILE, _TEMPORARY):
                    with suppress(OSError):  # gone meanwhile
                        files.append((path, each.stat()))
        return files


def _others_write(folder: Path) -> bool:
    """Whether another user owns the folder, or may write to it."""
    try:
        status = folder.stat()
    except OSError:  # the folder does not exist yet
        return False
    if status.st_uid == os.getuid() and not status.st_mode & 0o022:
        return False
    _log.warning(
        "the cache in %s is not used, since other users may write to it: "
        "run `chmod go-w` on it, or set %s to a folder of your own",
        folder,
        _FOLDER,
    )
    return True


def _text(key: Key) -> bytes:
    return json.dumps(key, sort_keys=True).encode()


def _read(path: Path | None) -> bytes | None:
    with suppress(OSError):
        return path.read_bytes() if path else None
    return None


def _open(content: bytes, text: bytes) -> bytes | None:
    """The value in an entry; None if it is damaged or not of the key `text`."""
    start = len(_MAGIC) + _DIGEST_BYTES
    body = content[start:]
    named = _LENGTH.pack(len(text)) + text
    whole = content[:start] == _MAGIC + hashlib.sha256(body).digest()
    return body[len(named) :] if whole and body.startswith(named) else None


def _file_digest(path: Path) -> bytes | None:
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
    return None


def _touch(path: Path) -> None:
    """Note that the file was used."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _RECENT_S:
            os.utime(path)


def _delete(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
