"""Players on the nodes of a Ray cluster.

A process of its own holds Ray (`ray_process`): Ray ends the process that uses it when the cluster's
head is gone, and what holds gRPC must not fork.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, TypeVar

from glue_server.processes.child import Channel, Child
from glue_server.processes.interrupts import uninterrupted
from glue_server.processes.message_codec import Codec
from glue_server.processes.readable import readable
from reglue.errors import EnvironmentFault, MissingExtra, UsageError, setting
from reglue_bench.engines.process_players import Player, Players
from reglue_bench.engines.shard import Wrong
from reglue_bench.formatting import plural
from reglue_bench.run_folder import RAY_LOG

M = TypeVar("M")

_REACH_S = 60.0  # how long a cluster may take to answer


@dataclass(frozen=True, slots=True)
class Connect:
    """The cluster to which Ray's process connects."""

    address: str
    module: str  # what the processes of its actors run
    timeout_s: float  # how long a core that is free is waited for
    log: str  # the file for what Ray prints


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ray's process is connected."""

    cores: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Unreached:
    """Ray's process is not connected."""

    why: str


_FromRay: TypeAlias = Cluster | Unreached | Wrong


class RayPlayers(Players[M]):
    """Actors, each with a core and a process that plays."""

    elsewhere = True

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        address: str,
        processes: int | None,
        module: str,
        codec: Codec[M],
        *,
        folder: Path,
        timeout_s: float,
        say: Callable[[str], None],
        setting_name: str = "engine",
    ) -> None:
        """`address` is `ray`, that of this machine, or `ray://HOST:PORT`.

        `processes` None is one for each core; `module` is what they run, and `codec` decodes what
        they send. The setting `setting_name` asked for the cluster. A core that is free is waited
        for `timeout_s`, a cluster for a minute at most. Raises MissingExtra.
        """
        if find_spec("ray") is None:
            raise MissingExtra(setting(setting_name, "ray"), "ray", "the package ray")
        self._connect = Connect(
            "auto" if address == "ray" else address, module, timeout_s, str(folder / RAY_LOG)
        )
        self._codec = codec
        self._setting_name = setting_name
        self._reach_s = min(_REACH_S, timeout_s)
        self._processes = processes
        self._cores = 0
        self._say = say
        self._ray: Child[_FromRay] | None = None

    @property
    def most(self) -> int:
        """The requested number of processes, or the cluster's cores."""
        return self._processes or self._cores

    def open(self) -> None:
        """Connect to the cluster. Raises UsageError."""
        with uninterrupted():  # or the process might be left behind
            self._ray = Child("reglue_bench.engines.ray.ray_process", Codec[_FromRay](_FromRay))
        cluster = self._reached(self._ray)
        self._cores = cluster.cores
        nodes = plural(cluster.nodes, "node")
        self._say(f"the Ray cluster has {nodes} with {plural(self._cores, 'core')}")

    def begin(self, number: int, *, cores: int = 1) -> Player[M]:
        """Ask for an actor, which holds a core, or shares one: `cores` 0.

        Raises EnvironmentFault if the cluster is gone.
        """
        assert self._ray is not None, "open() comes first"
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._ray.socket, [str(cores).encode()], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise EnvironmentFault(
                    "the connection to the Ray cluster is lost: its head, or this machine's node, "
                    "is gone; what was recorded is kept"
                ) from error
        return _Actor(ours, self._codec)

    def close(self, within_s: float) -> None:
        """Disconnect, which ends the actors."""
        if self._ray is not None:
            self._ray.leave()
            self._ray.end(within_s)

    def _reached(self, ray: Child[_FromRay]) -> Cluster:
        """The cluster, once Ray's process has reached it. Raises UsageError."""
        address: str | None = self._connect.address
        if address == "auto":
            address = os.environ.get("RAY_ADDRESS")
        where = f"at {address}" if address else "of this machine"
        self._say(f"connecting to the Ray cluster {where}, for at most {self._reach_s:g} s")
        began = time.monotonic()
        match self._answer(ray, began + self._reach_s):
            case Cluster() as cluster:
                return cluster
            case Wrong(why):
                raise UsageError(why)
            case Unreached(why):
                raise UsageError(
                    f"got no Ray cluster {where} after {time.monotonic() - began:.0f} s: {why}; "
                    "start one with `ray start --head`, whose port for ray:// is 10001, or name "
                    f"another: {setting(self._setting_name, 'ray://HOST:PORT')}"
                )

    def _answer(self, ray: Child[_FromRay], deadline: float) -> _FromRay:
        """The answer of Ray's process by the deadline, in monotonic seconds."""
        try:
            ray.send(self._connect)
            if readable([ray], deadline - time.monotonic()):
                return ray.receive()
        except (EOFError, OSError):
            return Unreached(f"Ray ended the process that asked it, see {RAY_LOG}")
        return Unreached("no answer")


class _Actor(Channel[M]):
    """A process on a node: Ray's process passes on what it sends."""

    def death(self, within_s: float) -> str:
        """Something that ends without a message from Ray's process ends with that process."""
        return "the connection to the Ray cluster is lost"

    def end(self, within_s: float) -> None:
        """Do nothing: Ray's process ends it."""
