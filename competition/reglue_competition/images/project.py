"""Projects of Python that teams hand in: their files, which an image of the organiser's plays.

An archive holds the files of a folder, and at its top `reglue.txt`, whose one line names the agent
as `reglue join` wants it: `agent.py:MyAgent`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import cast

from reglue.error_message import brief
from reglue.errors import UsageError
from reglue.net.project_archive import AGENT_FILE
from reglue_bench.results.whole_file import whole_file
from reglue_competition.images.tar_archive import TarArchive, add, refuse

_MOST_NAME = 200  # characters of a path: file systems take 255 bytes of each part
_KIND = "project:"
_AGENT = re.compile(r"(\w[\w./-]*\.py):[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Project:
    """A project in an archive."""

    archive: TarArchive
    digest: str  # `project:…`, of its files' names and contents

    def write(self, file: Path, most_bytes: int, watcher: Callable[[int], None]) -> None:
        """Write its files with their names and contents alone, without the archive's other facts.

        Raises UsageError, OSError.
        """
        done = 0
        if sum(self.archive.files.values()) > most_bytes:
            refuse(f"there is no room for it: wanted {max(0, most_bytes):,} bytes")
        with whole_file(file, mode=0o600) as to, tarfile.open(fileobj=to, mode="w:") as tar:
            for name, size in sorted(self.archive.files.items()):
                add(tar, name, self.archive.open(name), size)
                done += size
                watcher(done)


def project_of(archive: TarArchive) -> Project:
    """The project of an archive. Raises UsageError."""
    names = {*archive.files}
    if archive.links:
        refuse(f"{brief(archive.links[0])} is a link, wanted files")
    for name in names:
        if len(name) > _MOST_NAME or not name.isprintable() or not name.isascii():
            refuse(f"got the name {brief(name)}, wanted {_MOST_NAME} characters of ASCII at most")
        if not names.isdisjoint(str(each) for each in PurePosixPath(name).parents):
            refuse(f"{brief(name)} is in a file, wanted in a folder")
    agent = _agent(archive.read(AGENT_FILE))
    found = _AGENT.fullmatch(agent)
    if found is None or found[1] not in names:
        refuse(
            f"{AGENT_FILE}: got {brief(agent)}, wanted one line FILE.py:CLASS, with a file of "
            "the archive"
        )
    digest = hashlib.sha256()
    for name in sorted(names):
        content = hashlib.file_digest(cast(BufferedReader, archive.open(name)), "sha256")
        digest.update(f"{content.hexdigest()} {name}\n".encode())
    return Project(archive, f"{_KIND}{digest.hexdigest()}")


def is_project(digest: str) -> bool:
    """Whether what is kept under a digest is a project, and no image."""
    return digest.startswith(_KIND)


def unpack_project(archive: Path, folder: Path) -> str:
    """Put a project that was kept into `folder`, where every user may read it; its agent's name.

    What is there is removed before. Raises UsageError if it cannot be read or written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _unpack(archive, folder)
        return _agent((folder / AGENT_FILE).read_bytes())
    except OSError as error:
        raise UsageError(f"the project cannot be unpacked: {error}") from error


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive, mode="r:") as tar:
        for member in tar:
            path = folder / member.name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            content = tar.extractfile(member)
            assert content is not None  # it holds files alone
            with path.open("xb") as file:
                shutil.copyfileobj(content, file)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def _agent(content: bytes) -> str:
    return content.decode(errors="replace").strip()
