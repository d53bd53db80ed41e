"""Starts an agent's program, keeps what it prints, and ends it."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glue_server.processes.children import exit_words
from glue_server.processes.readable import readable
from reglue.error_message import printable
from reglue.errors import UsageError, setting

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
        self._sent: set[int] = set()  # signals by which it was ended here
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
            raise UsageError(
                f"the agent's program cannot be started: {command[0]}: {error.strerror}"
            ) from error
        self._log.close_writer()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs, negative if a signal ended it."""
        return self._process.poll()

    @property
    def own_exit_code(self) -> int | None:
        """With which it left by itself; None if a signal ended it, or it runs."""
        code = self._process.poll()
        return None if code is None or code < 0 or self._sent else code

    def ended(self) -> str | None:
        """Its end, in words; None while it runs."""
        match self._process.poll():
            case None:
                return None
            case code if -code in self._sent:
                return "Reglue ended the agent's process, which had not left by itself"
            case code if code < 0:
                return f"the agent's process was {exit_words(code)}"
            case code:
                return f"the agent's process left with {exit_words(code)}"

    def last_lines(self, count: int = 20) -> str:
        """The end of what it printed."""
        return self._log.last_lines(count)

    def end(self, *, within_s: float) -> None:
        """Wait until it exits, then end it and its children.

        It gets SIGTERM after three quarters of the time, and SIGKILL after all of it.
        """
        waits_s = {None: 0.75 * within_s, signal.SIGTERM: 0.25 * within_s, signal.SIGKILL: _KILL_S}
        for stop, wait_s in waits_s.items():
            if stop is not None:
                self._sent.add(stop)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, stop)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=wait_s)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # children that it left behind
        self._log.close()


_NAMES = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR LD_LIBRARY_PATH LD_PRELOAD "
    "DYLD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX PYOPENGL_PLATFORM NODE_PATH SSL_CERT_FILE "
    "SSL_CERT_DIR REGLUE_LIBRARY REGLUE_UNIX_SOCKET_DIR".split()
)
_BEGINNINGS = tuple(
    "LC_ XDG_ PYTHON CUDA NVIDIA_ NCCL_ HIP_ ROCR_ HSA_ OMP_ KMP_ GOMP_ MKL_ OPENBLAS_ NUMEXPR_ "
    "VECLIB_ BLIS_ MALLOC_ MUJOCO_ EGL_ MESA_ LIBGL_ GALLIUM_ TORCH_ PYTORCH_ TF_ XLA_ JAX_ "
    "JULIA_ GRPC_".split()
)
_SECRET = ("TOKEN", "SECRET", "PASS", "CREDENTIAL", "KEY", "AUTH", "TF_VAR", "TF_CLI")
"""Parts of names that are not passed. TF_ is TensorFlow's, and Terraform's, which holds secrets."""


def agent_environment(passed: Iterable[str] = ()) -> dict[str, str]:
    """The environment variables for an agent's program: how the machine is set up, and `passed`.

    Never the host's secrets: a list names what programs need. Raises UsageError
    for a name in `passed` that is not set, or is the benchmark's own.
    """
    given = {name: value for name, value in os.environ.items() if _is_needed(name)}
    for name in passed:
        if name.startswith("REGLUE_"):
            raise UsageError(
                f"{setting('agent_env', name)}: Reglue sets that one itself, wanted another"
            )
        if name not in os.environ:
            raise UsageError(f"{setting('agent_env', name)}: that variable is not set")
        given[name] = os.environ[name]
    return given


def _is_needed(name: str) -> bool:
    if name in _NAMES:
        return True
    return name.startswith(_BEGINNINGS) and not any(word in name for word in _SECRET)


LIMIT_BYTES = 64 * 2**20
"""The most bytes of a log; further output is dropped."""

_PIPE_BYTES = 2**20  # at most in a pipe, so that one read empties it (pipe-max-size)
_TAIL_BYTES = 8000  # kept at hand, to be told


class ProgramLog:
    """Copies into `file` what comes through `writer`, which is handed to a program.

    A program has no descriptor of the file, as that would lead it to the run's folder.
    """

    def __init__(self, file: Path) -> None:
        """Raises OSError if the file cannot be written to."""
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._left = LIMIT_BYTES - os.fstat(self._file).st_size
        self._tail = b""
        self._reading = threading.Lock()  # around the pipe's read, and what follows from it
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._stop, self._rope = os.pipe()
        self._thread = threading.Thread(target=self._copy, name="reglue-agent-log", daemon=True)
        self._thread.start()

    def last_lines(self, count: int = 20) -> str:
        """The end of what was printed so far, as it may be printed again."""
        self._drain()
        lines = self._tail.decode(errors="replace").rstrip().splitlines()
        return printable("\n".join(lines[-count:]))

    def close_writer(self) -> None:
        """The program has its own by now."""
        os.close(self.writer)

    def close(self) -> None:
        """Copy what is there, and wait for no more: its children may have the pipe still."""
        if self._reader < 0:
            return
        # The thread first: a descriptor that is closed under it may by then be another file's.
        os.close(self._rope)
        self._thread.join()
        self._drain()
        with self._reading:
            for descriptor in (self._reader, self._stop, self._file):
                os.close(descriptor)
            self._reader = -1

    def _copy(self) -> None:
        while self._stop not in readable((self._reader, self._stop), math.inf):
            if not self._drain():
                return

    def _drain(self) -> bool:
        """Copy what the pipe holds now; whether there may be more."""
        with self._reading:
            if self._reader < 0:
                return False
            try:
                printed = os.read(self._reader, _PIPE_BYTES)
            except BlockingIOError:
                return True
            self._tail = (self._tail + printed)[-_TAIL_BYTES:]
            self._keep(printed)
            return bool(printed)

    def _keep(self, printed: bytes) -> None:
        if self._left <= 0 or not printed:
            return
        kept = printed[: self._left]
        self._left -= len(printed)
        if self._left <= 0:
            kept += b"\nreglue: this log is full (%d MiB); what follows is not kept\n" % (
                LIMIT_BYTES // 2**20
            )
        try:
            os.write(self._file, kept)
        except OSError:  # a full disk: the program is not to blame
            self._left = 0
