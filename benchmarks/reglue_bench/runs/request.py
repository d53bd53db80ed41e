"""What a run is asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glue_server import EnvironmentCalls
from glue_server.peers.hosts import AgentPeer
from reglue_bench.engines.server import RunServer
from reglue_bench.plans.plan import Plan
from reglue_bench.run_folder import OBSERVED
from reglue_bench.settings import Settings

Retry = Literal["none", "environment", "all"]
"""Whose faults are not final when a run is resumed."""

MOST_TRIES = 10
"""How often a unit is begun, as runs that are killed or interrupted in mid-unit are resumed, unless
the user has faults played again. An agent meets its episodes anew each time."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to play: settings, their plan, and the agent object if there is one.

    Of what was played before, the units with a fault of `retry_faults` are played again: of the
    environment alone, where an agent's are final, or of anybody.

    `entrant` is the name of its agent in a bake-off, in which each has its own random seeds.
    A `nonce` sets a submission apart in place of a random one, so that who knows the secret can
    play it again. `peer` is an agent that plays several runs in one session: it is lent, so the
    run does not close it. `server` is where peers have connected already; it is closed when the
    run is over.
    `environment` plays the plan's slots; it is lent, so the run does not close it. Once `stop`
    is set, a run in a thread is interrupted, as by Ctrl-C.
    """

    settings: Settings
    plan: Plan
    agent: object | None = None
    peer: AgentPeer | None = None
    entrant: str = ""
    nonce: str = ""
    retry_faults: Retry = "none"
    server: RunServer | None = None
    environment: EnvironmentCalls | None = None
    stop: threading.Event | None = None


def is_recorded(folder: Path, settings: Settings) -> bool:
    """Whether what agents see is recorded: asked for now, or when the run was begun."""
    return bool(settings.record) or (folder / OBSERVED).is_file()


def kept_cell_key(about: Mapping[str, str]) -> bytes | None:
    """The key of a run's cells, from its ledger's `about`."""
    return bytes.fromhex(about.get("cell key", "")) or None
