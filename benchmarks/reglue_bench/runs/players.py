"""Chooses the players of a run (this process, several, or a cluster's) and their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from reglue.errors import UsageError, setting
from reglue_bench.benchmark.declared import is_remote
from reglue_bench.engines.files import facts_and_files, portable
from reglue_bench.engines.process_players import SHARD_PROCESS, LocalPlayers, Players
from reglue_bench.engines.ray.ray_players import RayPlayers
from reglue_bench.engines.run_environments import cores
from reglue_bench.engines.shard import FROM_SHARD, FromShard, ShardSettings
from reglue_bench.placement.placed_worker import FROM_ENVIRONMENT, PROCESS, FromEnvironment
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import TRAINING, procedure_of
from reglue_bench.run_folder import AGENT_LOG
from reglue_bench.runs.run import Request, is_recorded
from reglue_bench.settings import AGENT_WAIT, LOCAL, Settings


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
    """The players for environments; None: this process. Raises UsageError, MissingExtra."""
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


def shard_settings(
    request: Request,
    folder: Path,
    players: Players[FromShard],
    starts: bytes,
    cells: bytes | None,
    *,
    was_lost: bool,
) -> Callable[[int], ShardSettings]:
    """The settings of each process that plays a share, by its number from 1.

    `starts` and `cells` are the keys of start seeds and of cells. Whether a process of this run
    `was_lost` in the midst of a unit decides where environments are.
    """
    # Each has a server of its own, for the programs that it starts.
    changes = {"listen": "127.0.0.1:0", "advertise": None}
    settings = ShardSettings(
        settings=request.settings.model_copy(update=changes).model_dump(mode="json"),
        plan=request.plan.to_json(),
        folder=str(folder.absolute()),
        agent_log=AGENT_LOG,
        starts=starts,
        cells=cells,
        cores=1 if players.elsewhere else max(1, cores() // players.most),
        was_lost=was_lost,
    )
    return partial(_numbered, _portable(settings, request.plan) if players.elsewhere else settings)


def _portable(shard: ShardSettings, plan: Plan) -> ShardSettings:
    """The settings with the needed files and without secrets, for another machine."""
    settings = portable(Settings.model_validate(shard.settings))
    return replace(
        shard,
        settings=settings.without_secrets().model_dump(mode="json"),
        folder="",
        **facts_and_files(settings, plan),
    )


def _numbered(settings: ShardSettings, number: int) -> ShardSettings:
    """The settings of one process: each has its own log."""
    log = Path(settings.agent_log)
    name = f"{log.stem}-{number}{log.suffix}"
    return settings if number == 1 else replace(settings, agent_log=name)


def _why_one_process(request: Request, folder: Path) -> str:
    """The reason why no other process can play; empty if others can."""
    if request.agent is not None or request.environment is not None:
        return "an object of this process plays, of which others have no copy"
    if _connects(request):
        return "the agent connects by itself, and cannot be copied"
    if is_remote(request.plan):
        return "the environment connects by itself, and cannot be copied"
    if request.settings.environments != LOCAL:
        return f"{setting('environments')} places those of one agent, which plays here"
    if is_recorded(folder, request):
        return f"one process records a dataset ({setting('record')})"
    return ""


def _why_one(request: Request) -> str:
    """The reason why one agent plays everything, and advice for more."""
    if request.plan.procedure == TRAINING:
        return (
            "the agent that learns plays all of a run (runs of several training seeds can be "
            "played at once)"
        )
    return f"one agent plays all of this run ({setting('agents', 'N')} would have it copied)"


def _connects(request: Request) -> bool:
    """Whether the agent is started elsewhere."""
    return request.settings.agent == AGENT_WAIT or request.peer is not None
