"""Connects an agent to a glue. grpc is loaded when `connect` is called."""

from __future__ import annotations

import logging
import os

from reglue.agent import Agent
from reglue.errors import UsageError
from reglue.metaworld_agent import wrap

log = logging.getLogger("reglue")


def connect(
    agent: object,
    address: str | None = None,
    token: str | None = None,
    *,
    name: str | None = None,
    patience_s: float = 60.0,
) -> str:
    """Play a session at the glue at `address` until it says farewell; returns its words.

    `agent` is a `reglue.Agent`, or an object with the methods of Meta-World's
    `Agent` or `MetaLearningAgent`. `address` (`host:port`) and `token` default to
    REGLUE_ADDRESS and REGLUE_TOKEN of the environment. A glue that is not up yet
    is waited for, up to `patience_s` seconds.

    Raises NotAnAgent (a method is missing), Unreachable, Refused (wrong token,
    wrong version, busy), SessionLost (the glue went away), UsageError (no address),
    and whatever the agent itself raises, after telling the glue.
    """
    playing: Agent = wrap(agent)
    address = address or os.environ.get("REGLUE_ADDRESS")
    if not address:
        raise UsageError("no address: give host:port, or set REGLUE_ADDRESS")
    token = os.environ.get("REGLUE_TOKEN", "") if token is None else token
    from reglue.session import Session

    with Session(
        address, token, name=name or type(agent).__name__, patience_s=patience_s
    ) as session:
        return session.play(playing)
