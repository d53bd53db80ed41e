"""The logger `reglue`, by REGLUE_LOG, and the logger `reglue.trace` of calls, by REGLUE_TRACE."""

from __future__ import annotations

import logging
import os
import time
from functools import cache

from reglue.errors import BadArgument

log = logging.getLogger("reglue")

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


def show_log() -> None:
    """Show on stderr what is logged from REGLUE_LOG's level on, by default warnings and errors.

    A program that has handlers of its own gets the lines there; without REGLUE_LOG, from its own
    level on. Raises BadArgument for an unknown level.
    """
    wanted = os.environ.get("REGLUE_LOG")
    if wanted and wanted not in _LEVELS:
        raise BadArgument(got=f"REGLUE_LOG={wanted}", wanted=", ".join(_LEVELS))
    if wanted or not log.hasHandlers():
        log.setLevel(_LEVELS[wanted or "warning"])
    if not log.hasHandlers():
        log.addHandler(stderr_handler())


@cache  # a logger takes the same handler once, whatever threads add it
def stderr_handler() -> logging.Handler:
    """Writes `2026-11-24T11:20:01.234Z LOGGER LEVEL: LINE`."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Leveled())
    return handler


def call_trace() -> CallTrace | None:
    """Logs the calls of a session, on stderr unless `reglue.trace` has a handler; None if
    REGLUE_TRACE is not 1. Raises BadArgument if it is not 0 either.
    """
    wanted = os.environ.get("REGLUE_TRACE")
    if wanted not in (None, "", "0", "1"):
        raise BadArgument(got=f"REGLUE_TRACE={wanted}", wanted="1 or 0")
    if wanted != "1":
        return None
    calls = log.getChild("trace")
    calls.setLevel(logging.INFO)
    calls.propagate = False  # it is shown whatever REGLUE_LOG is
    if not calls.handlers:
        calls.addHandler(_trace_handler())
    return CallTrace(calls)


class CallTrace:
    """Logs each call of a session once it is answered.

    `2026-11-24T11:20:01.234Z reglue call turn 118 bytes, answered by 24 bytes in 0.41 ms`.
    """

    def __init__(self, to: logging.Logger) -> None:
        self._to = to
        self._call = ""  # with its size
        self._begun = 0.0  # seconds, of perf_counter

    def begin(self, name: str, size: int) -> None:
        """A call has come, or goes out: its name in the protocol, and its bytes."""
        self._call, self._begun = f"{name} {size}", time.perf_counter()

    def end(self, size: int) -> None:
        """Its answer goes out, or has come."""
        took_ms = 1e3 * (time.perf_counter() - self._begun)
        self._to.info("call %s bytes, answered by %d bytes in %.2f ms", self._call, size, took_ms)


class Outage:
    """Logs one line when the connection is lost, and one when it is back, however many streams
    are tried between.
    """

    def __init__(self) -> None:
        self._begun: float | None = None  # monotonic seconds
        self._is_forgotten = False

    def begin(self, why: object, most_s: float) -> None:
        """A stream has ended, and others are tried for `most_s` seconds."""
        if self._begun is None:
            self._begun = time.monotonic()
            log.warning("lost the connection, reconnecting for up to %.1f s: %s", most_s, why)

    def forget(self) -> None:
        """The glue does not know the session any more, and the peer joins again."""
        if not self._is_forgotten:
            log.warning("the glue has forgotten this session; joining anew")
        self._is_forgotten = True

    def end(self) -> None:
        """The glue has admitted the peer."""
        if self._begun is not None:
            log.warning("connected again after %.1f s", time.monotonic() - self._begun)
        self._begun, self._is_forgotten = None, False


@cache
def _trace_handler() -> logging.Handler:
    handler = logging.StreamHandler()
    handler.setFormatter(_Utc("%(asctime)s reglue %(message)s"))
    return handler


class _Utc(logging.Formatter):
    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class _Leveled(_Utc):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        level = record.levelname.lower()
        return f"{self.formatTime(record)} {record.name} {level}: {record.message}"
