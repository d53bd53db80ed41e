"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file in place of what was there. Raises OSError, and leaves nothing behind then."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("wb") as file:
            file.writelines(parts)
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
