"""Brings peers to the glue: an object here, a program that it starts, or one that connects.

grpc is loaded when the first peer is to connect.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from glue_server.agent.agent_port import AgentPort, LocalPort
from glue_server.environment.environment_port import EnvironmentPort
from glue_server.processes.interrupts import hurried, next_look_s
from glue_server.processes.program import ProgramProcess, agent_environment
from glue_server.processes.sandboxes.launch import USUAL, Launch, Limits, Told, Used
from glue_server.processes.sandboxes.sandbox import SandboxName, choose_sandbox
from reglue.agents.adaptation import agent_of
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    ContainerEngineFailed,
    EnvironmentFault,
    ReglueError,
    UsageError,
)
from reglue.net.join_string import JoinString, Transport
from reglue.tools.loading import agent_name
from reglue.tools.parser import SAYS

_WRONG_USAGE = 2  # how `reglue join` leaves when the agent cannot be made
_LEAVE_S = 2.0  # how long a program may take to leave, whose connection is gone
_POLL_S = 0.2  # how often a program that has not joined is looked at


class AgentPeer(Protocol):
    """The source of a run's agent; a run closes it at its end."""

    @property
    def renews(self) -> bool:
        """True if the agent's program can be started again, with nothing learned."""

    @property
    def isolation(self) -> str:
        """The agent's isolation from the benchmark: a Sandbox's, `in process` or `remote`."""

    def port(self) -> AgentPort:
        """The agent, ready for init. Raises AgentFault if it does not join."""

    def explain(self, fault: AgentFault) -> str:
        """Describe a fault, with the last lines that the agent printed."""

    def close(self, reason: str) -> None:
        """Tell the agent why the session ends, and release what it took."""


class PeerSource(Protocol):
    """A server at which peers connect, or one run's share of it."""

    def join_string(self, role: str) -> JoinString:
        """The join string for peers of that role."""

    def local_join_string(self, role: str) -> JoinString:
        """The join string for programs on this machine."""

    @property
    def sockets(self) -> Path | None:
        """The folder of the Unix sockets for programs on this machine."""

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer of `role` that joined; None if none did in time."""

    def has_next(self, role: str) -> bool:
        """Whether one has joined that `next` has not returned."""

    def release(self, port: object) -> None:
        """Give the place of a peer that left to another."""

    def close(self) -> None:
        """Accept no more peers."""


class ObjectPeer:
    """An agent object in this process."""

    renews = False
    isolation = "in process"

    def __init__(self, agent: object) -> None:
        """Raises NotAnAgent if it lacks a method."""
        self._port = LocalPort(agent_of(agent), agent_name(agent))

    def port(self) -> AgentPort:
        return self._port

    def explain(self, fault: AgentFault) -> str:
        """The fault's message; the log has the traceback."""
        return str(fault)

    def close(self, reason: str) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The address at which a peer connects, and the wait for it."""

    listen: str = "127.0.0.1:0"
    token: str | None = None  # the peer's secret; None makes one
    timeout_s: float = 60.0  # how long it may take to join
    set_by: str = "connect timeout"  # a text that names the setting
    transport: Transport = "auto"
    invited: bool = False  # people already know how to join


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is started here and connects by REGLUE_ADDRESS and REGLUE_TOKEN."""

    command: Sequence[str]  # empty: what a container's image names
    log_file: Path  # where its stdout and stderr go
    folder: str  # its working directory; empty: the image's
    environment: Mapping[str, str] = field(default_factory=agent_environment)
    sandbox: SandboxName = "none"
    image: str | None = None  # of a container
    readable: Sequence[Path] = ()  # more files that it may read in a sandbox
    hidden: Sequence[Path] = ()  # files that a sandbox hides
    limits: Limits = USUAL  # in a sandbox
    is_ours: bool = False  # `reglue join`: its wrong usage is the caller's
    is_private: bool = False  # what it prints stays in its log


def join_command(name: str, arguments: Mapping[str, str]) -> list[str]:
    """The command `reglue join` for the agent `name`, with `arguments` of the command line."""
    command = [sys.executable, "-P", "-m", "reglue", "join", name]
    for key, value in arguments.items():
        command += ["--agent-arg", f"{key}={value}"]
    return command


