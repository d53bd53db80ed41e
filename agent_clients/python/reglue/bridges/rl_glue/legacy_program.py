"""A legacy program at the bridge, which plays the hub's part: it listens where the program dials.

RL-Glue's protocol has no token, so the bridge listens on this host alone unless it is told
otherwise, for one program at a time, and no longer than until that has connected.
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

_Value = TypeVar("_Value")

HOST, PORT = "RLGLUE_HOST", "RLGLUE_PORT"
"""Environment variables: where a legacy program dials."""

_HELLO_S = 10.0  # how long one that has connected may take to say what it is
_LOOK_S = 0.2  # how often a program that has not connected is looked at
_LEAVE_S = 2.0  # how long a program may take to end once it is told to


class Kind(Enum):
    """What a program is, by the code with which it connects."""

    AGENT = Code.AGENT_CONNECTION
    ENVIRONMENT = Code.ENVIRONMENT_CONNECTION
    EXPERIMENT = Code.EXPERIMENT_CONNECTION

    @property
    def words(self) -> str:
        """As messages have it."""
        return f"the legacy {self.name.lower()}"

    def fault(self, what: str) -> PeersWords:
        """Its error."""
        faults: dict[Kind, type[PeersWords]] = {
            Kind.AGENT: AgentFault,
            Kind.ENVIRONMENT: EnvironmentFault,
            Kind.EXPERIMENT: ProgramFault,
        }
        return faults[self](f"{self.words} {what}")


@dataclass(frozen=True)
class Place:
    """Where legacy programs of one kind connect, and how they are started.

    Args:
        cmd: Starts one, with RLGLUE_HOST and RLGLUE_PORT set; empty if somebody else does.
        host, port: By default $RLGLUE_HOST and $RLGLUE_PORT, else 127.0.0.1 and 4096; a program
            that `cmd` starts gets a free port.
        timeout_s: How long a program may take for an answer.
        join_timeout_s: How long one may take to connect.

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
        """Wait for one more program, which is started if there is a command.

        Raises UsageError: it cannot be started, or nobody can listen; the kind's fault: none came.
        """
        host, port = self._address()
        words = self._words()
        with _listener(host, 0 if words else port) as listener:
            at = listener.getsockname()[1]
            if not _is_loopback(host):
                log.warning("%s is open to whoever reaches it: RL-Glue has no tokens", host)
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
        """The connection, if a program of this kind is there; others are sent away."""
        connection = Connection(end)
        try:
            code, _ = connection.receive(0, within_s)
            if code == self.kind.value:
                return connection
            got = code_name(code)
        except (BadReply, EOFError, OSError) as error:
            got = str(error)
        log.warning("somebody else than %s connected, and was sent away: %s", self.kind.words, got)
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
    """One that has connected: asked by the bridge, or, as an experiment, asking.

    Whatever goes wrong closes the connection, and is raised as the fault of the program's kind: a
    frame that comes later could answer another call.
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
        # Also at the process's end: a program whose hub is gone may try to read for ever.
        self._end = weakref.finalize(self, _dismiss, connection, process)

    def ask(self, code: Code, content: bytes = b"", *, most: int = 0) -> bytes:
        """The answer to a call: at most `most` bytes."""
        self.send(code, content)
        return self.receive(code, most=most)

    def send(self, code: int, content: bytes = b"") -> None:
        """Send a call, or an experiment's answer."""
        try:
            self._connection.send(code, content, self._timeout_s)
        except OSError as error:
            raise self._lost(code_name(code), error) from error

    def receive(self, code: Code, *, most: int = 0) -> bytes:
        """Wait for the answer to a call that was sent."""
        try:
            got, content = self._connection.receive(most, self._timeout_s)
        except (BadReply, EOFError, OSError) as error:
            raise self._lost(code_name(code), error) from error
        if got != code:
            raise self.refused(code, got=code_name(got), wanted=code_name(code))
        return content

    def next_call(self, most: int, within_s: float) -> tuple[int, bytes] | None:
        """What an experiment asks next, within that time; None once it has left."""
        try:
            if not self._connection.wait(within_s):
                self.close()
                raise self._kind.fault(f"asked nothing within {within_s:g} s")
            return self._connection.receive(most, self._timeout_s)
        except EOFError:
            return None
        except (BadReply, OSError) as error:
            raise self._lost("its next call", error) from error

    def read(self, decode: Callable[[bytes], _Value], content: bytes, code: int) -> _Value:
        """What `decode`, which raises BadReply, makes of a frame's content."""
        try:
            return decode(content)
        except BadReply as bad:
            raise self._lost(code_name(code), bad) from bad

    def refused(self, code: int, *, got: str, wanted: str) -> PeersWords:
        """The error for a frame of a wrong kind."""
        return self._lost(code_name(code), BadReply("WRONG_KIND", got=got, wanted=wanted))

    def close(self) -> None:
        """Tell it to end, and end it if the bridge has started it."""
        self.is_lost = True
        self._end()

    def _lost(self, where: str, error: Exception) -> PeersWords:
        self.close()
        match error:
            case TimeoutError():
                what = f"said nothing, or half of it, within {self._timeout_s:g} s"
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
                f"port {port} of {host} is taken; a Reglue glue listens at {DEFAULT_PORT} by "
                f"default, too. Choose another by {setting('port')}, and set {PORT} to it for the "
                "legacy program"
            ) from error
        raise UsageError(f"nobody can listen at {host}:{port}: {error}") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _started(words: Sequence[str], host: str, port: int) -> subprocess.Popen[bytes]:
    dialled = "127.0.0.1" if host == "0.0.0.0" else host
    try:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, env={**os.environ, HOST: dialled, PORT: str(port)}
        )
    except OSError as error:
        raise UsageError(f"{setting('cmd', words[0])} cannot be started: {error}") from error


def _dismiss(connection: Connection, process: subprocess.Popen[bytes] | None) -> None:
    with suppress(OSError):
        connection.send(Code.TERMINATE, b"", _LEAVE_S)
    connection.close()
    _end(process, within_s=_LEAVE_S)


def _end(process: subprocess.Popen[bytes] | None, *, within_s: float) -> None:
    """Wait until it has ended; end it after that time."""
    if process is None:
        return
    for stop in (process.terminate, process.kill):
        with suppress(subprocess.TimeoutExpired):
            process.wait(within_s)
            return
        stop()
        within_s = _LEAVE_S
    process.wait()
