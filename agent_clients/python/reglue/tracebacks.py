"""Tells an author where the cause of an error is in the author's code."""

from __future__ import annotations

import os
import sys
from traceback import FrameSummary, StackSummary, TracebackException, extract_tb

from reglue.error_message import error_text
from reglue.errors import ReglueError

_PACKAGES = ("reglue", "env_adapters", "glue_server", "reglue_bench", "reglue_competition")


def explained(error: BaseException) -> str:
    """The error with the frames of its author's code, which are below ours.

    One line for an error of Reglue's, whose message says what to do. An error without any frame of
    an author's is our own failure, and keeps all.
    """
    if isinstance(error, ReglueError):
        return error_text(error)
    trace = TracebackException.from_exception(error)
    _keep_authors(trace, _folders())
    return "".join(trace.format()).rstrip()


def authors_place(error: BaseException, *, besides: str) -> str:
    """The line of an author's code that ran when `error` was raised; empty if it was ours.

    Frames of the file `besides`, such as a signal's handler, and those of Python's own library
    do not count.
    """
    ours = _folders()
    for frame in reversed(extract_tb(error.__traceback__)):
        if frame.filename == besides or _is_standard(frame.filename):
            continue
        if frame.filename.startswith(ours):
            break
        return f"{frame.filename}, line {frame.lineno}, in {frame.name}"
    return ""


def _is_standard(filename: str) -> bool:
    """Whether Python came with the file."""
    if filename.startswith("<frozen "):
        return True
    folder = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - a text
    return filename.startswith(folder) and "site-packages" not in filename


def _keep_authors(trace: TracebackException, ours: tuple[str, ...]) -> None:
    """Remove our frames, and causes that have no others."""
    frames = _authors(trace, ours)
    if not frames:
        return
    trace.stack = StackSummary.from_list(frames)
    for name in ("__cause__", "__context__"):
        before = getattr(trace, name)
        if before is not None and _authors(before, ours):
            _keep_authors(before, ours)
        else:
            setattr(trace, name, None)


def _authors(trace: TracebackException, ours: tuple[str, ...]) -> list[FrameSummary]:
    return [frame for frame in trace.stack if not frame.filename.startswith(ours)]


def _folders() -> tuple[str, ...]:
    """The folders of our packages that are loaded."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _PACKAGES]
    return tuple(os.path.dirname(file) + os.sep for file in files if file)  # noqa: PTH120 - a text
