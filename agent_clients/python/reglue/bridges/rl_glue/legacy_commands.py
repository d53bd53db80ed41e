"""Play legacy programs of RL-Glue 3 as agents, environments and benchmark programs, unchanged.

The bridge acts as RL-Glue's hub: it listens where the program connects, by default at
127.0.0.1:4096. If a Reglue glue on this host uses that port, give the bridge another by --port, and
set RLGLUE_PORT to it for the program; with --cmd the bridge does both.

reglue bench evaluate:mountain-car --agent-cmd "reglue bridge rl-glue agent --cmd ./my_agent"

Exit codes: 0 the session ended; 1 the program or the glue failed or left; 2 wrong usage; 130
interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Annotated, Any, Literal

import typer

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
        help="starts the legacy program, one for each slot; without it the bridge waits until one "
        "connects, and plays one slot",
    ),
]
_Host = Annotated[
    str,
    typer.Option(
        help="the address at which the bridge listens; RL-Glue has no tokens, so choose one that "
        "only trusted hosts can reach (default: $RLGLUE_HOST, else 127.0.0.1)"
    ),
]
_Port = Annotated[
    int | None,
    typer.Option(
        help="the port at that address; 0 is a free one, which the bridge prints "
        "(default: $RLGLUE_PORT, else 4096; always a free one with --cmd)"
    ),
]
_Timeout = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="the longest wait for an answer of the legacy program"),
]
_JoinTimeout = Annotated[
    float, typer.Option(metavar="SECONDS", help="the longest wait until it connects")
]
_Name = Annotated[str | None, typer.Option(help="the peer's name (default: rl-glue)")]


def agent(
    *,
    to: _To = None,
    token: _Token = None,
    cmd: _Cmd = "",
    freeze_message: Annotated[
        str, typer.Option(metavar="TEXT", help="sent as agent_message when evaluation begins")
    ] = "",
    host: _Host = "",
    port: _Port = None,
    timeout: _Timeout = 600.0,
    join_timeout: _JoinTimeout = 600.0,
    name: _Name = None,
) -> None:
    """Play a legacy agent at a glue or benchmark.

    A benchmark starts the bridge, and the bridge the agent, once for each slot:

    reglue bench evaluate:mountain-car --agent-cmd "reglue bridge rl-glue agent --cmd ./my_agent"

    An agent that you start yourself, in a debugger or on another host, at a glue that runs:

    reglue bridge rl-glue agent --to 'reglue://…' --port 4097
    """
    place = _place(cmd, host, port, timeout, join_timeout)
    _play("agent", {**place, "freeze_message": freeze_message}, to, token, name)


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
    """Play a legacy environment at a glue or benchmark.

    reglue bench evaluate:wait --agent random    # prints the address and the token

    reglue bridge rl-glue environment --to HOST:PORT --token TOKEN --cmd ./my_environment
    """
    _play("environment", _place(cmd, host, port, timeout, join_timeout), to, token, name)


def experiment(
    *,
    to: _To = None,
    token: _Token = None,
    cmd: _Cmd = "",
    seed: Annotated[int, typer.Option(help="the seed of the environment")] = 0,
    task: Annotated[str, typer.Option(help="the environment's task (default: its first one)")] = "",
    variant: Annotated[int, typer.Option(help="the variant of the task")] = 0,
    host: _Host = "",
    port: _Port = None,
    timeout: _Timeout = 600.0,
    join_timeout: _JoinTimeout = 600.0,
    name: _Name = None,
) -> None:
    """Carry out a legacy experiment program at a glue, as one with `reglue.Experiment`.

    reglue bridge rl-glue experiment --to 'reglue://…' --cmd ./my_experiment
    """
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


def _play(
    role: Literal["agent", "environment"],
    settings: Mapping[str, Any],
    to: str | None,
    token: str | None,
    name: str | None,
) -> None:
    """Connect the first program of a role, and play until the glue ends the session."""
    from reglue.bridges.rl_glue.legacy_agent import LegacyAgent
    from reglue.bridges.rl_glue.legacy_environment import LegacyEnvironment
    from reglue.client import session_of
    from reglue.net.join_string import join_string
    from reglue_signals import signals_exit

    where = join_string(to, token)
    bridge: type[LegacyAgent | LegacyEnvironment]
    bridge = LegacyAgent if role == "agent" else LegacyEnvironment
    with closing(bridge(**settings)) as peer:
        peer.connect()
        session = session_of(
            peer, where, name=name or "rl-glue", connect_timeout_s=60.0, transport="auto"
        )
        try:
            with signals_exit():
                reason = session.play()
        except Exception:
            if session.has_failed:  # the session has reported why
                raise typer.Exit(1) from None
            raise
    typer.echo(f"reglue bridge: {reason}", err=True)
