"""The processes that an engine deals shards to, on this machine or elsewhere."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from glue_server.processes.child import Child
from reglue_bench.engines.shard import FROM_SHARD, FromShard

SHARD_PROCESS = "reglue_bench.engines.shard_process"

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)


class Player(Protocol[M_co]):
    """A process, here or elsewhere, and the channel to it; see Channel and Child."""

    def fileno(self) -> int:
        """The channel's descriptor."""

    def send(self, message: object) -> None:
        """Send one message. Raises OSError if the process is gone."""

    def receive(self, within_s: float | None = None) -> M_co:
        """Wait for one message. Raises EOFError or OSError if the process is gone."""

    def has_message(self) -> bool:
        """Whether a message has begun to come, or the process is gone."""

    def death(self, within_s: float) -> str:
        """A text that says how the process died; call it once its channel is empty."""

    def leave(self) -> None:
        """Close the channel, which ends the process."""

    def end(self, within_s: float) -> None:
        """Wait until it exits; kill it after that time."""


class Players(ABC, Generic[M]):
    """Starts processes, a limited number at once, that send messages M."""

    elsewhere: bool
    """Whether they see other files than this process."""

    @property
    @abstractmethod
    def most(self) -> int:
        """The number of players that can run at once, once this is open."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to begin them. Raises EnvironmentFault, UsageError."""

    @abstractmethod
    def begin(self, number: int) -> Player[M]:
        """Start the process of that number, from 1 on: its first message is a Machine.

        Raises EnvironmentFault.
        """

    @abstractmethod
    def close(self, within_s: float) -> None:
        """End what `open` began; its processes are leaving."""


class LocalPlayers(Players[FromShard]):
    """Processes of this machine.

    If they use all of its cores, each process stays on one, with its agent and workers. They are in
    each other's way less then, and none of them spins.
    """

    elsewhere = False

    def __init__(self, processes: int) -> None:
        self._processes = processes

    @property
    def most(self) -> int:
        """The requested number of processes."""
        return self._processes

    def open(self) -> None:
        """Do nothing."""

    def begin(self, number: int) -> Child[FromShard]:
        process = Child(SHARD_PROCESS, FROM_SHARD)
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            if self._processes >= len(cores):
                with suppress(OSError):  # it has died, or its cores must not be set
                    os.sched_setaffinity(process.pid, {cores[number % len(cores)]})
        return process

    def close(self, within_s: float) -> None:
        """Do nothing."""
