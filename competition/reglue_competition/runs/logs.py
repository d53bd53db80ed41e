"""Logs of a server and of its submissions, for people: programs follow `events`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

WHOSE = ("team", "submission")
"""Fields of a record besides its message: from the call's `extra`, else from the process."""


def log_to_stderr(whose: Mapping[str, str] | None = None) -> None:
    """Log to stderr from now on.

    `whose` is added to every line: the team and submission that this process plays.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_WithWhose(whose or {}))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("reglue").setLevel(logging.INFO)


class _WithWhose(logging.Formatter):
    def __init__(self, whose: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._whose = whose

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = {name: getattr(record, name, self._whose.get(name, "")) for name in WHOSE}
        told = " ".join(f"{name}={value}" for name, value in fields.items() if value)
        line = super().formatMessage(record)
        return f"{line} ({told})" if told else line