def as_arguments(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as JSON, for `reglue join`. Raises UsageError."""
    try:
        return {key: json.dumps(value, allow_nan=False) for key, value in values.items()}
    except (TypeError, ValueError) as error:
        raise UsageError(f"an argument of a program must be JSON: {error}") from error


def how_to_join(role: str, join_string: JoinString) -> str:
    """The command by which a peer joins, for people to type."""
    where = f"--address {join_string.address}"
    if join_string.token:
        where += f" --token {shlex.quote(join_string.token)}"
    if join_string.authority:
        where = f"--address '{join_string}'"
    return f"reglue join my_{role}.py:My{role.title()} {where}"


_Port = TypeVar("_Port")


class _Served(Generic[_Port]):
    """A peer of one role that connects: a program started here, or any with the token."""

    role: str
    lost: type[ReglueError]  # raised if the peer never joins

    def __init__(
        self,
        options: ListenOptions,
        program: Program | None = None,
        announce: Callable[[str], None] | None = None,
        *,
        server: PeerSource | None = None,
    ) -> None:
        """Listen, and start the program if there is one. Raises UsageError.

        With a `server`, peers come in there; it stays open when this closes.
        """
        from glue_server.rpc import GlueServer  # loads gRPC

        self._timeout_s, self._set_by = options.timeout_s, options.set_by
        self._program = program
        self._process: ProgramProcess | None = None
        self._port: Any = None
        self._closes = server is None
        self._server: PeerSource = server or GlueServer(
            options.listen, token=options.token, places={self.role: 1}, transport=options.transport
        )
        self.isolation = "remote"
        self._enclosing = ExitStack()
        self._told: Told = lambda _: ""
        self._used: Callable[[], Used | None] = lambda: None
        try:
            if program is not None:
                self._process = self._started(program, announce or _say_nothing)
            elif announce and not self._has_come():
                words = f"waiting up to {self._timeout_s:g} s for an {self.role}"
                if not options.invited:
                    join_string = self._server.join_string(self.role)
                    in_it = (
                        "; in another terminal"
                        if join_string.token
                        else ", its token in REGLUE_TOKEN"
                    )
                    words += f"{in_it}:\n  {how_to_join(self.role, join_string)}"
                announce(words)
        except BaseException:
            self._enclosing.close()
            if self._closes:
                self._server.close()
            raise

    @property
    def renews(self) -> bool:
        """True for a program that is started here."""
        return self._process is not None

    def port(self) -> _Port:
        """Wait for the peer. Raises `lost` if it leaves first or never comes.

        Raises ContainerEngineFailed instead, also later in play, if the engine of its container has
        failed.
        """
        deadline = time.monotonic() + self._timeout_s
        while self._port is None:
            if self._has_come(next_look_s(_POLL_S)):
                break
            if self._process and (how := self._process.ended()):
                if self._is_wrong_usage(self._process):
                    words = self._process.last_lines().replace(SAYS, "")
                    raise UsageError(words + self._hint())
                self._end_of_sandbox()
                raise self.lost(f"{how} before it joined")
            if time.monotonic() > deadline:
                self._end_of_sandbox()
                raise self.lost(
                    f"no {self.role} joined within {self._timeout_s:g} s ({self._set_by})"
                )
        port: Any = self._port
        if self._process is not None:
            port.check_blame = self._end_of_sandbox
        return cast("_Port", port)

    def close(self, reason: str) -> None:
        """Say farewell, stop listening, and end the program."""
        # A program that has heard the farewell leaves by itself, before it is ended. Its sandbox's
        # folders go after it. The place on a shared server is freed last: until the program is
        # gone, it may still join and take it.
        if self._port is not None:
            self._port.close(reason)
        if self._closes:
            self._server.close()
        if self._process is not None:
            self._process.end(within_s=hurried(_LEAVE_S))
        self._enclosing.close()
        if not self._closes:
            self._free_place(reason)

    def _started(self, program: Program, say: Callable[[str], None]) -> ProgramProcess:
        launch = Launch(
            program.command,
            {**program.environment, **_where(self._server.local_join_string(self.role))},
            program.folder,
            hidden=program.hidden,
            readable=program.readable,
            sockets=self._server.sockets,
            limits=program.limits,
        )
        sandbox = choose_sandbox(program.sandbox, launch, say, image=program.image)
        self.isolation = sandbox.isolation
        enclosed = self._enclosing.enter_context(sandbox.enclosed(launch))
        self._told, self._used = enclosed.told, enclosed.used
        return ProgramProcess(
            enclosed.command,
            environment=enclosed.environment,
            log_file=program.log_file,
            folder=enclosed.folder,
        )

    def _end_of_sandbox(self) -> str:
        """The sandbox's explanation of the end of its program, which is lost or does not come;
        empty if none was started. Raises ContainerEngineFailed.
        """
        if self._process is None:
            return ""
        self._process.end(within_s=_LEAVE_S)
        return self._told(self._process.own_exit_code)

    def _has_come(self, timeout_s: float = 0.0) -> bool:
        """Look for the peer; one that left again gives its place to another."""
        self._port = self._server.next(self.role, timeout_s)
        if self._port is not None and self._process is None and self._port.is_gone:
            self._server.release(self._port)
            self._port = None
        return self._port is not None

    def _free_place(self, reason: str) -> None:
        """Release this role's place on a shared server, even if the peer was never used."""
        port = self._port
        while port is not None or (port := self._server.next(self.role, 0.0)) is not None:
            port.close(reason)
            self._server.release(port)
            port = None

    def _hint(self) -> str:
        """A hint for a program that a sandbox may have made fail."""
        if self.isolation == "none":
            return ""
        return (
            f" (in a sandbox, {self.isolation}: it can read the system, its folder and the "
            "files in its command, and write to its home; sandbox none lifts that, for code "
            "you trust)"
        )

    def _is_wrong_usage(self, process: ProgramProcess) -> bool:
        is_ours = self._program is not None and self._program.is_ours
        return is_ours and process.exit_code == _WRONG_USAGE


class ServedAgent(_Served[AgentPort]):
    """An agent that connects."""

    role = "agent"
    lost = AgentDisconnected

    @property
    def used(self) -> Used | None:
        """Its program's use of the machine; None if nobody measures that."""
        return self._used()

    def explain(self, fault: AgentFault) -> str:
        """The fault, how the program ended, and the last lines that it printed."""
        if self._process is None or self._program is None:
            return str(fault)
        if self._process.ended() is None and isinstance(fault, AgentDisconnected):
            self._process.end(within_s=_LEAVE_S)  # its connection is gone, so it exits soon
        words = str(fault)
        how = self._process.ended()
        if how and how not in words:
            words += f"; {how}"
        with suppress(ContainerEngineFailed):  # since then
            if told := self._told(self._process.own_exit_code):
                words += f"; {told}"
        if self._program.is_private:
            return words
        # On lines of their own: the first line alone says what happened.
        words += self._hint()
        if printed := self._process.last_lines():
            words += f"\nthe last lines of {self._program.log_file.name}:\n{printed}"
        return words


class ServedEnvironment(_Served[EnvironmentPort]):
    """An environment that connects."""

    role = "environment"
    lost = EnvironmentFault

    def following(self, timeout_s: float, set_by: str) -> EnvironmentPort:
        """Wait for another in place of the one that was lost; `set_by` names the setting.

        Raises EnvironmentFault if none comes in time.
        """
        self._port.close("this environment was lost, and another takes its place")
        self._server.release(self._port)
        self._port, self._timeout_s, self._set_by = None, timeout_s, set_by
        return self.port()


def _say_nothing(words: str) -> None:
    """Print nothing."""


def _where(join_string: JoinString) -> dict[str, str]:
    """The environment variables that tell a program how to join."""
    where = str(join_string) if join_string.authority else join_string.address
    return {"REGLUE_ADDRESS": where, "REGLUE_TOKEN": join_string.token}
