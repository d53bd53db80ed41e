"""Connects an agent or an environment to a glue. grpc is loaded when `connect` is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reglue.environment import Environment, Worlds
from reglue.invitation import invitation
from reglue.metaworld_agent import wrap

if TYPE_CHECKING:
    from reglue.parts import Part


def connect(
    partner: object,
    address: str | None = None,
    token: str | None = None,
    *,
    name: str | None = None,
    patience_s: float = 60.0,
) -> str:
    """Play a session at the glue at `address` until it says farewell; returns its words.

    `partner` is a `reglue.Agent`, or an object with the methods of Meta-World's `Agent`
    or `MetaLearningAgent`; or a `reglue.Environment`, or a suite of worlds. `address` is
    `host:port` or a join string, which holds the token as well; they default to
    REGLUE_ADDRESS and REGLUE_TOKEN of the environment. A glue that is not up yet is
    waited for, up to `patience_s` seconds. A connection that breaks is made again as
    long as the glue allows, and every call is carried out once.

    Raises NotAnAgent (a method is missing), Unreachable, Refused (wrong token, wrong
    version, busy), SessionLost (the glue went away), UsageError (no address), and
    whatever the partner itself raises, after telling the glue.
    """
    where = invitation(address, token)
    part = _part(partner, name or type(partner).__name__)
    from reglue.session import Session

    return Session(where, part, patience_s=patience_s).play()


def _part(partner: object, name: str) -> Part:
    from reglue.parts import AgentPart, EnvironmentPart

    if isinstance(partner, Environment):
        return EnvironmentPart(partner, name)
    if hasattr(partner, "world") and hasattr(partner, "spec"):
        return EnvironmentPart(Worlds(partner), name)  # type: ignore[arg-type]
    return AgentPart(wrap(partner), name)
