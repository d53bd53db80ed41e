"""Who dials in to a run, and where: one server for its agent and its environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from glue_server import PortPool
from glue_server.commands.options import server_tls
from glue_server.environment.pool import faulty
from glue_server.environment.port import EnvironmentPort
from glue_server.peers.hosts import ListenOptions, PeerSource, ServedEnvironment, how_to_join
from glue_server.processes.interrupts import uninterrupted
from reglue.errors import EnvironmentTimeout, UsageError
from reglue.messages.environment import Played
from reglue_bench.plans.declared import Declared
from reglue_bench.procedures.procedure import MAX_TRIES
from reglue_bench.settings import AGENT_WAIT, Settings, flag

if TYPE_CHECKING:
    from glue_server.rpc import GlueServer


_SLOTS = {"multi-task": "slots", "meta-learning": "meta_batch_size"}
"""What sets the slots of a procedure; online has one."""


class Peers:
    """The server of a run, opened when it is first needed; a context manager that closes it."""

    def __init__(
        self,
        settings: Settings,
        announce: Callable[[str], None],
        *,
        environment: bool,
        room: PeerSource | None = None,
    ) -> None:
        """`environment` says whether the run's environment dials in.

        With a `room`, they come in there, as they were told, and it is closed in the place
        of a server.
        """
        self.invited = room is not None
        self._settings = settings
        self._announce = announce
        self._roles = ["agent", *(["environment"] if environment else [])]
        self._server: PeerSource | None = room
        self._environment: ServedEnvironment | None = None
        self._pool: RemotePool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with uninterrupted(then_raise=False):
            self.close()

    def server(self) -> PeerSource:
        """Where they dial in. Raises UsageError if it cannot be had."""
        if self._server is None:
            self._server = self._listen()
        return self._server

    def pool(self, slots: int, procedure: str) -> RemotePool:
        """The slots of the environment that dials in, which is waited for once.

        Raises EnvironmentFault if it does not come or fails at once, and UsageError if it
        does not play so many slots.
        """
        if self._pool is None:
            port = self._wait_for_environment()
            name, most = port.hello.environment, port.hello.max_slots
            if most and slots > most:
                raise UsageError(
                    f"the environment {name} plays at most {most} slots at once, got {slots}: "
                    f"give {flag(_SLOTS[procedure])} {most}"
                )
            self._pool = RemotePool(port, slots, timeout_s=self._settings.environment_timeout)
        return self._pool

    def close(self) -> None:
        """Let the environment go, and stop listening."""
        try:
            if self._pool is not None:
                self._pool.close()
            if self._environment is not None:
                self._environment.close("the run is over, thank you")
        finally:
            if self._server is not None:
                self._server.close()
            self._pool = self._environment = self._server = None

    def _listen(self) -> GlueServer:
        # A program that we started and that died is not waited for: it cannot come back.
        reconnect_window_s = self._settings.reconnect_window
        return listen(
            self._settings,
            places=dict.fromkeys(self._roles, 1),
            reconnect_window_s={
                "environment": reconnect_window_s,
                "agent": reconnect_window_s if self._agent_waits else 0.0,
            },
        )

    @property
    def _agent_waits(self) -> bool:
        return self._settings.agent == AGENT_WAIT

    def _wait_for_environment(self) -> EnvironmentPort:
        with uninterrupted():
            server = self.server()
            door = ListenOptions(timeout_s=self._settings.connect_timeout)
            self._environment = ServedEnvironment(door, announce=self._say, server=server)
        port = self._environment.port()
        self._announce(f"the environment {port.hello.environment} has come")
        return port

    def _say(self, words: str) -> None:
        """What the environment is told, and the agent as well: they may come in any order."""
        self._announce(words)
        if self._agent_waits:
            join_string = self.server().join_string("agent")
            self._announce(f"and an agent:\n  {how_to_join('agent', join_string)}")


def listen(
    settings: Settings, *, places: Mapping[str, int], reconnect_window_s: Mapping[str, float]
) -> GlueServer:
    """A server as settings have it. Raises UsageError if it cannot be had."""
    from glue_server.rpc import GlueServer

    advertise = settings.advertise or ""
    tokens = {"agent": settings.token, "environment": settings.environment_token}
    return GlueServer(
        settings.listen,
        token={role: token for role, token in tokens.items() if token},
        tls=server_tls(
            settings.listen,
            advertise,
            tls=settings.tls,
            cert=settings.tls_cert,
            key=settings.tls_key,
            ca=settings.ca,
            insecure=settings.insecure,
        ),
        advertise=advertise,
        places=places,
        reconnect_window_s=reconnect_window_s,
        transport=settings.transport,
        open_lane=settings.open_lane or _is_another_user(settings),
    )


def _is_another_user(settings: Settings) -> bool:
    """Whether an agent's program may be; it must show its token as well."""
    return settings.chosen_sandbox != "none" and os.getuid() == 0


class RemotePool(PortPool):
    """The slots of an environment that dialled in, and that may be late.

    A call that it does not answer in time is the fault of every slot that was asked, and
    play goes on; after MAX_TRIES such calls one after another it is given up, by
    EnvironmentTimeout.
    """

    def __init__(self, port: EnvironmentPort, slots: int, *, timeout_s: float) -> None:
        """Raises as PortPool."""
        super().__init__(port, slots, timeout_s=timeout_s)
        self.declared = Declared.of(port.hello, self.ready)
        self._late = 0  # calls in a row

    def receive(self) -> Played:
        """All answers."""
        play = self._under_way[0]
        try:
            played = super().receive()
        except EnvironmentTimeout as late:
            self._late += 1
            if self._late == MAX_TRIES:
                raise
            return faulty(self.spec, play, str(late))
        self._late = 0
        return played
