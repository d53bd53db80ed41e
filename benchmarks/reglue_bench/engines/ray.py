"""Players on the nodes of a Ray cluster.

A process of its own holds Ray (`ray_process`): Ray ends the process that uses it when the cluster's
head is gone, and what holds gRPC must not fork.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from glue_server.processes.channel import ChannelProcess
from glue_server.processes.frames import read_frame, write_frame
from glue_server.processes.interrupts import check_stop, uninterrupted
from reglue.errors import EnvironmentFault, MissingExtra, UsageError, setting
from reglue_bench.engines.players import SHARD_PROCESS, Player, Players
from reglue_bench.formatting import plural

LOG = "ray.log"
"""What Ray prints, in the run's folder."""

_REACH_S = 60.0  # how long a cluster may take to answer


class RayPlayers(Players):
    """Actors, each with a core and a process that plays."""

    elsewhere = True

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        address: str,
        processes: int | None,
        *,
        folder: Path,
        timeout_s: float,
        say: Callable[[str], None],
        stop: threading.Event | None = None,
        module: str = SHARD_PROCESS,
        asked_by: str = "engine",
    ) -> None:
        """`address` is `ray`, that of this machine, or `ray://HOST:PORT`.

        `processes` None is one for each core; `module` is what they run. The setting
        `asked_by` asked for the cluster. A core that is free is waited for `timeout_s`, a cluster
        for a minute at most. Raises MissingExtra.
        """
        if find_spec("ray") is None:
            raise MissingExtra(setting(asked_by, "ray"), "ray", "the package ray")
        self._asked = {
            "address": "auto" if address == "ray" else address,
            "timeout_s": timeout_s,
            "log": str(folder / LOG),
            "module": module,
        }
        self._asked_by = asked_by
        self._reach_s = min(_REACH_S, timeout_s)
        self._processes = processes
        self._cores = 0
        self._say = say
        self._stop = stop
        self._ray: ChannelProcess | None = None

    @property
    def most(self) -> int:
        """As many as were asked for, or the cluster's cores."""
        return self._processes or self._cores

    def open(self) -> None:
        """Connect to the cluster. Raises UsageError."""
        with uninterrupted():  # or the process might be left behind
            self._ray = ChannelProcess("reglue_bench.engines.ray_process")
        answer = self._answer(self._ray.channel)
        if "wrong" in answer:
            raise UsageError(answer["wrong"])
        self._cores = answer["cores"]
        nodes = plural(answer["nodes"], "node")
        self._say(f"the Ray cluster has {nodes} with {plural(self._cores, 'core')}")

    def begin(self, number: int, *, cores: int = 1) -> Player:
        """Ask for an actor, which holds a core, or shares one: `cores` 0.

        Raises EnvironmentFault if the cluster is gone.
        """
        assert self._ray is not None, "open() comes first"
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._ray.channel, [str(cores).encode()], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise EnvironmentFault(
                    "the connection to the Ray cluster is lost: its head, or this machine's node, "
                    "is gone; what was recorded is kept, and the run can be resumed"
                ) from error
        return _Actor(ours)

    def close(self, within_s: float) -> None:
        """Disconnect, which ends the actors."""
        if self._ray is not None:
            self._ray.leave()
            self._ray.end(within_s)

    def _answer(self, channel: socket.socket) -> dict[str, Any]:
        """What Ray's process says of the cluster. Raises UsageError where none is reached."""
        address = self._asked["address"]
        if address == "auto":
            address = os.environ.get("RAY_ADDRESS")
        where = f"at {address}" if address else "of this machine"
        self._say(f"connecting to the Ray cluster {where}, for at most {self._reach_s:g} s")
        began = time.monotonic()
        answer = self._first_words(channel, began + self._reach_s)
        if "unreached" in answer:
            raise UsageError(
                f"got no Ray cluster {where} after {time.monotonic() - began:.0f} s: "
                f"{answer['unreached']}; start one with `ray start --head`, whose port for ray:// "
                f"is 10001, or name another: {setting(self._asked_by, 'ray://HOST:PORT')}"
            )
        return answer

    def _first_words(self, channel: socket.socket, deadline: float) -> dict[str, Any]:
        """What Ray's process says until then, in monotonic seconds."""
        try:
            write_frame(channel, self._asked)
            channel.settimeout(0.2)
            while time.monotonic() < deadline:
                check_stop(self._stop)
                with suppress(TimeoutError):
                    return read_frame(channel)[0]
        except (EOFError, OSError):
            return {"unreached": f"Ray ended the process that asked it, see {LOG}"}
        return {"unreached": "no answer"}


class _Actor:
    """A process on a node: Ray's process passes on what it says."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel

    def death(self, within_s: float) -> str:
        """What ends without a word of Ray's process ends with that."""
        return "the connection to the Ray cluster is lost"

    def leave(self) -> None:
        """Close the channel, which ends the process."""
        with suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        self.channel.close()

    def end(self, within_s: float) -> None:
        """Nothing to wait for: Ray's process sees to it."""
