"""Reads a user's text file."""

from __future__ import annotations

from pathlib import Path

from reglue.errors import BadArgument, UsageError


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without the byte order mark that some editors put before it.

    Raises UsageError if it cannot be read, and BadArgument if it is no such text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadArgument(f"{path} is no text in UTF-8: {error}") from error
