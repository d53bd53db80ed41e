"""Starts an agent's program, keeps what it prints, and ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from glue_server.processes.program_log import ProgramLog
from reglue.errors import UsageError

_KILL_S = 5.0  # how long the kernel may take to end what was killed


class ProgramProcess:
    """A program running in `folder` with that environment and no other.

    What it prints goes to `log_file`, through a pipe and up to a limit. Raises UsageError
    if it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        log_file: Path,
        folder: str,
    ) -> None:
        try:
            self._log = ProgramLog(log_file)
        except OSError as error:
            raise UsageError(f"the agent's log cannot be written: {error}") from error
        try:
            self._process = subprocess.Popen(
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=self._log.writer,
                stderr=self._log.writer,
                start_new_session=True,  # Ctrl-C is the driver's to hear
            )
        except OSError as error:
            self._log.close_writer()
            self._log.close()
            raise UsageError(f"the agent's program cannot be started: {error}") from error
        self._log.close_writer()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it left; None while it runs, negative if a signal ended it."""
        return self._process.poll()

    def ended(self) -> str | None:
        """How it ended, in words; None while it runs."""
        match self._process.poll():
            case None:
                return None
            case code if code < 0:
                return f"the agent's process was killed by {signal.Signals(-code).name}"
            case code:
                return f"the agent's process left with exit code {code}{_as_a_shell_has_it(code)}"

    def last_lines(self, count: int = 20) -> str:
        """The end of what it printed."""
        return self._log.last_lines(count)

    def end(self, *, within_s: float) -> None:
        """Let it leave by itself, then make it and its children leave.

        It is asked to after three quarters of the time, and killed after all of it.
        """
        waits_s = {None: 0.75 * within_s, signal.SIGTERM: 0.25 * within_s, signal.SIGKILL: _KILL_S}
        for stop, wait_s in waits_s.items():
            if stop is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, stop)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=wait_s)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # children that it left behind
        self._log.close()


def _as_a_shell_has_it(code: int) -> str:
    """` (SIGKILL)` for 128 + 9: sandboxes and shells tell so how their program ended."""
    if code - 128 not in set(signal.Signals):
        return ""
    return f" ({signal.Signals(code - 128).name})"
