"""A hundred submissions of a competition on two places, and its page meanwhile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from statistics import mean, quantiles

from speed.launches import Claim, Scale, Section, Series, Watch, run

PLAYED, PAGE = "finished, played once", "page meanwhile"


def on_sqlite(scale: Scale, watch: Watch) -> Section:
    """With the database that a competition has by itself."""
    return _section("sqlite", "SQLite", scale, watch)


def on_postgresql(scale: Scale, watch: Watch) -> Section:
    """With a server that is started for it; without one, nothing is measured."""
    return _section("postgresql", "PostgreSQL", scale, watch)


def _section(database: str, name: str, scale: Scale, watch: Watch) -> Section:
    """Raises ContenderFailed if a submission is lost, or counts twice."""
    submissions, load = scale.of(100, 10), os.getloadavg()[0]
    series: tuple[Series, ...] = ()
    if database == "postgresql" and not _is_installed():
        note = "It could not be measured: PostgreSQL is not installed, see .ci/postgres."
    else:
        watch(f"{submissions} submissions, {name}")
        series = _series(
            run("speed.contenders.competition_contender", database, str(submissions)).found
        )
        note = f"The machine's load average was {load:.1f} before, {os.getloadavg()[0]:.1f} after."
    return Section(
        title=f"A hundred submissions of a competition, {name}",
        about=f"{submissions} submissions of ten teams, all queued at once, on two places: "
        "10 episodes of mountain car of at most 200 steps, 5 slots. `reglue competition serve` "
        "with its page; agents join over gRPC and TLS, from threads of one process. Every "
        "submission has to finish with one run recorded, and every planned cell to be played "
        "exactly once, or this fails. A place's time is from a submission's start to its end in "
        "the store, its play is the run's own; between them are two processes that start, the "
        "transcript and the store. Meanwhile the leaderboard and a submission's page are read by "
        "turns, five times a second, each time by a new connection; idle is when all have ended. "
        "Processor time is that of all processes, the server's start, agents and reader included.",
        series=series,
        claims=(
            Claim(f"{name}: submissions played, each once", PLAYED, means="of 100"),
            Claim(f"{name}: the page meanwhile, ms", PAGE),
        ),
        notes=(note,),
    )


def _series(found: dict[str, list[float]]) -> tuple[Series, ...]:
    (seconds,), (cpu_s,), count = found["seconds"], found["cpu_s"], len(found["play_s"])
    loaded, idle = found["loaded_ms"], found["idle_ms"]
    beyond = [held - play for held, play in zip(found["held_s"], found["play_s"], strict=True)]

    def rounded(samples: list[float]) -> tuple[float, ...]:
        return tuple(round(each, 3) for each in samples)

    return (
        Series(PLAYED, "", (float(count),)),
        Series("all of them", "s", (seconds,)),
        Series("throughput", "submissions/min", (60 * count / seconds,)),
        Series("a submission's play", "s", rounded(found["play_s"])),
        Series("its place beyond its play", "s", rounded(beyond)),
        Series("processor time", "s a submission", (cpu_s / count,)),
        Series(PAGE, "ms", rounded(loaded)),
        Series("page meanwhile, 99 of 100 within", "ms", (_p99(loaded),)),
        Series("page when idle", "ms", rounded(idle)),
        Series("page when idle, 99 of 100 within", "ms", (_p99(idle),)),
    )


def _p99(samples: list[float]) -> float:
    return quantiles(samples, n=100)[-1] if len(samples) > 1 else mean(samples)


def _is_installed() -> bool:
    debians = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    return shutil.which("postgres") is not None or any(debians)
