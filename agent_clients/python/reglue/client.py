"""Connects an agent or an environment to a glue. grpc is loaded when `connect` is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reglue.agents.adaptation import agent_of
from reglue.environments.environment_objects import environment_of
from reglue.errors import BadArgument
from reglue.net.join_string import TRANSPORTS, JoinString, Transport, join_string

if TYPE_CHECKING:
    from reglue.net.peer import AnsweringPeer
    from reglue.net.session import Session


def connect(  # noqa: PLR0913 - all that a peer may say of how it comes in
    peer: object,
    address: str | None = None,
    token: str | None = None,
    *,
    ca: str | Path | bytes | None = None,
    tls_name: str | None = None,
    name: str | None = None,
    connect_timeout_s: float = 60.0,
    transport: Transport = "auto",
    handle_signals: bool = True,
) -> str:
    """Play a session at a glue until it says farewell; returns the glue's reason.

    It waits for a glue that is not up yet. If the connection breaks it connects again, as long as
    the glue allows, and every call is carried out once.

    Args:
        peer: an agent: a `reglue.Agent`, or an object with the methods of Meta-World's `Agent`
            or `MetaLearningAgent`. Or an environment: a `reglue.Environment`, a suite of
            worlds, or a class of `gymnasium.Env` or an object (which plays in one slot).
        address: `host:port`, or a join string, which also holds the token and the certificate;
            by default the environment variable REGLUE_ADDRESS.
        token: the glue's secret for this role; by default REGLUE_TOKEN.
        ca: certificate of the authority to trust, a file or bytes, PEM or DER. The connection
            then uses TLS, and never goes on without it.
        tls_name: name in the glue's certificate, if it differs from the address.
        name: what the peer calls itself; by default its class.
        connect_timeout_s: seconds to wait for a glue that is not up. One that was joined says how
            long it is looked for when it is gone.
        transport: on the glue's own host, `unix` demands a Unix socket, `grpc` uses none, and
            `auto` uses one that can be opened.
        handle_signals: whether Ctrl-C and SIGTERM end a script with exit codes 130 and 143, unless
            the program handles them by itself. Ctrl-C still raises KeyboardInterrupt, which is a
            SystemExit(130) too; in the main thread SIGTERM raises SystemExit(143). The glue is told
            "interrupted" in any case.

    Raises:
        NotAnAgent, NotAnEnvironment: a method is missing.
        Unreachable: no glue answered.
        Refused: wrong token, wrong version, WrongTls, or Busy.
        SessionLost: the glue went away.
        UsageError: no address, no authority, a negative timeout, or no such transport here.
        Exception: any error that the peer raises; the glue learns of it first.
    """
    where = join_string(address, token, ca=ca, tls_name=tls_name)
    session = session_of(
        peer,
        where,
        name=name or type(peer).__name__,
        connect_timeout_s=connect_timeout_s,
        transport=transport,
    )
    from reglue_signals import signals_exit

    with signals_exit(handles=handle_signals):
        return session.play()


def session_of(
    peer: object,
    where: JoinString,
    *,
    name: str,
    connect_timeout_s: float,
    transport: Transport,
) -> Session:
    """The session of `connect`, which is still to be played.

    Raises NotAnAgent, NotAnEnvironment and UsageError.
    """
    if transport not in TRANSPORTS:
        raise BadArgument(got=f"transport {transport!r}", wanted=", ".join(TRANSPORTS))
    answering = _answering(peer, name)
    from reglue.net.session import Session

    return Session(where, answering, connect_timeout_s=connect_timeout_s, transport=transport)


def _answering(peer: object, name: str) -> AnsweringPeer:
    """The end of the session. Raises NotAnAgent and NotAnEnvironment."""
    from reglue.net.peer import AgentPeer, EnvironmentPeer

    environment = environment_of(peer)
    if environment is not None:
        return EnvironmentPeer(environment, name)
    return AgentPeer(agent_of(peer), name)
