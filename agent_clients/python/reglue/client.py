"""Connects an agent or an environment to a glue. grpc is loaded when `connect` is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reglue.agents.agent import Agent
from reglue.agents.metaworld import wrap
from reglue.environments.environment import Environment, Worlds
from reglue.environments.world import Suite
from reglue.errors import BadArgument, NotAnEnvironment
from reglue.net.join_string import join_string
from reglue.net.transport import TRANSPORTS, Transport

if TYPE_CHECKING:
    from reglue.net.roles import RoleAdapter


def connect(  # noqa: PLR0913 - all that a peer may say of how it comes in
    peer: object,
    address: str | None = None,
    token: str | None = None,
    *,
    ca: str | Path | bytes | None = None,
    tls_name: str | None = None,
    name: str | None = None,
    patience_s: float = 60.0,
    transport: Transport = "auto",
) -> str:
    """Play a session at the glue at `address` until it says farewell; returns its words.

    `peer` is a `reglue.Agent`, or an object with the methods of Meta-World's `Agent`
    or `MetaLearningAgent`; or a `reglue.Environment`, or a suite of worlds. `address` is
    `host:port` or a join string, which holds the token and whom to trust as well; they
    default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. `ca` is the certificate
    of the authority to trust, a file or bytes, PEM or DER: the connection is made with TLS,
    and never without it. `tls_name` is the name in the glue's certificate, where it is not
    the address's. A glue that is not up yet is waited for, up to `patience_s` seconds. A
    connection that breaks is made again, as long as the glue allows and at most as long as
    that, and every call is carried out once. On the glue's own host `transport` may be a
    Unix socket: `unix` wants one, `grpc` none, `auto` takes it where it can be opened.

    Raises NotAnAgent and NotAnEnvironment (a method is missing), Unreachable, Refused
    (wrong token, wrong version, WrongTls, busy), SessionLost (the glue went away),
    UsageError (no address, no authority, no such transport here), and whatever the peer
    itself raises, after telling the glue.
    """
    where = join_string(address, token, ca=ca, tls_name=tls_name)
    if transport not in TRANSPORTS:
        raise BadArgument(f"got transport {transport!r}, wanted {', '.join(TRANSPORTS)}")
    part = _part(peer, name or type(peer).__name__)
    from reglue.net.session import Session

    session = Session(where, part, patience_s=patience_s, transport=transport)
    return session.play()


def _part(peer: object, name: str) -> RoleAdapter:
    """Raises NotAnAgent and NotAnEnvironment."""
    from reglue.net.roles import AgentAdapter, EnvironmentAdapter

    if isinstance(peer, type) and (issubclass(peer, Environment) or _is_suite(peer)):
        raise NotAnEnvironment(f"got the class {peer.__name__}, wanted an object of it")
    if isinstance(peer, Environment):
        _check_environment(peer)
        return EnvironmentAdapter(peer, name)
    if _is_suite(peer):
        return EnvironmentAdapter(Worlds(_checked_suite(peer)), name)
    return AgentAdapter(wrap(peer), name)


def _is_suite(peer: object) -> bool:
    """Agents may have a `world` of their own, a model of it."""
    cls = peer if isinstance(peer, type) else type(peer)
    is_agent = issubclass(cls, Agent) or hasattr(peer, "eval_action")
    return not is_agent and callable(getattr(peer, "world", None))


def _checked_suite(peer: Any) -> Suite:
    for name in ("spec", "variants", "standardizes"):
        if not hasattr(peer, name):
            raise NotAnEnvironment(
                f"{type(peer).__name__} lacks {name}; a suite has spec, variants, "
                "standardizes and world()"
            )
    suite: Suite = peer
    return suite


def _check_environment(environment: Environment) -> None:
    cls = type(environment)
    plays = cls.play is not Environment.play
    for name in ("env_init",) if plays else ("env_init", "env_start", "env_step"):
        if getattr(cls, name) is getattr(Environment, name):
            raise NotAnEnvironment(
                f"{cls.__name__} lacks {name}(); write env_init(), and env_start() and "
                "env_step(), or play()"
            )
