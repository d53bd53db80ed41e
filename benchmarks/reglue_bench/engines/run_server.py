"""The server to which a run's agent and environment connect."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

from glue_server import EnvironmentCalls
from glue_server.environment.returning import RemotePort, ReturningPort
from glue_server.peers.hosts import ListenOptions, PeerSource, ServedEnvironment, how_to_join
from glue_server.processes.interrupts import uninterrupted
from reglue.errors import EnvironmentFault, UsageError, setting
from reglue.messages.environment_messages import EnvironmentHello, EnvironmentReady
from reglue_bench.benchmark.declared import Declared
from reglue_bench.procedures import PROCEDURES
from reglue_bench.settings import AGENT_WAIT, LOCAL, Settings

if TYPE_CHECKING:  # grpc is loaded only where agents or environments connect
    from glue_server.rpc import GlueServer

ENVIRONMENTS = 2
"""Places of a run: for one that plays, and one that takes its place when it is lost."""

_MOST_LATE = 3  # answers of an environment, one after another; then it is lost


class RunServer:
    """The server of a run, opened when it is first needed; a context manager that closes it."""

    def __init__(
        self,
        settings: Settings,
        announce: Callable[[str], None],
        *,
        environment: bool,
        lobby: PeerSource | None = None,
        shared: GlueServer | None = None,
    ) -> None:
        """`environment` says whether the run's environment connects by itself.

        With a `lobby`, peers connect there, by its join string, and it is closed instead of
        a server of its own; it is the `shared` server's, which is lent. Raises UsageError if
        the environment is to be placed elsewhere as well.
        """
        self.invited = lobby is not None
        self._settings = settings
        self._announce = announce
        elsewhere = settings.environments != LOCAL
        if environment and elsewhere:
            where = settings.environments
            raise UsageError(
                f"got {setting('environments', where)}: the environment connects by itself"
            )
        self._roles = ["agent", *(["environment"] if environment or elsewhere else [])]
        self._server: PeerSource | None = lobby
        self._shared = shared
        self._host: ServedEnvironment | None = None
        self._environment: EnvironmentCalls | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with uninterrupted(then_raise=False):
            self.close()

    def source(self) -> PeerSource:
        """The server to which peers connect. Raises UsageError if it cannot listen."""
        if self._server is None:
            self._server = self._listen()
        return self._server

    def private_place(self) -> PeerSource:
        """A lobby, with its own token, for one of our environments on another machine."""
        server: GlueServer = self._shared or self.source()  # type: ignore[assignment] # ours
        return server.private_lobby("environment")

    def environment(self, slots: int, procedure: str) -> EnvironmentCalls:
        """The environment that connects, with `slots` slots; it is waited for once.

        A late answer to a call is a fault of every slot in the call, and
        play goes on; after three such calls one after another it is lost.

        Raises EnvironmentFault if it does not come or fails at once, and UsageError if it
        does not play so many slots.
        """
        if self._environment is None:
            environment = self._wait_for_environment()
            name, most = environment.hello.environment, environment.hello.max_slots
            if most and slots > most:
                raise UsageError(
                    f"the environment {name} plays at most {most} slots at once, got {slots}: "
                    f"give {setting(PROCEDURES[procedure].slots_setting, most)}"
                )
            environment.init(slots)
            self._environment = environment
        return self._environment

    def declared(self, slots: int, procedure: str) -> Declared:
        """The declaration of that environment. Raises as `environment`."""
        environment = self.environment(slots, procedure)
        return Declared.of(environment.hello, environment.ready)

    def renewed_environment(self, slots: int, procedure: str) -> EnvironmentCalls:
        """The environment, with new worlds. A lost one may come back.

        Raises as `environment`.
        """
        if self._environment is not None:
            try:
                self._environment.init(slots)
            except EnvironmentFault as fault:
                self._announce(f"the environment is lost: {fault}")
                self._dismiss()
        return self.environment(slots, procedure)

    def close(self) -> None:
        """Close the environment and stop listening."""
        try:
            self._dismiss()
        finally:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _dismiss(self) -> None:
        environment, host = self._environment, self._host
        self._environment = self._host = None
        if environment is not None:
            environment.close()
        if host is not None:
            host.close("the run is over, thank you")

    def _listen(self) -> GlueServer:
        # A program that we started does not reconnect after it died, so there is no waiting.
        reconnect_window_s = self._settings.reconnect_window
        return listen(
            self._settings,
            places={role: ENVIRONMENTS if role == "environment" else 1 for role in self._roles},
            reconnect_window_s={
                "environment": reconnect_window_s,
                "agent": reconnect_window_s if self._agent_waits else 0.0,
            },
        )

    @property
    def _agent_waits(self) -> bool:
        return self._settings.agent == AGENT_WAIT

    def _wait_for_environment(self) -> EnvironmentCalls:
        with uninterrupted():
            server = self.source()
            options = ListenOptions(timeout_s=self._settings.connect_timeout)
            self._host = ServedEnvironment(options, announce=self._say, server=server)
        port = self._connected(self._host.port())
        returning = ReturningPort(
            port, self._following, self._check_same, timeout_s=self._settings.environment_timeout
        )
        return EnvironmentCalls(
            returning, timeout_s=self._settings.environment_timeout, most_late=_MOST_LATE
        )

    def _connected(self, port: Any) -> RemotePort:
        self._announce(f"the environment {port.hello.environment} has connected")
        port.is_replaced = lambda: self.source().has_next("environment")
        return cast(RemotePort, port)

    def _following(self) -> RemotePort:
        """The environment that comes in place of the one that was lost. Raises EnvironmentFault."""
        assert self._host is not None, "one was here"
        window_s = self._settings.reconnect_window
        if not window_s:
            raise EnvironmentFault("no other is waited for (reconnect window 0)")
        self._announce(
            f"the environment is lost; waiting up to {window_s:g} s for it to come back: what was "
            "played is then played again first"
        )
        return self._connected(self._host.following(window_s, "reconnect window"))

    def _check_same(self, hello: EnvironmentHello, ready: EnvironmentReady) -> None:
        assert self._environment is not None, "it has played"
        first = self._environment
        if Declared.of(hello, ready) != Declared.of(first.hello, first.ready):
            raise EnvironmentFault(
                f"the environment {hello.environment} declares something else than the one before"
            )

    def _say(self, message: str) -> None:
        """Announce how the environment connects, and the agent: they may come in any order."""
        self._announce(message)
        if self._agent_waits and not self.invited:
            join_string = self.source().join_string("agent")
            self._announce(f"and an agent:\n  {how_to_join('agent', join_string)}")


def listen(
    settings: Settings, *, places: Mapping[str, int], reconnect_window_s: Mapping[str, float]
) -> GlueServer:
    """A server as the settings say. Raises UsageError if it cannot listen."""
    # A run whose agent and environments are in this process loads no gRPC.
    from glue_server.rpc import GlueServer
    from glue_server.rpc.tls.server_tls import server_tls

    # An agent's program may be another user's: it must show its token as well.
    is_another_user = settings.chosen_sandbox != "none" and os.getuid() == 0
    tokens = {"agent": settings.token, "environment": settings.environment_token}
    return GlueServer(
        settings.listen,
        token={role: token for role, token in tokens.items() if token},
        tls=server_tls(settings),
        advertise=settings.advertise or "",
        places=places,
        reconnect_window_s=reconnect_window_s,
        transport=settings.transport,
        open_unix_socket=settings.open_unix_socket or is_another_user,
    )
