"""Archives of strangers, read as data: nothing of them reaches a file under a name of theirs."""

from __future__ import annotations

import gzip
import hashlib
import io
import posixpath
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn, cast

from reglue.error_message import brief, printable
from reglue.errors import UsageError

GIB = 2**30

_CHUNK = 1 << 20  # bytes
_MOST_FILES = 10_000  # in an archive
_MOST_TEXT = 4 * _CHUNK  # bytes of a description
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class TarArchive:
    """The files of a tar archive, none of which is outside of it."""

    def __init__(self, tar: tarfile.TarFile, most_bytes: int) -> None:
        """Raises UsageError."""
        self._tar = tar
        self._files: dict[str, tarfile.TarInfo] = {}
        self._links: dict[str, str] = {}  # what each leads to
        total = 0
        for member in tar:
            name = _inside(member.name, member.name)
            if member.isdir():
                continue
            total += max(0, member.size)
            if total > most_bytes:
                refuse(f"it holds more than {most_bytes / GIB:.3g} GiB")
            if len(self._files) + len(self._links) >= _MOST_FILES:
                refuse(f"it holds more than {_MOST_FILES} files")
            if name in self._files or name in self._links:
                refuse(f"{brief(name)} is in it twice")
            if member.issym():
                beside = posixpath.join(posixpath.dirname(name), member.linkname)
                self._links[name] = _inside(beside, member.name)
            elif member.islnk():
                self._links[name] = _inside(member.linkname, member.name)
            elif member.isfile():
                self._files[name] = member
            else:
                refuse(f"{brief(name)} is neither a file nor a folder")

    @property
    def files(self) -> Mapping[str, int]:
        """The bytes of each file."""
        return {name: member.size for name, member in self._files.items()}

    @property
    def links(self) -> Sequence[str]:
        """Names that lead to other files."""
        return [*self._links]

    def has(self, name: str) -> bool:
        """Whether it holds a file of that name."""
        return name in self._files or name in self._links

    def open(self, name: str) -> IO[bytes]:
        """A file of it. Raises UsageError."""
        name = posixpath.normpath(name)
        member = self._files.get(self._links.get(name, name))
        file = None if member is None else self._tar.extractfile(member)
        if file is None:
            refuse(f"{brief(name)} is missing from it")
        return file

    def open_unpacked(self, name: str) -> IO[bytes]:
        """A file of it, unpacked if it is compressed by gzip. Raises UsageError."""
        file = self.open(name)
        begin = file.read(len(_ZSTD))
        file.seek(0)
        if begin == _ZSTD:
            refuse("its layers are compressed by zstd, wanted gzip, or none (`docker save`)")
        return _unpacked(file) if begin.startswith(_GZIP) else file

    def read(self, name: str) -> bytes:
        """The content of a short file. Raises UsageError."""
        content = self.open(name).read(_MOST_TEXT + 1)
        if len(content) > _MOST_TEXT:
            refuse(f"{brief(name)} has more than {_MOST_TEXT:,} bytes")
        return content


class _Sparing(io.RawIOBase):
    """A file of which nothing large is read at once, whatever a header says of its own length."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Raises ReadError."""
        if not 0 <= size <= _MOST_TEXT + 1:
            raise tarfile.ReadError("a header that is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


@contextmanager
def opened_archive(source: Path, folder: Path, most_bytes: int) -> Iterator[TarArchive]:
    """The archive, which may be compressed as a whole. Raises UsageError, OSError."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    with file, TemporaryFile(dir=folder) as plain:
        begin = file.read(len(_ZSTD))
        file.seek(0)
        if begin.startswith(_GZIP):  # whose files cannot be found without unpacking all of it
            copy(_unpacked(file), plain, most_bytes + _MOST_FILES * _CHUNK // 256)
            plain.seek(0)
        whole: Any = _Sparing(plain if begin.startswith(_GZIP) else file)
        with tarfile.open(fileobj=whole, mode="r:") as tar:
            yield TarArchive(tar, most_bytes)


def copy(
    source: IO[bytes], to: IO[bytes], most: int, watcher: Callable[[int], None] = lambda _: None
) -> tuple[int, str]:
    """Copy all of it; its size and SHA-256. Raises UsageError for more than `most` bytes."""
    size, digest = 0, hashlib.sha256()
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > most:
            refuse(f"it is too large, or there is no room for it: wanted {max(0, most):,} bytes")
        digest.update(chunk)
        to.write(chunk)
        watcher(size)
    return size, digest.hexdigest()


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=file))


def add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    """Add a file to an archive that we write."""
    about = tarfile.TarInfo(name)
    about.size = size
    tar.addfile(about, content)


def _inside(path: str, name: str) -> str:
    """A path without detours. Raises UsageError if it leads out of the archive."""
    normal = posixpath.normpath(path)
    if normal.startswith("/") or normal.split("/")[0] == ".." or "\0" in normal:
        refuse(f"{brief(name)} leads out of it")
    return normal


def refuse(why: str) -> NoReturn:
    """Raises UsageError."""
    raise UsageError(f"the archive is refused: {printable(why)}")
