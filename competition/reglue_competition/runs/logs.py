"""Logs of a server and of its submissions: a line each, for people or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

WHOSE = ("team", "submission")
"""Fields of a record besides its message: from the call's `extra`, else from the process."""


def log_to_stderr(*, as_json: bool, whose: Mapping[str, str] | None = None) -> None:
    """Log to stderr from now on, as one JSON object a line if asked.

    `whose` is added to every line: the team and submission that this process plays.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json(whose or {}) if as_json else _Plain(whose or {}))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("reglue").setLevel(logging.INFO)


class _Plain(logging.Formatter):
    def __init__(self, whose: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._whose = whose

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        context = _context(record, self._whose)
        fields = " ".join(f"{name}={value}" for name, value in context.items())
        line = super().formatMessage(record)
        return f"{line} ({fields})" if fields else line


class _Json(logging.Formatter):
    def __init__(self, whose: Mapping[str, str]) -> None:
        super().__init__()
        self._whose = whose

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {
            "at": at.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "message": record.getMessage(),
            **_context(record, self._whose),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _context(record: logging.LogRecord, whose: Mapping[str, str]) -> dict[str, str]:
    fields = {name: getattr(record, name, whose.get(name, "")) for name in WHOSE}
    return {name: str(value) for name, value in fields.items() if value}
