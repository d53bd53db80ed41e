"""Checked archives of teams, which are kept: an image, or a project of Python."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

from reglue.errors import StorageFailed
from reglue.net.project_archive import AGENT_FILE
from reglue_competition.images.image import Image, image_of
from reglue_competition.images.project import Project, project_of
from reglue_competition.images.tar_archive import TarArchive, opened_archive, refuse


def keep_archive(
    source: Path,
    folder: Path,
    *,
    most_bytes: int,
    most_in_all: int,
    takes_projects: bool,
    watcher: Callable[[int], None] = lambda _: None,
) -> str:
    """Check an archive, and keep what plays in `folder`; its digest.

    That is `sha256:…` of an image, and `project:…` of a project. Unpacked, it has at most
    `most_bytes`; the folder holds at most `most_in_all` bytes. `watcher` is told how many bytes
    were read. Raises StorageFailed, and UsageError for anything else than one image for this
    machine or one project.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with opened_archive(source, folder, most_bytes) as archive:
            kept = _found(archive, takes_projects)
            file = kept_file(folder, kept.digest)
            if not file.exists():
                left = most_in_all - sum(each.stat().st_size for each in folder.glob("*.tar"))
                kept.write(file, min(most_bytes, left), watcher)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        refuse(f"it is no archive, or not whole: {error}")
    except OSError as error:
        raise StorageFailed(f"the archive cannot be kept: {error}") from error
    return kept.digest


def kept_file(folder: Path, digest: str) -> Path:
    """The file in which the archive of that digest is kept."""
    _, _, name = digest.rpartition(":")
    return folder / f"{name}.tar"


def _found(archive: TarArchive, takes_projects: bool) -> Image | Project:
    """The image or project in an archive. Raises UsageError."""
    if archive.has(AGENT_FILE):
        if takes_projects:
            return project_of(archive)
        refuse("it holds a project, and this competition plays images alone (`docker save`)")
    if archive.has("manifest.json") or archive.has("index.json"):
        return image_of(archive)
    project = f", and no project with {AGENT_FILE} at its top" if takes_projects else ""
    return refuse(f"it holds no image, as `docker save` writes it{project}")
