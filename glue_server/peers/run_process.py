"""A run in a process of its own: a crash ends one run only.

`python -m glue_server.peers.run_process FD PARENT` reads what it is to do from the inherited
socket FD, says there where it listens, joins the next agent, environment and program, and
ends when their run is over, the other end of FD is closed, or the process PARENT ends.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glue_server.console import say
from glue_server.peers.hub import ROLES, Hub
from glue_server.processes.channel import inherited_channel
from glue_server.processes.frames import read_frame, write_frame
from glue_server.timeouts import Timeouts
from reglue.errors import UsageError
from reglue.net.join_string import Transport

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls


_CLOSE_S = 1.2  # how long a run may take to end its sessions

_BYTES = ("chain", "key", "authority")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run's process."""

    reconnect_window_s: float
    transport: Transport
    open_unix_socket: bool
    timeouts: Mapping[str, Any]
    secret: str | None
    tls: Mapping[str, str] | None  # the fields of a ServerTls, bytes in base64

    # Of one run, set when it begins.
    number: int = 0
    listen: str = ""
    token: str = ""  # the gateway's, which checked the peer's own


def told_tls(tls: ServerTls) -> dict[str, str]:
    """What RunSettings hold of it."""
    told = {name: base64.b64encode(getattr(tls, name)).decode() for name in _BYTES}
    return told | {"name": tls.name}


def main() -> None:
    """Play one run."""
    channel = inherited_channel()
    with contextlib.suppress(EOFError, OSError):
        told, _ = read_frame(channel)
        _serve(channel, RunSettings(**told))


def _serve(channel: socket.socket, settings: RunSettings) -> None:
    from glue_server.rpc import GlueServer

    try:
        server = GlueServer(
            settings.listen,
            token=dict.fromkeys(ROLES, settings.token),
            tls=_tls(settings.tls),
            places=dict.fromkeys(ROLES, 1),
            reconnect_window_s=settings.reconnect_window_s,
            transport=settings.transport,
            open_unix_socket=settings.open_unix_socket,
        )
    except UsageError as error:
        write_frame(channel, {"refused": str(error)})
        return
    with server:
        write_frame(channel, {"join_string": str(server.local_join_string("agent"))})
        hub = Hub(
            server,
            timeouts=Timeouts(**settings.timeouts),
            announce=lambda words: say(f"run {settings.number}: {words}"),
            secret=settings.secret,
        )
        threading.Thread(target=_watch, args=(channel, hub), daemon=True).start()
        hub.serve(runs=1)


def _tls(told: Mapping[str, str] | None) -> ServerTls | None:
    if told is None:
        return None
    from glue_server.rpc.tls import ServerTls

    chain, key, authority = (base64.b64decode(told[name]) for name in _BYTES)
    return ServerTls(chain, key, authority, told["name"])


def _watch(channel: socket.socket, hub: Hub) -> None:
    """Close the hub when the gateway is gone."""
    with contextlib.suppress(OSError):
        channel.recv(1)
    threading.Timer(_CLOSE_S, os._exit, (1,)).start()  # whatever a peer is doing
    hub.close()


if __name__ == "__main__":
    main()
