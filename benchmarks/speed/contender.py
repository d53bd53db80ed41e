"""Programs that measure when asked: one JSON line in, one out, until the end of their input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Any, Self

_END_S = 20.0  # how long a program may take to leave


class ContenderFailed(Exception):
    """It could not be started, or left before its time; its last words."""


class _Program:
    """`speed.contenders.module` run by this Python; it leaves when its input ends.

    A context manager.
    """

    def __init__(
        self,
        module: str,
        arguments: tuple[str, ...],
        *,
        stderr: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"speed.contenders.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as closing:
            closing.callback(self._out.close)
            closing.callback(self._leave)
            self._in.close()

    def _leave(self) -> None:
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Contender(_Program):
    """A program of ours or a peer's, kept from round to round; it calls `serve`."""

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        super().__init__(module, arguments, stderr=self._said, environment=environment)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._said:
            super().__exit__(kind, error, trace)

    def metric(self, **asked: object) -> dict[str, Any]:
        """One repetition. Raises ContenderFailed."""
        try:
            self._in.write(json.dumps(asked) + "\n")
            self._in.flush()
        except BrokenPipeError:
            raise self._failed() from None
        if not (line := self._out.readline()):
            raise self._failed()
        found: dict[str, Any] = json.loads(line)
        return found

    def _failed(self) -> ContenderFailed:
        self._leave()
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip().splitlines()
        return ContenderFailed("\n".join(words[-20:]) or "it left without a word")


class Helper(_Program):
    """The other process of a contender."""

    def __init__(self, module: str, *arguments: str) -> None:
        super().__init__(module, arguments)

    def line(self) -> str:
        """What it says of itself: where it listens."""
        return self._out.readline().strip()


def serve(metric: Callable[..., Mapping[str, Any]]) -> None:
    """Answer each line of keywords with what `measure` finds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed goes to the errors
    for line in sys.stdin:
        answers.write(json.dumps(dict(metric(**json.loads(line)))) + "\n")
        answers.flush()
