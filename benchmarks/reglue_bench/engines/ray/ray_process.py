"""The process that holds Ray, for all players on a cluster.

`python -m reglue_bench.engines.ray.ray_process FD PARENT` reads from the inherited socket FD which
cluster to connect to, then takes a socket for each player, and passes on messages between it and
an actor. It ends when FD is closed.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

from glue_server.processes.child import Channel, exit_after, inherited_channel
from glue_server.processes.message_codec import Codec, encoded
from reglue_bench.engines.ray.ray_actor import ShardActor
from reglue_bench.engines.ray.ray_players import Cluster, Connect, Unreached
from reglue_bench.engines.shard import Died, Say, Unplaced, Wrong

_GONE_S = "10"  # how long Ray tries to reach a head that is gone
_SOON_S = 10.0  # after which it says that it waits for a free core
_LEAVE_S = 3.0  # how long a player may take to leave
_CHUNK = 2**20  # bytes that are passed on at once


def main() -> NoReturn:
    """Pass on messages until the parent closes the channel."""
    channel = inherited_channel(Codec[Connect](Connect))
    exit_after(lambda: _serve(channel))


def _serve(channel: Channel[Connect]) -> None:
    with suppress(EOFError, OSError):
        _connect(channel, channel.receive())


def _connect(channel: Channel[Connect], request: Connect) -> None:
    _print_to(request.log)
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", _GONE_S)
    os.environ.setdefault("RAY_CLIENT_RECONNECT_GRACE_PERIOD", _GONE_S)
    import ray

    try:
        ray.init(address=request.address, log_to_driver=False)
        nodes = sum(node["Alive"] for node in ray.nodes())
        cores = int(ray.cluster_resources().get("CPU", 0))
    except Exception as error:  # noqa: BLE001 - the edge: Ray raises whatever it finds
        channel.send(Unreached(_summary(error)))
        return
    if not cores:
        channel.send(Wrong("got a Ray cluster without cores, wanted one with some"))
        return
    channel.send(Cluster(cores, nodes))
    relays = []
    while (received := socket.recv_fds(channel.socket, 1, 1))[0]:
        relay = _Relay(ray, socket.socket(fileno=received[1][0]), request, cores=int(received[0]))
        relays.append(threading.Thread(target=relay.run, name="reglue-relay", daemon=True))
        relays[-1].start()
    deadline = time.monotonic() + _LEAVE_S
    for thread in relays:
        thread.join(max(0.0, deadline - time.monotonic()))
    ray.shutdown()


class _Relay:
    """Passes on messages between a player's socket and its actor."""

    def __init__(self, ray: Any, ours: socket.socket, request: Connect, *, cores: int) -> None:
        self._ray = ray
        self._ours = ours
        self._timeout_s = request.timeout_s
        self._module = request.module
        self._cores = cores
        self._actor: Any = None
        self._down = threading.Thread(target=self._pass_down, daemon=True)

    def run(self) -> None:
        """Make the actor, and relay messages until it ends."""
        try:
            make = self._ray.remote(num_cpus=self._cores, max_concurrency=3)(ShardActor)
            self._actor = make.options(scheduling_strategy="SPREAD").remote(
                self._module, os.environ.get("OMP_NUM_THREADS")
            )
            if self._has_core():
                self._down.start()
                while messages := self._ray.get(self._actor.receive.remote()):
                    self._ours.sendall(messages)
                self._send(Died(self._ray.get(self._actor.death.remote(_LEAVE_S))))
        except OSError as error:
            self._send(Died(f"the connection to the Ray cluster is lost: {error}"))
        except Exception as error:  # noqa: BLE001 - the edge: whatever happened to the actor
            self._send(Died(_death(error)))
        finally:
            with suppress(OSError):
                self._ours.shutdown(socket.SHUT_RDWR)  # also where it is read
            if self._down.is_alive():  # Ray kills the process with its actor: it leaves first
                self._down.join(2 * _LEAVE_S)
            self._ours.close()
            with suppress(Exception):
                self._ray.kill(self._actor)

    def _has_core(self) -> bool:
        """Whether the actor was placed on a node in time."""
        there = [self._actor.is_there.remote()]
        if not self._ray.wait(there, timeout=min(_SOON_S, self._timeout_s))[0]:
            waits = f"waits for a free core of the Ray cluster, for at most {self._timeout_s:g} s"
            self._send(Say(waits))
            if not self._ray.wait(there, timeout=max(0.0, self._timeout_s - _SOON_S))[0]:
                message = f"no core of the Ray cluster was free for {self._timeout_s:g} s"
                self._send(Unplaced(message))
                return False
        self._ray.get(there)
        return True

    def _pass_down(self) -> None:
        with suppress(Exception):  # the other direction says what happened
            while data := self._ours.recv(_CHUNK):
                self._ray.get(self._actor.send.remote(data))
            self._ray.get(self._actor.leave.remote(_LEAVE_S), timeout=2 * _LEAVE_S)

    def _send(self, message: Died | Say | Unplaced) -> None:
        with suppress(OSError):
            self._ours.sendall(encoded(message))


def _print_to(log: str) -> None:
    """Ray's own words, and those of its libraries, go to a file."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(descriptor, stream.fileno())


def _death(error: Exception) -> str:
    """A text that says how an actor was lost: Ray's reason, without its ids."""
    match type(error).__name__:
        case "ActorUnavailableError":
            return "its node is lost, or Ray cannot reach it any more"
        case "OutOfMemoryError":
            return "killed by Ray for want of memory on its node"
    _, separator, why = str(error).partition("The actor is dead because ")
    return why.partition(". ")[0] if separator else _summary(error)


def _summary(error: Exception) -> str:
    """The error's first sentence, or a traceback's last: Ray's errors fill pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no words"]
    return f"{type(error).__name__}: {lines[-1 if 'Traceback' in str(error) else 0].rstrip('.')}"


if __name__ == "__main__":
    main()
