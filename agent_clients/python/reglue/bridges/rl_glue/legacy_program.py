"""A legacy program, which connects to the bridge as it would to RL-Glue's hub.

RL-Glue's protocol has no token. So the bridge listens on the loopback address by default, for one
program at a time, and closes the listening socket once that has connected.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import shlex
import socket
import subprocess
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from reglue.bridges.rl_glue.legacy_frames import DEFAULT_PORT, Code, Connection, code_name
from reglue.errors import (
    AgentFault,
    BadArgument,
    BadReply,
    EnvironmentFault,
    PeersWords,
    ProgramFault,
    UsageError,
    setting,
)

log = logging.getLogger("reglue")

_Content = TypeVar("_Content")
_Value = TypeVar("_Value")

HOST, PORT = "RLGLUE_HOST", "RLGLUE_PORT"
"""Environment variables of legacy programs: the hub's host and port."""

_STDERR = 2  # file descriptor; reglue commands print results alone to standard output

_HELLO_S = 10.0  # from a connection to its first frame
_LOOK_S = 0.2  # between two checks whether a program has ended before it connected
_LEAVE_S = 2.0  # from the TERMINATE frame, or a signal, to the end of a program


class Kind(Enum):
    """The kind of a program. Values: the code of its first frame."""

    AGENT = Code.AGENT_CONNECTION
    ENVIRONMENT = Code.ENVIRONMENT_CONNECTION
    EXPERIMENT = Code.EXPERIMENT_CONNECTION

    @property
    def words(self) -> str:
        """Its name in messages."""
        return f"the legacy {self.name.lower()}"

    def fault(self, what: str) -> PeersWords:
        """The error for a fault of such a program."""
        faults: dict[Kind, type[PeersWords]] = {
            Kind.AGENT: AgentFault,
            Kind.ENVIRONMENT: EnvironmentFault,
            Kind.EXPERIMENT: ProgramFault,
        }
        return faults[self](f"{self.words} {what}")


@dataclass(frozen=True)
class Place:
    """The address at which legacy programs of one kind connect, and the command that starts them.

    Args:
        cmd: The command, which gets RLGLUE_HOST and RLGLUE_PORT, and whose output goes to standard
            error; empty if programs are started elsewhere.
        host, port: By default $RLGLUE_HOST and $RLGLUE_PORT, else 127.0.0.1 and 4096. Port 0 is a
            free one, as is the port of a program that `cmd` starts.
        timeout_s: The longest wait for an answer.
        join_timeout_s: The longest wait for a connection.
        say: Called with a message that has the address, if the bridge waits for a program that it
            does not start.

    Raises BadArgument.
    """

    kind: Kind
    cmd: str = ""
    host: str = ""
    port: int | None = None
    timeout_s: float = 600.0
    join_timeout_s: float = 600.0
    say: Callable[[str], None] = field(default=log.info, repr=False)

    def __post_init__(self) -> None:
        for name in ("timeout_s", "join_timeout_s"):
            if not getattr(self, name) > 0:
                raise BadArgument(got=setting(name, getattr(self, name)), wanted="more than 0")
        self._words()
        self._address()

    def program(self) -> LegacyProgram:
        """Start one more program if there is a command, and wait until it connects.

        Raises UsageError if the command cannot be started or the address cannot be used; the kind's
        fault if no program has connected.
        """
        host, port = self._address()
        words = self._words()
        with _listener(host, 0 if words else port) as listener:
            at = listener.getsockname()[1]
            if not _is_loopback(host):
                log.warning(
                    "RL-Glue has no tokens: any host that can reach %s may connect as %s",
                    host,
                    self.kind.words,
                )
            process = _started(words, host, at) if words else None
            if process is None:
                self.say(f"waiting for {self.kind.words} at {host}:{at}")
            try:
                connection = self._connected(listener, process)
            except BaseException:
                _end(process, within_s=0.0)
                raise
        return LegacyProgram(self.kind, connection, process, self.timeout_s)

    def _connected(
        self, listener: socket.socket, process: subprocess.Popen[bytes] | None
    ) -> Connection:
        until = time.monotonic() + self.join_timeout_s
        listener.settimeout(_LOOK_S)
        while (left_s := until - time.monotonic()) > 0:
            try:
                end, _ = listener.accept()
            except TimeoutError:
                if process is not None and process.poll() is not None:
                    what = f"ended with {process.returncode} before it had connected"
                    raise self.kind.fault(what) from None
                continue
            if (connection := self._welcomed(end, min(left_s, _HELLO_S))) is not None:
                return connection
        raise self.kind.fault(f"did not connect within {self.join_timeout_s:g} s")

    def _welcomed(self, end: socket.socket, within_s: float) -> Connection | None:
        """The connection, if a program of this kind has opened it; others are closed."""
        connection = Connection(end)
        try:
            code, _ = connection.receive(0, within_s)
            if code == self.kind.value:
                return connection
            got = code_name(code)
        except (BadReply, EOFError, OSError) as error:
            got = str(error)
        log.warning("closed a connection that was not from %s: %s", self.kind.words, got)
        with suppress(OSError):
            connection.send(Code.TERMINATE, b"", within_s)
        connection.close()
        return None

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.cmd)
        except ValueError as error:
            raise BadArgument(f"{setting('cmd', repr(self.cmd))}: {error}") from error

    def _address(self) -> tuple[str, int]:
        """Raises BadArgument."""
        port = str(self.port) if self.port is not None else os.environ.get(PORT, str(DEFAULT_PORT))
        if not (port.isascii() and port.isdecimal() and int(port) < 2**16):
            raise BadArgument(got=f"port {port[:40]!r}", wanted="0 to 65535")
        return self.host or os.environ.get(HOST, "127.0.0.1"), int(port)


