"""The archive of an agent that is handed in: a file, or the files of a project of Python."""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from reglue.errors import UsageError

AGENT_FILE = "reglue.txt"
"""The file at a project's top whose line names the agent, `FILE.py:CLASS`."""

_AGENT = re.compile(r"(.+\.py):([^\W\d]\w*)")
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class AgentArchive:
    """An archive to send."""

    archive: Path
    about: str = ""  # which files it was made of, for people


@contextmanager
def archive_of(named: str) -> Iterator[AgentArchive]:
    """The archive of that name, or a new one of the folder in which `FILE.py:CLASS` is.

    The same files make the same archive to the bit. Hidden files and `__pycache__` are left out.
    Raises UsageError.
    """
    found = _AGENT.fullmatch(named)
    if found is None:
        if named.endswith(".py") or Path(named).is_dir():
            raise UsageError(f"got {named}, wanted an archive, or FILE.py:CLASS of the agent")
        yield AgentArchive(Path(named))
        return
    agent = Path(found[1])
    if not agent.is_file():
        raise UsageError(f"{agent}: there is no such file")
    with NamedTemporaryFile(prefix="reglue-", suffix=".tar.gz") as made:
        try:
            files = _files(agent.parent)
            _pack(files, f"{agent.name}:{found[2]}\n", made)
        except OSError as error:
            raise UsageError(f"the files of {agent.parent} cannot be packed: {error}") from error
        made.flush()
        count = f"{len(files)} file{'s' * (len(files) > 1)}"
        yield AgentArchive(Path(made.name), f"the {count} of {agent.parent.resolve()}")


def _files(folder: Path) -> Mapping[str, Path]:
    """Files by their names in the archive, in order. Raises UsageError, OSError."""
    found = {}
    for at, folders, names in os.walk(folder, onerror=_fail):
        folders[:] = [each for each in folders if not _is_left_out(each)]
        for each in folders:
            if Path(at, each).is_symlink():
                raise UsageError(f"{Path(at, each)} is a link to a folder: hand in its files")
        for name in names:
            path = Path(at, name)
            if not _is_left_out(name) and path.is_file():
                found[path.relative_to(folder).as_posix()] = path
        if len(found) > _MOST_FILES:
            raise UsageError(
                f"{folder} has more than {_MOST_FILES} files: give the agent a folder of its own"
            )
    return dict(sorted(found.items()))


def _pack(files: Mapping[str, Path], agent: str, to: IO[bytes]) -> None:
    """Write names and contents alone. Raises OSError."""
    with (
        gzip.GzipFile(fileobj=to, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w:") as tar,
    ):
        _add(tar, AGENT_FILE, io.BytesIO(agent.encode()), len(agent.encode()))
        for name, path in files.items():
            if name != AGENT_FILE:
                with path.open("rb") as file:
                    _add(tar, name, file, os.fstat(file.fileno()).st_size)


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    about = tarfile.TarInfo(name)
    about.size = size
    tar.addfile(about, content)


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def _fail(error: OSError) -> None:
    raise error
