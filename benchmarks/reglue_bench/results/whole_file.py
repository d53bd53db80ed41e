"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` at the end, unless something is raised.

    `mode` are its permissions, less the process's umask. Raises OSError.
    """
    draft = path.with_name(path.name + ".tmp")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
