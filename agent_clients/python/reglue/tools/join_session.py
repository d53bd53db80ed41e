"""The work of `reglue join`: make a peer from its flags, and play its session."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

from reglue.client import session_of
from reglue.errors import ReglueError, UsageError
from reglue.examples import EXAMPLES
from reglue.net.join_string import join_string
from reglue.tools.keyword_words import keywords_of, pairs
from reglue.tools.loading import agent_name, load
from reglue.tools.parser import SAYS
from reglue.tracebacks import explained

log = logging.getLogger("reglue")


def join(options: argparse.Namespace) -> int:
    """Play until the glue ends the session; the exit code. Raises ReglueError."""
    named, address = _peer_and_address(options)
    try:
        peer, name = _make(named, pairs(options.arguments, "the argument"))
    except ReglueError:
        raise
    except Exception as error:  # noqa: BLE001 - of the peer's constructor
        log.error("%s could not be made: %s", named, explained(error))
        return 1
    session = session_of(
        peer,
        join_string(address, options.token, ca=options.ca, tls_name=options.tls_name),
        name=options.name or name,
        connect_timeout_s=options.connect_timeout,
        transport=options.transport,
    )
    try:
        reason = session.play()
    except Exception:
        if session.has_failed:
            return 1
        raise
    print(f"{SAYS}{reason}", file=sys.stderr)
    return 0


def _peer_and_address(options: argparse.Namespace) -> tuple[str, str | None]:
    """The name of the peer, and the glue's address. Raises UsageError."""
    first: str | None = options.first
    is_address = first is not None and first.startswith("reglue://")
    if is_address and options.address:
        raise UsageError(got="two addresses", wanted="one: omit --address, or the join string")
    named = [each for each in (options.named, None if is_address else first) if each]
    if len(named) != 1:
        got = " and ".join(named) or "no peer"
        raise UsageError(got=got, wanted="one: as the first word, or after --agent")
    return named[0], first if is_address else options.address


def _make(name: str, arguments: Mapping[str, str]) -> tuple[object, str]:
    """The agent or environment called `name`, and its own name."""
    # Importing the environments takes longer than the SDK, so only names that may be theirs do it.
    is_code = name in EXAMPLES or name.rpartition(":")[0].endswith(".py")
    for known in () if is_code else entry_points(group="reglue.environments"):
        suite = known.load()(name, keywords_of(arguments))
        if suite is not None:
            return suite.build(), name
    peer = load(name, arguments)
    return peer, agent_name(peer)
