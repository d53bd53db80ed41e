"""The processes that an engine deals shards to, on this machine or elsewhere."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Protocol

from glue_server.processes.channel import ChannelProcess

SHARD_PROCESS = "reglue_bench.engines.shard_process"


class Player(Protocol):
    """A process that plays shards. Closing its channel ends it."""

    @property
    def channel(self) -> socket.socket:
        """Where it says what it played, and is told what to play."""

    def death(self, within_s: float) -> str:
        """How it died, in words, once nothing more comes from its channel."""

    def leave(self) -> None:
        """Close the channel, which ends the process."""

    def end(self, within_s: float) -> None:
        """Wait until it exits; kill it after that time."""


class Players(ABC):
    """Starts processes, so many at once."""

    elsewhere: bool
    """Whether they see other files than this process."""

    @property
    @abstractmethod
    def most(self) -> int:
        """How many may play at once, once it is open."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to begin them. Raises EnvironmentFault, UsageError."""

    @abstractmethod
    def begin(self, number: int) -> Player:
        """Start the process of that number, from 1 on: its first frame says where it is.

        Raises EnvironmentFault.
        """

    @abstractmethod
    def close(self, within_s: float) -> None:
        """End what `open` began; its processes have been told to leave."""


class LocalPlayers(Players):
    """Processes of this machine.

    Where they take all of its cores, each stays on one, with its agent and its workers. They are in
    each other's way less then, and none of them spins.
    """

    elsewhere = False

    def __init__(self, processes: int) -> None:
        self._processes = processes

    @property
    def most(self) -> int:
        """As many as were asked for."""
        return self._processes

    def open(self) -> None:
        """Nothing to do."""

    def begin(self, number: int) -> ChannelProcess:
        """Start a process."""
        process = ChannelProcess(SHARD_PROCESS)
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            if self._processes >= len(cores):
                with suppress(OSError):  # it has died, or may not be told
                    os.sched_setaffinity(process.pid, {cores[number % len(cores)]})
        return process

    def close(self, within_s: float) -> None:
        """Nothing to do."""
