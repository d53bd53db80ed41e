"""Play legacy programs of RL-Glue 3 as agents, environments and benchmark programs, unchanged.

The bridge plays the part of RL-Glue's hub: it listens where the program dials, by default at
127.0.0.1:4096. If a Reglue glue on this host has that port, give the bridge another by --port, and
set RLGLUE_PORT to it for the program; with --cmd the bridge does both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from reglue.net.join_string import JoinString

__all__ = ["agent", "environment", "experiment"]

_To = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="the glue's join string, or its HOST:PORT (default: $REGLUE_ADDRESS)",
    ),
]
_Token = Annotated[
    str | None,
    typer.Option(
        help="the glue's secret for this role, unless the join string has it "
        "(default: $REGLUE_TOKEN)"
    ),
]
_Cmd = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="start the legacy program by this, one for each slot; without it the bridge waits for "
        "one, and plays one slot",
    ),
]
_Host = Annotated[
    str,
    typer.Option(
        help="where the legacy program dials; RL-Glue has no tokens, so let nobody else reach it "
        "(default: $RLGLUE_HOST, else 127.0.0.1)"
    ),
]
_Port = Annotated[
    int | None,
    typer.Option(help="the port there (default: $RLGLUE_PORT, else 4096; with --cmd a free one)"),
]
_Timeout = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="how long the legacy program may take for an answer"),
]
_JoinTimeout = Annotated[
    float, typer.Option(metavar="SECONDS", help="how long it may take to connect")
]
_Name = Annotated[str | None, typer.Option(help="what the peer calls itself (default: rl-glue)")]


def agent(
    *,
    to: _To = None,
    token: _Token = None,
    cmd: _Cmd = "",
    freeze_message: Annotated[
        str, typer.Option(metavar="TEXT", help="sent by agent_message when what follows is judged")
    ] = "",
    host: _Host = "",
    port: _Port = None,
    timeout: _Timeout = 600.0,
    join_timeout: _JoinTimeout = 600.0,
    name: _Name = None,
) -> None:
    """Play a legacy agent at a glue or benchmark."""
    from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
    from reglue.net.join_string import join_string

    where = join_string(to, token)
    peer = LegacyAgent(
        freeze_message=freeze_message, **_place(cmd, host, port, timeout, join_timeout)
    )
    try:
        peer.connect()
        _play(peer, where, name)
    finally:
        peer.close()


def environment(
    *,
    to: _To = None,
    token: _Token = None,
    cmd: _Cmd = "",
    host: _Host = "",
    port: _Port = None,
    timeout: _Timeout = 600.0,
    join_timeout: _JoinTimeout = 600.0,
    name: _Name = None,
) -> None:
    """Play a legacy environment at a glue or benchmark."""
    from reglue.bridges.rl_glue.legacy_environment import LegacyEnvironment
    from reglue.net.join_string import join_string

    where = join_string(to, token)
    peer = LegacyEnvironment(**_place(cmd, host, port, timeout, join_timeout))
    try:
        peer.connect()
        _play(peer, where, name)
    finally:
        peer.close()


def experiment(
    *,
    to: _To = None,
    token: _Token = None,
    cmd: _Cmd = "",
    seed: Annotated[int, typer.Option(help="of the environment's random numbers")] = 0,
    task: Annotated[
        str, typer.Option(help="what the environment plays (default: its first task)")
    ] = "",
    variant: Annotated[int, typer.Option(help="of the task")] = 0,
    host: _Host = "",
    port: _Port = None,
    timeout: _Timeout = 600.0,
    join_timeout: _JoinTimeout = 600.0,
    name: _Name = None,
) -> None:
    """Let a legacy experiment program drive a glue, as `reglue.Experiment` does."""
    from reglue import Experiment
    from reglue.bridges.rl_glue.legacy_experiment import answer_routines
    from reglue.bridges.rl_glue.legacy_program import Kind, Place
    from reglue.net.join_string import join_string

    where = str(join_string(to, token))
    place = Place(Kind.EXPERIMENT, **_place(cmd, host, port, timeout, join_timeout))
    program = place.program()
    try:
        with Experiment(where, seed=seed, task=task, variant=variant, name=name or "rl-glue") as rl:
            answer_routines(program, rl)
    finally:
        program.close()


def _place(
    cmd: str, host: str, port: int | None, timeout: float, join_timeout: float
) -> Mapping[str, Any]:
    return {
        "cmd": cmd,
        "host": host,
        "port": port,
        "timeout_s": timeout,
        "join_timeout_s": join_timeout,
        "say": lambda text: typer.echo(f"reglue bridge: {text}", err=True),
    }


def _play(peer: object, where: JoinString, name: str | None) -> None:
    """Play until the glue ends the session."""
    from reglue.client import session_of
    from reglue_signals import signals_exit

    session = session_of(
        peer, where, name=name or "rl-glue", connect_timeout_s=60.0, transport="auto"
    )
    try:
        with signals_exit():
            reason = session.play()
    except Exception:
        if session.has_failed:  # which the session has told
            raise typer.Exit(1) from None
        raise
    typer.echo(f"reglue bridge: {reason}", err=True)
