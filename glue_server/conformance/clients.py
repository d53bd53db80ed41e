"""Clients under test: how they are started, join and leave."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from glue_server.processes.program import ProgramProcess, agent_environment
from glue_server.rpc import GlueServer
from reglue.errors import NotConforming, UsageError

POLL_S = 0.02

_FAREWELL = "that was all"
_AWAY_S = 2.0  # a client that is not watched has left if it stays away for so long
_PEOPLE_S = 600.0  # how long somebody may take to start a client by hand


class Client(Protocol):
    """A client under test."""

    @property
    def is_watched(self) -> bool:
        """Whether the kit sees its exit and reads what it prints."""

    def exit_code(self) -> int | None:
        """Its exit code; None while it runs, or until `close` if it is not watched."""

    def printed(self) -> str:
        """The end of its output."""

    def close(self) -> None:
        """End it."""


class Clients(Protocol):
    """Starts clients, one after another."""

    def start(self, address: str, token: str) -> Client:
        """Start a client that connects to `address`."""


class StartedClients:
    """Starts a program for each client, with REGLUE_ADDRESS and REGLUE_TOKEN set."""

    def __init__(self, command: str, log_file: Path) -> None:
        """Raises UsageError for an invalid command."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--cmd {command!r}: {error}") from error
        if not self._command:
            raise UsageError("--cmd is empty; give a program that dials $REGLUE_ADDRESS")
        self._log_file = log_file

    def start(self, address: str, token: str) -> Client:
        """Raises UsageError if the program cannot be started."""
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
    """Waits for clients that a person starts."""

    def __init__(self, announce: Callable[[str, str], None]) -> None:
        """`announce` is called with address and token when a client is wanted."""
        self._announce = announce

    def start(self, address: str, token: str) -> Client:
        """Announce where the client is to connect."""
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
        """Nothing to end: the client leaves by itself."""
        self._code = -1


class ClientRun:
    """One run of a client, from its start to its exit."""

    def __init__(
        self, client: Client, *, role: str, timeout_s: float, join_timeout_s: float
    ) -> None:
        """A client that was just started. Nobody but a person may take longer than
        `join_timeout_s` until it has joined.
        """
        self.client = client
        self._joins_by = time.monotonic() + (join_timeout_s if client.is_watched else _PEOPLE_S)
        self.is_over = False  # no check may use it any more
        self._role = role
        self._timeout_s = timeout_s
        self._port: Any = None
        self._watch = threading.Thread(target=self._watch_it_end, name="conformance-watch")
        self._closed = threading.Event()
        self._watch.start()

    def admit_at(self, server: GlueServer) -> Any:
        """Wait until `server` has admitted the client; returns its port. Raises NotConforming."""
        deadline, within = self.deadline()
        while (port := server.next(self._role, POLL_S)) is None:
            if self.client.exit_code() is not None:
                raise NotConforming("joining", got=self.ending(), wanted="a client that joins")
            if time.monotonic() > deadline:
                got, wanted = f"nobody within {within}", f"the {self._role} under test"
                raise NotConforming("joining", got=got, wanted=wanted)
        self._port = port
        return port

    def deadline(self) -> tuple[float, str]:
        """The monotonic time by which the client has to do what is expected next, and how long that
        is. One that has not joined yet may still be starting.
        """
        now = time.monotonic()
        until = now + self._timeout_s
        if self._port is None:
            until = max(until, self._joins_by)
        return until, f"{until - now:.3g} s"

    def say_farewell(self) -> None:
        """Send the farewell. Raises NotConforming unless the client exits with code 0.

        With a benchmark program it is not: nobody answers what it still wanted to ask.
        """
        self._port.close(_FAREWELL)
        if self._role == "experiment":
            self.expect_failure()
            return
        self.expect_exit()
        if self.client.exit_code() not in (0, None):
            raise NotConforming("a farewell", got=self.ending(), wanted="exit code 0")

    def expect_failure(self, is_here: Callable[[], bool] | None = None) -> None:
        """As `expect_exit`; the exit code must not be 0."""
        self.expect_exit(is_here)
        if self.client.exit_code() == 0:
            raise NotConforming("leaving", got="exit code 0", wanted="another")

    def expect_exit(self, is_here: Callable[[], bool] | None = None) -> None:
        """Wait until the client exits by itself. Raises NotConforming if it stays or crashes.

        `is_here` tells whether a client whose end cannot be seen still runs; by default,
        whether the stream is up.
        """
        self.is_over = True
        is_here = is_here or self._has_stream
        deadline, within = self.deadline()
        gone_at: float | None = None
        while self.client.exit_code() is None:
            now = time.monotonic()
            gone_at = None if is_here() else gone_at or now
            if not self.client.is_watched and gone_at and now > gone_at + _AWAY_S:
                return
            if now > deadline:
                wanted = f"one that leaves within {within}"
                raise NotConforming("leaving", got="a client that stays", wanted=wanted)
            time.sleep(POLL_S)
        if (self.client.exit_code() or 0) < 0:  # a signal's number
            raise NotConforming("leaving", got=self.ending(), wanted="one that ends by itself")

    def has_left(self) -> bool:
        """Whether the client has exited, or its stream has ended."""
        return self.client.exit_code() is not None or not self._has_stream()

    def close(self) -> None:
        """End the client, whatever its state."""
        self.is_over = True
        if self._port is not None:
            self._port.close(_FAREWELL)
        self.client.close()
        self._closed.set()
        self._watch.join()

    def ending(self) -> str:
        """The client's exit code, and the end of its output."""
        code, printed = self.client.exit_code(), self.client.printed()
        last = f", having printed:\n{printed}" if printed else ""
        return (
            "a client that runs" if code is None else f"one that left with exit code {code}{last}"
        )

    def _watch_it_end(self) -> None:
        """End every wait for a client that has exited."""
        while not self._closed.wait(POLL_S):
            if self.client.exit_code() is not None and self._port is not None:
                self._port.give_up()
                return

    def _has_stream(self) -> bool:
        return self._port is not None and self._port.is_connected
