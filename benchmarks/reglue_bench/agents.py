"""Brings a run's agent to the glue: an object here, a program we start, or one that dials in."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from glue_server import AgentPort, LocalPort
from glue_server.launch import AgentProcess
from glue_server.rpc import GlueServer
from reglue.errors import AgentDisconnected, AgentFault, UsageError
from reglue.loading import agent_name
from reglue.metaworld_agent import wrap
from reglue_bench.settings import AGENT_WAIT, Settings

AGENT_LOG = "agent.log"
_WRONG_USAGE = 2  # how `reglue join` leaves when the agent cannot be made
_POLL_S = 0.2  # how often a program that has not joined is looked at


class AgentHost(Protocol):
    """Where a run's agent comes from; a run closes it at its end."""

    def port(self) -> AgentPort:
        """The agent, ready for init. Raises AgentFault if it does not come."""

    def explain(self, fault: AgentFault) -> str:
        """A fault in words, with what the agent itself had to say."""

    def close(self, reason: str) -> None:
        """Tell the agent why it is over, let it go, and release what it took."""


class ObjectHost:
    """An agent object in this process."""

    def __init__(self, agent: object) -> None:
        """Raises NotAnAgent if it lacks a method."""
        self._port = LocalPort(wrap(agent), agent_name(agent))

    def port(self) -> AgentPort:
        """At once."""
        return self._port

    def explain(self, fault: AgentFault) -> str:
        """Its own words; the log has the traceback."""
        return str(fault)

    def close(self, reason: str) -> None:
        """Nothing is held."""


class ServedHost:
    """An agent that dials in: a program that is started here, or anybody with the token."""

    def __init__(
        self, settings: Settings, folder: Path, announce: Callable[[str], None] | None = None
    ) -> None:
        """Listen, and start the program if there is one. Raises UsageError."""
        self._timeout_s = settings.connect_timeout
        self._is_ours = settings.agent_cmd is None  # `reglue join`
        self._process: AgentProcess | None = None
        self._port: AgentPort | None = None
        self._server = GlueServer(settings.listen)
        try:
            command = _command(settings)
            if command:
                self._process = AgentProcess(
                    command,
                    environment={
                        "REGLUE_ADDRESS": self._server.address,
                        "REGLUE_TOKEN": self._server.token,
                    },
                    log_file=folder / AGENT_LOG,
                    folder=settings.directory,
                )
            elif announce:
                announce(
                    f"waiting up to {self._timeout_s:g} s for an agent; in another terminal:\n"
                    f"  reglue join my_agent.py:MyAgent --address {self._server.address} "
                    f"--token {self._server.token}"
                )
        except BaseException:
            self._server.close()
            raise

    def port(self) -> AgentPort:
        """Wait for the agent. Raises AgentDisconnected if it leaves first or never comes."""
        deadline = time.monotonic() + self._timeout_s
        while self._port is None:
            self._port = self._server.agent(_POLL_S)
            if self._port is None and self._process and (how := self._process.ended()):
                if self._is_ours and self._process.exit_code == _WRONG_USAGE:
                    raise UsageError(self._process.last_lines().replace("reglue join: ", ""))
                raise AgentDisconnected(f"{how} before it joined")
            if self._port is None and time.monotonic() > deadline:
                raise AgentDisconnected(
                    f"no agent joined within {self._timeout_s:g} s (--connect-timeout)"
                )
        return self._port

    def explain(self, fault: AgentFault) -> str:
        """The fault, how the program ended, and the last lines that it printed."""
        if self._process is None:
            return str(fault)
        if self._process.ended() is None and isinstance(fault, AgentDisconnected):
            self._process.end(patience_s=2.0)  # its connection is gone, it is on its way out
        words = [str(fault)]
        how = self._process.ended()
        if how and how not in str(fault):
            words.append(how)
        if printed := self._process.last_lines():
            words.append(f"the last lines of {AGENT_LOG}:\n{printed}")
        return "; ".join(words)

    def close(self, reason: str) -> None:
        """Say farewell, stop listening, and end the program."""
        if self._port is not None:
            self._port.close(reason)
        self._server.close()
        if self._process is not None:
            self._process.end(patience_s=2.0)


def _command(settings: Settings) -> list[str]:
    """The program to start; none where one dials in by itself."""
    if settings.agent_cmd is not None:
        try:
            command = shlex.split(settings.agent_cmd)
        except ValueError as error:
            raise UsageError(f"--agent-cmd {settings.agent_cmd!r}: {error}") from error
        if not command:
            raise UsageError("--agent-cmd is empty; give a program that dials $REGLUE_ADDRESS")
        return command
    if settings.agent is None:
        raise UsageError("no agent: give --agent NAME, --agent-cmd PROGRAM, or --agent wait")
    if settings.agent == AGENT_WAIT:
        return []
    command = [sys.executable, "-m", "reglue", "join", settings.agent]
    for key, value in settings.agent_args.items():
        command += ["--agent-arg", f"{key}={value}"]
    return command
