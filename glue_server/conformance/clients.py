"""Where clients under test come from: a program that is started, or somebody who dials in."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from glue_server.processes.program import ProgramProcess, agent_environment
from reglue.errors import UsageError


class Client(Protocol):
    """A client under test."""

    @property
    def is_watched(self) -> bool:
        """Whether one sees it end and reads what it prints."""

    def exit_code(self) -> int | None:
        """How it ended; None while it runs, and for one that is not watched until `close`."""

    def printed(self) -> str:
        """The end of what it printed."""

    def close(self) -> None:
        """Make it end."""


class Clients(Protocol):
    """Brings clients, one after another."""

    def start(self, address: str, token: str) -> Client:
        """A new one, on its way to `address`."""


class StartedClients:
    """A program, started anew each time with REGLUE_ADDRESS and REGLUE_TOKEN set."""

    def __init__(self, command: str, log_file: Path) -> None:
        """Raises UsageError for a command that cannot be read."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--cmd {command!r}: {error}") from error
        if not self._command:
            raise UsageError("--cmd is empty; give a program that dials $REGLUE_ADDRESS")
        self._log_file = log_file

    def start(self, address: str, token: str) -> Client:
        """Raises UsageError if it cannot be started."""
        return _Started(
            ProgramProcess(
                self._command,
                environment={
                    **agent_environment(),
                    "REGLUE_ADDRESS": address,
                    "REGLUE_TOKEN": token,
                },
                log_file=self._log_file,
                folder=".",
            )
        )


class _Started:
    is_watched = True

    def __init__(self, process: ProgramProcess) -> None:
        self._process = process

    def exit_code(self) -> int | None:
        return self._process.exit_code

    def printed(self) -> str:
        return self._process.last_lines()

    def close(self) -> None:
        self._process.end(within_s=2.0)


class AwaitedClients:
    """Whoever dials in; is told when to."""

    def __init__(self, announce: Callable[[str, str], None]) -> None:
        """`announce` gets address and token."""
        self._announce = announce

    def start(self, address: str, token: str) -> Client:
        """Ask for one."""
        self._announce(address, token)
        return _Awaited()


class _Awaited:
    is_watched = False

    def __init__(self) -> None:
        self._code: int | None = None

    def exit_code(self) -> int | None:
        return self._code

    def printed(self) -> str:
        return ""

    def close(self) -> None:
        """It leaves by itself; nobody waits for it."""
        self._code = -1
