"""A run in a process of its own: a crash ends one run only.

`python -m glue_server.peers.run_process FD PARENT` reads what it is to do from the inherited
socket FD, says there where it listens, joins the next agent, environment and program, and
ends when their run is over, the other end of FD is closed, or the process PARENT ends.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from typing import TypeAlias

from glue_server.console import say
from glue_server.peers.hub import ROLES, Hub
from glue_server.processes.child import Parent, ParentGone, inherited_channel
from glue_server.processes.message_codec import Codec
from glue_server.rpc import GlueServer
from glue_server.rpc.tls.server_certificate import ServerTls
from glue_server.timeouts import Timeouts
from reglue.errors import UsageError
from reglue.net.join_string import Transport

_CLOSE_S = 1.2  # how long a run may take to end its sessions


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run's process: the first message to it."""

    reconnect_window_s: float
    transport: Transport
    open_unix_socket: bool
    timeouts: Timeouts
    secret: str | None = field(repr=False)
    tls: ServerTls | None

    # Of one run, set when it begins.
    number: int = 0
    listen: str = ""
    token: str = field(default="", repr=False)  # the gateway's, which checked the peer's own


@dataclass(frozen=True, slots=True)
class Listening:
    """A run's process listens there."""

    join_string: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CannotListen:
    """A run's process cannot listen, and ends."""

    why: str


@dataclass(frozen=True, slots=True)
class Here:
    """The roles whose peers wait in a run; all roles, once it has begun."""

    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SendAway:
    """Let the waiting peer of a role join again: it is needed in another run."""

    role: str


FromRun: TypeAlias = Listening | CannotListen | Here
"""A message of a run's process."""

FROM_RUN: Codec[FromRun] = Codec(FromRun)

ToRun: TypeAlias = RunSettings | SendAway
"""A message to a run's process; its settings come first, and once."""


def main() -> None:
    """Play one run."""
    parent = Parent(inherited_channel(Codec[ToRun](ToRun)), leave_s=_CLOSE_S)
    with contextlib.suppress(ParentGone):
        settings = parent.receive()
        assert isinstance(settings, RunSettings), "they come first"
        _serve(parent, settings)


def _serve(parent: Parent[ToRun], settings: RunSettings) -> None:
    try:
        server = GlueServer(
            settings.listen,
            token=dict.fromkeys(ROLES, settings.token),
            tls=settings.tls,
            places=dict.fromkeys(ROLES, 1),
            reconnect_window_s=settings.reconnect_window_s,
            transport=settings.transport,
            open_unix_socket=settings.open_unix_socket,
        )
    except UsageError as error:
        parent.send(CannotListen(str(error)))
        return
    with server:
        parent.send(Listening(str(server.local_join_string("agent"))))
        hub = Hub(
            server,
            timeouts=settings.timeouts,
            announce=lambda words: say(f"run {settings.number}: {words}"),
            secret=settings.secret,
            tell=lambda here: parent.send(Here(tuple(here))),
        )
        threading.Thread(target=_obey, args=(parent, hub), daemon=True).start()
        hub.serve(runs=1)


def _obey(parent: Parent[ToRun], hub: Hub) -> None:
    """Send peers away as told, and close the hub when the gateway is gone."""
    with contextlib.suppress(ParentGone):
        while isinstance(told := parent.receive(), SendAway):
            hub.send_away(told.role)
    hub.close()


if __name__ == "__main__":
    main()
