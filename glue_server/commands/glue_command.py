"""`reglue glue`: the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from glue_server.commands.command import Command
from glue_server.commands.flags import takes
from glue_server.console import say
from glue_server.host_settings import HOSTING, HostSettings, TimeSettings, flag, read, token_flag
from glue_server.routines.secret import check_secret
from reglue.errors import UsageError, setting
from reglue.tools.loading_modules import loading

if TYPE_CHECKING:
    from glue_server.rpc.server import Listener

_PLACES = 128  # peers of each role; the glue refuses more
_RUNS = "Runs"


class HubSettings(TimeSettings, HostSettings):
    """Settings of `reglue glue`."""

    listen: Annotated[
        str, flag("address that peers connect to; port 0 takes any", metavar="HOST:PORT")
    ] = "127.0.0.1:4096"
    runs: Annotated[
        Annotated[int, Field(ge=0)], flag("exit after so many runs; 0 serves until Ctrl-C")
    ] = 0
    agent_token: Annotated[
        str | None, token_flag("--agent-token", "agent", "REGLUE_AGENT_TOKEN")
    ] = None
    experiment_token: Annotated[
        str | None, token_flag("--experiment-token", "experiment", "REGLUE_EXPERIMENT_TOKEN")
    ] = None
    secret: Annotated[
        str | None,
        flag(
            "derive the seeds of episodes and agents from this (default: from the program's seed, "
            "which an agent may guess); better in $REGLUE_SECRET",
            HOSTING,
            envvar="REGLUE_SECRET",
        ),
    ] = None
    reflection: Annotated[
        bool,
        flag(
            "show services and messages to tools such as grpcurl, to anybody who reaches the "
            "port (needs the extra `reflection`)",
            None,
            "--reflection",
        ),
    ] = False
    run_ports: Annotated[
        str | None,
        flag(
            "run each run in its own process, at one of these ports, to which peers are "
            "redirected; a crash then ends one run only",
            _RUNS,
            metavar="FIRST-LAST",
        ),
    ] = None
    run_processes: Annotated[
        bool,
        flag(
            "run each run in its own process, all through this one port", _RUNS, "--run-processes"
        ),
    ] = False

    @property
    def tokens(self) -> dict[str, str]:
        """The tokens from the flags, by role."""
        tokens = {
            "agent": self.agent_token,
            "environment": self.environment_token,
            "experiment": self.experiment_token,
        }
        return {role: token for role, token in tokens.items() if token}


@takes(HubSettings, ["listen", "runs", "reflection", *HubSettings.model_fields])
def glue(*, flags: dict[str, Any]) -> None:
    """Serve agents, environments and benchmark programs.

    Peers connect in any order and from any language. An agent, an environment and a program
    make a run; several runs go on side by side. The program calls RL-Glue's routines
    (`reglue.Experiment` in Python).

    reglue glue --listen 127.0.0.1:4096 &

    reglue join my_agent.py:MyAgent --address 'reglue://127.0.0.1:4096?token=…'

    Exit codes: 0 all runs are over; 1 the glue failed; 2 wrong usage; 130 interrupted.
    """
    settings = read(HubSettings, **flags)
    check_secret(settings.secret)
    if settings.run_ports is not None or settings.run_processes:
        _serve_in_processes(settings)
    else:
        _serve(settings)


def _serve(settings: HubSettings) -> None:
    """Play all runs in this process."""
    with loading():
        from glue_server.peers.hub import ROLES, Hub
        from glue_server.processes.interrupts import uninterrupted
        from glue_server.rpc import GlueServer
        from glue_server.rpc.tls.server_tls import server_tls

    server = GlueServer(
        settings.listen,
        token=settings.tokens,
        tls=server_tls(settings),
        advertise=settings.advertise or "",
        places=dict.fromkeys(ROLES, _PLACES),
        reconnect_window_s=settings.reconnect_window,
        transport=settings.transport,
        open_unix_socket=settings.open_unix_socket,
        reflection=settings.reflection,
    )
    hub = Hub(server, timeouts=settings.timeouts, announce=say, secret=settings.secret)
    try:
        say_how_to_join(server)
        hub.serve(runs=settings.runs)
    finally:
        with uninterrupted(then_raise=False), server:
            hub.close()


def _serve_in_processes(settings: HubSettings) -> None:
    """Play each run in a process of its own, until Ctrl-C."""
    with loading():
        from glue_server.peers.run_process import RunSettings
        from glue_server.peers.run_processes import RunProcesses, host_of, read_ports
        from glue_server.processes.interrupts import uninterrupted, wait_for_interrupt
        from glue_server.rpc.gateways.run_gateway import GatewayServer
        from glue_server.rpc.tls.server_tls import server_tls

    if settings.reflection or settings.runs:
        name = "reflection" if settings.reflection else "runs"
        raise UsageError(
            f"{setting(name)} is for a hub of one process: omit {setting('run_ports')} and "
            f"{setting('run_processes')}"
        )
    tls = server_tls(settings)
    ports = None if settings.run_ports is None else read_ports(settings.run_ports)
    of_runs = RunSettings(
        reconnect_window_s=settings.reconnect_window,
        transport=settings.transport,
        open_unix_socket=settings.open_unix_socket,
        timeouts=settings.timeouts,
        secret=settings.secret,
        tls=tls if ports else None,  # else peers come through us
    )
    begin = RunProcesses(
        of_runs,
        host=host_of(settings.listen),
        public_host=host_of(settings.advertise or settings.listen),
        ports=ports,
    )
    gateway = GatewayServer(
        settings.listen,
        tokens=settings.tokens,
        tls=tls,
        advertise=settings.advertise or "",
        begin=begin,
        most=begin.most,
    )
    try:
        say_how_to_join(gateway)
        wait_for_interrupt()
    finally:
        with uninterrupted(then_raise=False):
            gateway.close()


def say_how_to_join(server: Listener) -> None:
    """Print the join strings."""
    from glue_server.peers.hub import ROLES

    say(f"listening at {server.address}; give each peer the join string of its role")
    for role in ROLES:
        say(f"  {role:<11}  '{server.join_string(role)}'")


main = Command(glue)
