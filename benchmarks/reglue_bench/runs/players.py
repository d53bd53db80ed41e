"""Chooses who plays a run: this process, several processes, or those of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reglue.errors import UsageError, setting
from reglue_bench.engines import LocalPlayers, Players, RayPlayers
from reglue_bench.engines.process_players import SHARD_PROCESS
from reglue_bench.engines.run_environments import cores
from reglue_bench.engines.shard import FROM_SHARD, FromShard
from reglue_bench.placement.placed_worker import FROM_ENVIRONMENT, PROCESS, FromEnvironment
from reglue_bench.planning.declared import is_remote
from reglue_bench.procedures import TRAINING, procedure_of
from reglue_bench.runs.run import Request, is_recorded
from reglue_bench.settings import AGENT_WAIT, LOCAL


def players_of(
    request: Request, folder: Path, say: Callable[[str], None], agents: int | None = None
) -> Players[FromShard] | None:
    """The players of a run; None: this process plays.

    `agents`: how many of its agents have something left to play, by default all. Raises UsageError
    if the settings want other processes and they cannot play, and MissingExtra.
    """
    settings, procedure = request.settings, procedure_of(request.plan)
    processes, why = settings.processes, _why_one_process(request, folder)
    if settings.engine != LOCAL and why:
        raise UsageError(got=setting("engine", settings.engine), wanted=f"{LOCAL}: {why}; omit it")
    if not why and procedure.agents == 1:
        why = _why_one(request)
    if processes is not None and processes > 1 and why:
        raise UsageError(got=setting("processes", processes), wanted=f"1: {why}; omit it")
    if request.plan.parameters.get("agents", 1) != 1 and _connects(request):
        raise UsageError(
            f"got {setting('agents')} with an agent that connects by itself, which cannot be "
            f"copied; omit it, or have the agent started here ({setting('agent')}, "
            f"{setting('agent_cmd')})"
        )
    if settings.engine != LOCAL:
        return RayPlayers(
            settings.engine,
            processes,
            SHARD_PROCESS,
            FROM_SHARD,
            folder=folder,
            timeout_s=settings.connect_timeout,
            say=say,
        )
    agents = procedure.agents if agents is None else agents
    most = 1 if why else min(cores() if processes is None else processes, agents)
    return LocalPlayers(most) if most > 1 else None


def environment_players(
    request: Request, folder: Path, say: Callable[[str], None]
) -> RayPlayers[FromEnvironment] | None:
    """What environments are placed on; None: they are here. Raises UsageError, MissingExtra."""
    settings = request.settings
    if (where := settings.environments) == LOCAL:
        return None
    if request.environment is not None:
        raise UsageError(
            got=setting("environments", where),
            wanted=f"{LOCAL}: the environment is an object of this process; omit it",
        )
    return RayPlayers(
        where,
        settings.workers,
        PROCESS,
        FROM_ENVIRONMENT,
        folder=folder,
        timeout_s=settings.connect_timeout,
        say=say,
        setting_name="environments",
    )


def _why_one_process(request: Request, folder: Path) -> str:
    """Why no other process can play; empty if others can."""
    if request.agent is not None or request.environment is not None:
        return "an object of this process plays, of which others have no copy"
    if _connects(request):
        return "the agent connects by itself, and cannot be copied"
    if is_remote(request.plan):
        return "the environment connects by itself, and cannot be copied"
    if request.settings.environments != LOCAL:
        return f"{setting('environments')} places those of one agent, which plays here"
    if is_recorded(folder, request.settings):
        return f"one process records a dataset ({setting('record')})"
    return ""


def _why_one(request: Request) -> str:
    """Why one agent plays everything, and what to do for more."""
    if request.plan.procedure == TRAINING:
        return (
            "the agent that learns plays all of a run (runs of several training seeds can be "
            "played at once)"
        )
    return f"one agent plays all of this run ({setting('agents', 'N')} would have it copied)"


def _connects(request: Request) -> bool:
    """Whether the agent is started elsewhere."""
    return request.settings.agent == AGENT_WAIT or request.peer is not None
