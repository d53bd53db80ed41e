"""A folder that keeps what is costly to make, from one process to the next.

An entry is found by a key that says everything it depends on; a change of any of it is
another key. Entries are written whole or not at all, by as many processes as like. One
that is damaged, or of another key, is as if there were none: it is made and kept anew.
A folder that cannot be written to only means that nothing is kept. There are no locks,
so the folder may be on a network's file system.

What is kept decides what is simulated, and nothing in an entry proves who wrote it: a
folder that other users may write to is neither read nor written. Programs of the same
user can write to it, unless they run in a sandbox.
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
"""JSON that says what the entry is and all that it depends on."""

LIMIT_BYTES = 2**31
"""What the folder holds at most, for a moment a few entries more."""

_FOLDER = "REGLUE_CACHE_DIR"
_MAGIC = b"reglue.cache.1\n"  # in the names of files too: other formats are left alone
_DIGEST_BYTES = 32
_LENGTH = struct.Struct("<I")  # bytes of the key
_ENTRY, _FILE, _TEMPORARY = ".entry", ".file", ".tmp"
_RECENT_S = 3600.0  # how exactly it is known when an entry was last used

_log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """REGLUE_CACHE_DIR, or `reglue` in the user's cache folder; None if it is set to ""."""
    if (chosen := os.environ.get(_FOLDER)) is not None:
        return Path(chosen) if chosen else None
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "reglue"
    with suppress(RuntimeError):  # no home
        return Path.home() / ".cache" / "reglue"
    return None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a cache holds."""

    entries: int
    size_bytes: int


class DiskCache:
    """Keeps bytes and files in `folder`; with None for a folder, nothing."""

    def __init__(self, folder: Path | None, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self._is_kept = folder is not None and not _others_write(folder)
        self.limit_bytes = limit_bytes
        self._unchecked_bytes = limit_bytes  # written since the size was looked at

    def get(self, key: Key) -> bytes | None:
        """What was kept under this key, as it was kept, or None."""
        path = self._path(key, _ENTRY)
        content = _read(path)
        if path is None or content is None:
            return None
        value = _open(content, _text(key))
        if value is None:
            _log.debug("%s is damaged or of another key; it will be made anew", path)
            return None
        _touch(path)
        return value

    def put(self, key: Key, value: bytes) -> None:
        """Keep `value`, or where the folder does not let us, don't."""
        text = _text(key)
        body = _LENGTH.pack(len(text)) + text + value
        content = _MAGIC + hashlib.sha256(body).digest() + body
        self._write(self._path(key, _ENTRY), lambda path: path.write_bytes(content))

    def get_file(self, key: Key) -> Path | None:
        """The file that was kept under this key, its content as it was kept, or None."""
        path, value = self._path(key, _FILE), self.get(key)
        if path is None or value is None or value != _file_digest(path):
            return None
        _touch(path)
        return path

    def put_file(self, key: Key, write: Callable[[Path], object]) -> None:
        """Keep the file that `write` makes at the path it is given."""
        path = self._path(key, _FILE)
        self._write(path, write)
        # The entry comes last: a file without one is not used.
        if path is not None and (digest := _file_digest(path)):
            self.put(key, digest)

    def usage(self) -> Usage:
        """How much there is."""
        files = self._files()
        entries = sum(path.suffix == _ENTRY for path, _ in files)
        return Usage(entries, sum(status.st_size for _, status in files))

    def clear(self) -> Usage:
        """Delete what the cache has written, and nothing else; what that was."""
        held = self.usage()
        for path, _ in self._files():
            _delete(path)
        return held

    def _path(self, key: Key, suffix: str) -> Path | None:
        if self.folder is None or not self._is_kept:
            return None
        return self.folder / (hashlib.sha256(_MAGIC + _text(key)).hexdigest() + suffix)

    def _write(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """Make the file beside its place, then move it there at once."""
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
            _log.debug("nothing is kept in %s: %s", path.parent, error)
        else:
            self._trim()

    def _trim(self) -> None:
        """Now and then delete what was not used for longest, if there is too much."""
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
        """All that the cache has written, whatever wrote it, with their sizes and times."""
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
    except OSError:  # there is none yet
        return False
    if status.st_uid == os.getuid() and not status.st_mode & 0o022:
        return False
    _log.warning(
        "nothing is kept in %s, nor read from there, as other users may write to it: "
        "`chmod go-w` it, or set %s to a folder of your own",
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
    """The value in an entry; None unless it is whole and of the key `text`."""
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
    """Remember that it was used."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _RECENT_S:
            os.utime(path)


def _delete(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
