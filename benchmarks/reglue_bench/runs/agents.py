"""Brings a run's agent to the glue: an object here, a program we start, or one that dials in."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from pathlib import Path

from env_adapters.cache import cache_folder
from glue_server.peers.hosts import (
    AgentPeer,
    ListenOptions,
    ObjectPeer,
    PeerSource,
    Program,
    ServedAgent,
    join_command,
)
from glue_server.processes.program import agent_environment
from reglue.errors import UsageError
from reglue_bench.runs.ledger import FILE as LEDGER
from reglue_bench.settings import AGENT_WAIT, Settings

__all__ = ["AGENT_LOG", "AgentPeer", "ObjectPeer", "served_host"]

AGENT_LOG = "agent.log"


def served_host(
    settings: Settings,
    folder: Path,
    *,
    server: Callable[[], PeerSource],
    announce: Callable[[str], None],
    invited: bool,
    stop: threading.Event | None = None,
) -> ServedAgent:
    """An agent that dials in at `server`, as settings have it.

    `invited` says that people were told how to join. Its program is started if there is
    one. Raises UsageError.
    """
    door = ListenOptions(timeout_s=settings.connect_timeout, invited=invited)
    program = _program(settings, folder / AGENT_LOG)  # before there is a server to close
    return ServedAgent(door, program, announce, server=server(), stop=stop)


def _program(settings: Settings, log_file: Path) -> Program | None:
    """The program to start; none where one dials in by itself."""
    if settings.agent_cmd is not None:
        try:
            command = shlex.split(settings.agent_cmd)
        except ValueError as error:
            raise UsageError(f"--agent-cmd {settings.agent_cmd!r}: {error}") from error
        if not command:
            raise UsageError("--agent-cmd is empty; give a program that dials $REGLUE_ADDRESS")
        is_ours = False
    elif settings.agent == AGENT_WAIT:
        _check_no_sandbox(settings)
        return None
    elif settings.agent is None:
        raise UsageError("no agent: give --agent NAME, --agent-cmd PROGRAM, or --agent wait")
    else:
        command, is_ours = join_command(settings.agent, settings.agent_args), True
    return Program(
        command,
        log_file,
        settings.directory,
        agent_environment(settings.agent_env),
        sandbox=settings.chosen_sandbox,
        image=settings.sandbox_image,
        readable=[Path(settings.directory, path) for path in settings.sandbox_read],
        hidden=[*_own_folders(log_file.parent), *settings.hidden],
        is_ours=is_ours,
    )


def _check_no_sandbox(settings: Settings) -> None:
    """Raise UsageError where a sandbox was asked for; `auto` follows from a secret too."""
    sandbox = settings.sandbox
    if sandbox in (None, "none") or (sandbox == "auto" and settings.secret is not None):
        return
    raise UsageError(
        f"--agent wait: got --sandbox {sandbox}, wanted none: a sandbox holds a program that this "
        "command starts, and this agent is started elsewhere; its host must isolate it"
    )


def _own_folders(run: Path) -> list[Path]:
    """The benchmark's: runs beside this one tell its goals too."""
    beside = [file.parent for file in run.resolve().parent.glob(f"*/{LEDGER}")]
    return [*{run.resolve(), *beside}, *filter(None, [cache_folder()])]
