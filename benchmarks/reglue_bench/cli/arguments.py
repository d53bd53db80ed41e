"""Words of a command line that hold more than one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reglue.errors import UsageError
from reglue.loading import parsed


def environment_arguments(words: Sequence[str]) -> dict[str, Any]:
    """`KEY=VALUE` words as a dict; a value that reads as JSON is that, any other a string.

    Raises UsageError for a word without `=`.
    """
    for word in words:
        if "=" not in word:
            raise UsageError(f"got --environment-arg {word!r}, wanted key=value")
    return {key: parsed(value) for key, _, value in (word.partition("=") for word in words)}
