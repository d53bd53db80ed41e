"""Programs that measure when asked: one JSON line in, one out, until the end of their input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

_END_S = 20.0  # how long a contender may take to leave


class ContenderFailed(Exception):
    """It could not be started, or left before its time; its last words."""


class Contender:
    """A program of ours or a peer's, kept from round to round; a context manager.

    `module` is run by this Python with `arguments`; it calls `serve`.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"speed.contenders.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **(environment or {})},
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with ExitStack() as closing:
            closing.callback(self._said.close)
            closing.callback(self._process.stdout.close)
            closing.callback(self._leave)
            self._process.stdin.close()

    def measure(self, **asked: object) -> dict[str, Any]:
        """One repetition. Raises ContenderFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None
        if not (line := self._process.stdout.readline()):
            raise self._failed()
        found: dict[str, Any] = json.loads(line)
        return found

    def _leave(self) -> None:
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _failed(self) -> ContenderFailed:
        self._leave()
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip().splitlines()
        return ContenderFailed("\n".join(words[-20:]) or "it left without a word")


def serve(measure: Callable[..., Mapping[str, Any]]) -> None:
    """Answer each line of keywords with what `measure` finds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed goes to the errors
    for line in sys.stdin:
        answers.write(json.dumps(dict(measure(**json.loads(line)))) + "\n")
        answers.flush()


class Helper:
    """The other process of a contender; it leaves when its input ends. A context manager."""

    def __init__(self, module: str, *arguments: str) -> None:
        command: Sequence[str] = [sys.executable, "-m", f"speed.contenders.{module}", *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def line(self) -> str:
        """What it says of itself: where it listens."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
