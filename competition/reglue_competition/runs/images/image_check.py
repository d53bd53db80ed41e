"""The check of an archive in a process of its own, which a stranger's file may end or fill.

`python -m reglue_competition.runs.images.image_check` writes one line of JSON: the digest of what
plays, or why it is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from glue_server.processes.children import (
    death_words,
    die_with,
    end_all,
    parent_to_die_with,
    python_path,
)
from reglue.errors import EntryRefused, StorageFailed, UsageError
from reglue_competition.images import GIB, keep_archive

_MEMORY = 2 * GIB  # bytes of its address space
_NICE = 10  # agents that play go first
_CHECK_S = 3600.0
_LEAVE_S = 1.0
_CHUNK = 1 << 20  # bytes


class ImageCheck:
    """Checks archives, one at a time. `close` ends the one that is under way."""

    def __init__(
        self, folder: Path, *, most_bytes: int, most_in_all: int, takes_projects: bool
    ) -> None:
        self._limits = [str(folder), str(most_bytes), str(most_in_all)]
        self._limits += ["--takes-projects"] * takes_projects
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def __call__(self, archive: Path, sha256: bytes) -> str:
        """Keep what plays of the archive; its digest. Raises EntryRefused and StorageFailed.

        Called by a thread that stays until this process ends, or has called `close`.
        """
        words = [str(parent_to_die_with(thread_stays=True)), str(archive), sha256.hex()]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __spec__.name, *words, *self._limits],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=os.environ | python_path(),
            start_new_session=True,  # Ctrl-C is the server's to hear
        )
        if self._is_closed:  # just now
            self._process.kill()
        try:
            said, _ = self._process.communicate(timeout=_CHECK_S)
            answer = json.loads(said)
        except (subprocess.TimeoutExpired, ValueError) as error:
            if self._is_closed:
                raise StorageFailed("the server stops") from error
            end_all([self._process], within_s=0.0)
            how = death_words(self._process, _LEAVE_S)
            raise StorageFailed(f"the check of {archive.name} has ended: {how}") from error
        if "failed" in answer:
            raise StorageFailed(answer["failed"])
        if "refused" in answer:
            raise EntryRefused(answer["refused"])
        return str(answer["digest"])

    def close(self) -> None:
        """End the check that is under way, and those that are still to begin."""
        # In this order: a check that starts its process just now sees the flag, and kills it.
        self._is_closed = True
        if (process := self._process) is not None:
            process.kill()


def main() -> None:
    """Check one archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parent", type=int)
    parser.add_argument("archive", type=Path)
    parser.add_argument("sha256")
    parser.add_argument("folder", type=Path)
    parser.add_argument("most_bytes", type=int)
    parser.add_argument("most_in_all", type=int)
    parser.add_argument("--takes-projects", action="store_true")
    arguments = parser.parse_args()
    die_with(arguments.parent)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    os.nice(_NICE)
    try:
        got = _sha256(arguments.archive)
        if got != arguments.sha256:
            raise UsageError(
                f"the archive is refused: it came damaged, with the SHA-256 {got}, wanted "
                f"{arguments.sha256}"
            )
        digest = keep_archive(
            arguments.archive,
            arguments.folder,
            most_bytes=arguments.most_bytes,
            most_in_all=arguments.most_in_all,
            takes_projects=arguments.takes_projects,
        )
        answer = {"digest": digest}
    except UsageError as error:
        answer = {"refused": str(error)}
    except (StorageFailed, MemoryError) as error:
        answer = {"failed": str(error) or "out of memory"}
    sys.stdout.write(json.dumps(answer))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
