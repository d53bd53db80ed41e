"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes | memoryview], *, mode: int = 0o666) -> None:
    """Write a file in place of what was there. Raises OSError, and leaves nothing behind then.

    `mode` are its permissions, less the process's umask.
    """
    draft = path.with_name(path.name + ".tmp")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.writelines(parts)
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