class LegacyProgram:
    """A program that has connected: the bridge calls it, or, as an experiment, it calls the bridge.

    Every failure closes the connection, since a later frame could answer another call, and is
    raised as the fault of the program's kind.
    """

    def __init__(
        self,
        kind: Kind,
        connection: Connection,
        process: subprocess.Popen[bytes] | None,
        timeout_s: float,
    ) -> None:
        self.is_lost = False
        self._kind = kind
        self._connection = connection
        self._timeout_s = timeout_s
        # Also when this process ends: a program that has lost its hub may wait for it forever.
        self._end = weakref.finalize(self, _dismiss, connection, process)

    def ask(self, code: Code, content: bytes = b"", *, most: int = 0) -> bytes:
        """Send a call and return the content of its answer, at most `most` bytes."""
        self.send(code, content)
        return self.receive(code, most=most)

    def send(self, code: int, content: bytes = b"") -> None:
        """Send a call, or the answer to an experiment's call."""
        try:
            self._connection.send(code, content, self._timeout_s)
        except OSError as error:
            raise self._lost(code_name(code), error) from error

    def receive(self, code: Code, *, most: int = 0) -> bytes:
        """Wait for the answer to a call that was sent; return its content."""
        try:
            got, content = self._connection.receive(most, self._timeout_s)
        except (BadReply, EOFError, OSError) as error:
            raise self._lost(code_name(code), error) from error
        if got != code:
            raise self.refused(code, got=code_name(got), wanted=code_name(code))
        return content

    def next_call(self, most: int, within_s: float) -> tuple[int, bytes] | None:
        """Wait for an experiment's next call, a code and content; None once it has left."""
        try:
            if not self._connection.wait(within_s):
                self.close()
                raise self._kind.fault(f"called no routine within {within_s:g} s")
            return self._connection.receive(most, self._timeout_s)
        except EOFError:
            return None
        except (BadReply, OSError) as error:
            raise self._lost("its next call", error) from error

    def read(self, decode: Callable[[_Content], _Value], content: _Content, code: int) -> _Value:
        """A frame's content, decoded. `decode` raises BadReply."""
        try:
            return decode(content)
        except BadReply as bad:
            raise self._lost(code_name(code), bad) from bad

    def refused(self, code: int, *, got: str, wanted: str) -> PeersWords:
        """The error for a frame of a wrong kind."""
        return self._lost(code_name(code), BadReply("WRONG_KIND", got=got, wanted=wanted))

    def close(self) -> None:
        """Send TERMINATE, close the connection, and end a process that the bridge started."""
        self.is_lost = True
        self._end()

    def _lost(self, where: str, error: Exception) -> PeersWords:
        self.close()
        match error:
            case TimeoutError():
                what = f"sent no whole frame within {self._timeout_s:g} s"
            case BadReply():
                what = str(error)
            case _:
                what = f"has left: {error}"
        return self._kind.fault(f"in {where}: {what}")


def _listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} of {host} is in use; a Reglue glue listens at {DEFAULT_PORT} by "
                f"default, too. Choose another port by {setting('port')}, and set {PORT} to it for "
                "the legacy program"
            ) from error
        raise UsageError(f"cannot listen at {host}:{port}: {error}") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _started(words: Sequence[str], host: str, port: int) -> subprocess.Popen[bytes]:
    hub = "127.0.0.1" if host == "0.0.0.0" else host
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,
            env={**os.environ, HOST: hub, PORT: str(port)},
        )
    except OSError as error:
        raise UsageError(f"{setting('cmd', words[0])} cannot be started: {error}") from error


def _dismiss(connection: Connection, process: subprocess.Popen[bytes] | None) -> None:
    with suppress(OSError):
        connection.send(Code.TERMINATE, b"", _LEAVE_S)
    connection.close()
    _end(process, within_s=_LEAVE_S)


def _end(process: subprocess.Popen[bytes] | None, *, within_s: float) -> None:
    """Wait until the process has ended; after `within_s` terminate it, then kill it."""
    if process is None:
        return
    for stop in (process.terminate, process.kill):
        with suppress(subprocess.TimeoutExpired):
            process.wait(within_s)
            return
        stop()
        within_s = _LEAVE_S
    process.wait()
