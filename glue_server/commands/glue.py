"""`reglue glue`: the hub."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from glue_server.commands.command import Command
from glue_server.commands.options import (
    RECONNECT_WINDOW_S,
    Advertise,
    AgentToken,
    Ca,
    EnvironmentToken,
    ExperimentToken,
    Insecure,
    OpenUnixSocket,
    ReconnectWindow,
    Secret,
    Tls,
    TlsCert,
    TlsKey,
    TransportOption,
    option,
    server_tls,
)
from glue_server.console import say
from glue_server.peers.hub import ROLES, Hub
from glue_server.peers.run_process import RunSettings
from glue_server.peers.run_processes import RunProcesses, host_of, read_ports
from glue_server.processes.interrupts import uninterrupted, wait_for_interrupt
from glue_server.routines.seeds import check_secret
from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.run_gateway import GatewayServer
from glue_server.rpc.server import Listener
from glue_server.timeouts import Timeouts
from reglue.errors import UsageError

_PLACES = 128  # peers of each role; the glue refuses more
_HOW = "Runs"


def glue(
    listen: Annotated[
        str, Option(metavar="HOST:PORT", help="address that peers connect to; port 0 takes any")
    ] = "127.0.0.1:4096",
    runs: Annotated[
        int, Option(min=0, help="exit after so many runs (default: serve until Ctrl-C)")
    ] = 0,
    agent_token: AgentToken = None,
    environment_token: EnvironmentToken = None,
    experiment_token: ExperimentToken = None,
    advertise: Advertise = None,
    tls: Tls = None,
    insecure: Insecure = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    ca: Ca = None,
    reconnect_window: ReconnectWindow = None,
    transport: TransportOption = None,
    open_unix_socket: OpenUnixSocket = None,
    secret: Secret = None,
    reflection: Annotated[
        bool,
        Option(
            "--reflection",
            help="show services and messages to tools such as grpcurl, to anybody who reaches the "
            "port (needs the extra `reflection`)",
        ),
    ] = False,
    run_ports: Annotated[
        str | None,
        option(
            "run each run in its own process, at one of these ports, to which peers are "
            "redirected; a crash then ends one run only",
            panel=_HOW,
            metavar="FIRST-LAST",
        ),
    ] = None,
    run_processes: Annotated[
        bool,
        option(
            "run each run in its own process, all through this one port",
            "--run-processes",
            panel=_HOW,
        ),
    ] = False,
    step_timeout: Annotated[
        float,
        option("seconds for each turn of an agent after the first", panel=_HOW, min=0.001),
    ] = 60.0,
    first_step_timeout: Annotated[
        float,
        option("seconds for an agent's init and first turn", panel=_HOW, min=0.001),
    ] = 300.0,
    bank: Annotated[
        float,
        option(
            "seconds that slow turns may use beyond --step-timeout, in each run",
            panel=_HOW,
            min=0.0,
        ),
    ] = 0.0,
    run_budget: Annotated[
        float | None,
        option(
            "seconds that an agent's turns may take in a run, in all (default: no limit)",
            panel=_HOW,
            min=0.001,
        ),
    ] = None,
    environment_timeout: Annotated[
        float,
        option("seconds for each call of an environment", panel=_HOW, min=0.001),
    ] = 300.0,
) -> None:
    """Serve agents, environments and benchmark programs.

    Peers connect in any order and from any language. An agent, an environment and a program
    make a run; several runs go on side by side. The program calls RL-Glue's routines
    (`reglue.Experiment` in Python).

    reglue glue --listen 127.0.0.1:4096 &

    reglue join my_agent.py:MyAgent --address 'reglue://127.0.0.1:4096?token=…'

    Exit codes: 0 all runs are over; 1 the glue failed; 2 wrong usage; 130 interrupted.
    """
    timeouts = Timeouts(
        first_step_s=first_step_timeout,
        step_s=step_timeout,
        environment_s=environment_timeout,
        bank_s=bank,
        run_s=run_budget,
    )
    check_secret(secret)
    secure = server_tls(
        listen,
        advertise or "",
        tls=bool(tls),
        cert=tls_cert,
        key=tls_key,
        ca=ca,
        insecure=bool(insecure),
    )
    values = (agent_token, environment_token, experiment_token)
    tokens = {role: token for role, token in zip(ROLES, values, strict=True) if token}
    reconnect_window_s = RECONNECT_WINDOW_S if reconnect_window is None else reconnect_window
    if run_ports is not None or run_processes:
        if reflection:
            raise UsageError(
                "--reflection shows a hub of one process: omit --run-ports and --run-processes"
            )
        if runs:
            raise UsageError(
                "--runs counts runs of this process: omit --run-ports and --run-processes"
            )
        ports = None if run_ports is None else read_ports(run_ports)
        settings = RunSettings(
            reconnect_window_s=reconnect_window_s,
            transport=transport or "auto",
            open_unix_socket=bool(open_unix_socket),
            timeouts=timeouts,
            secret=secret,
            tls=secure if ports else None,  # else peers come through us
        )
        begin = RunProcesses(
            settings, host=host_of(listen), public_host=host_of(advertise or listen), ports=ports
        )
        gateway = GatewayServer(
            listen,
            tokens=tokens,
            tls=secure,
            advertise=advertise or "",
            begin=begin,
            most=begin.most,
        )
        try:
            say_how_to_join(gateway)
            wait_for_interrupt()
        finally:
            with uninterrupted(then_raise=False):
                gateway.close()
    server = GlueServer(
        listen,
        token=tokens,
        tls=secure,
        advertise=advertise or "",
        places=dict.fromkeys(ROLES, _PLACES),
        reconnect_window_s=reconnect_window_s,
        transport=transport or "auto",
        open_unix_socket=bool(open_unix_socket),
        reflection=reflection,
    )
    hub = Hub(server, timeouts=timeouts, announce=say, secret=secret)
    try:
        say_how_to_join(server)
        hub.serve(runs=runs)
    finally:
        with uninterrupted(then_raise=False), server:
            hub.close()


def say_how_to_join(server: Listener) -> None:
    """Print the join strings."""
    say(f"listening at {server.address}; give each peer the join string of its role")
    for role in ROLES:
        say(f"  {role:<11}  '{server.join_string(role)}'")


main = Command(glue)
