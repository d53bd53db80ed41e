"""The processes that an engine deals shards to, on this machine or elsewhere."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from typing import Protocol

from glue_server.processes.channel import ChannelProcess

SHARD_PROCESS = "reglue_bench.engines.shard_process"


class Player(Protocol):
    """A process that plays shards. Closing its channel ends it."""

    @property
    def channel(self) -> socket.socket:
        """Where it says what it played, and is told what to play."""

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
    def begin(self) -> Player:
        """Start a process: its first frame says where it is. Raises EnvironmentFault."""

    @abstractmethod
    def close(self, within_s: float) -> None:
        """End what `open` began; its processes have been told to leave."""


class LocalPlayers(Players):
    """Processes of this machine."""

    elsewhere = False

    def __init__(self, processes: int) -> None:
        self._processes = processes

    @property
    def most(self) -> int:
        """As many as were asked for."""
        return self._processes

    def open(self) -> None:
        """Nothing to do."""

    def begin(self) -> Player:
        """Start a process."""
        return ChannelProcess(SHARD_PROCESS)

    def close(self, within_s: float) -> None:
        """Nothing to do."""
