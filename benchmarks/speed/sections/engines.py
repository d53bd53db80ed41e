"""Runs that one process plays, and that a process for each core plays."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reglue_bench.engines.run_environments import cores
from speed.launches import Claim, Scale, Section, Series, Watch, interleave, run
from tests.ray_cluster import RayCluster

RUNS, EPISODES = 8, 100
LONG_RUNS, LONG_EPISODES = 30, 200  # with --long
ONE, EACH = "online, --processes 1", "online, a process for each core"
ONE_CORE = "online, --processes 1, kept on one core"
BARE = "online, a command for each core, with its share of the runs"
MT10_ONE, MT10_EACH = "MT10, one copy after another", "MT10, both copies at once"
RAY = "online, on a Ray node with the same cores"
COUNT_ONE = "counting that shares nothing, in one process"
COUNT_EACH = "the same amount, a process a core"
EQUAL = "rows that are equal"

_FASTER: Final = "theirs/ours"

CLAIMS = (
    Claim(
        "online runs on all cores: times as fast as --processes 1",
        EACH,
        ONE,
        _FASTER,
        means="--processes 1 has an agent and its environment on two cores already",
    ),
    Claim("online runs on all cores: times as fast as on one core", EACH, ONE_CORE, _FASTER),
    Claim(
        "time ÷ of the same commands side by side",
        EACH,
        BARE,
        means="below 1 the engine is faster than commands that are started by hand",
    ),
    Claim("the same commands side by side: times as fast as --processes 1", BARE, ONE, _FASTER),
    Claim("time on a Ray node ÷ of those commands", RAY, BARE, means="what Ray adds"),
    Claim(
        "the most that these cores give: times as fast as one process",
        COUNT_EACH,
        COUNT_ONE,
        _FASTER,
        means="counting that shares nothing",
    ),
    Claim(
        "MT10, two copies at once: times as fast as one after another", MT10_EACH, MT10_ONE, _FASTER
    ),
    Claim("share of rows equal to those of one process", EQUAL, means="1: all of them"),
)


def engines(scale: Scale, watch: Watch) -> Section:
    """Seconds of whole commands, and their rows compared."""
    with (
        tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder,
        RayCluster(cores()) as cluster,
    ):
        runs = LONG_RUNS if scale.long else scale.of(RUNS, 4)
        episodes = LONG_EPISODES if scale.long else scale.of(EPISODES, 20)
        played, goals = _Played(Path(folder), runs, episodes), str(scale.of(2, 1))
        figures = interleave(
            {
                ONE: lambda: played.online("one", "--processes", "1"),
                ONE_CORE: played.on_one_core,
                EACH: lambda: played.online("each"),
                BARE: played.bare,
                RAY: lambda: played.online("ray", "--engine", "ray", on=cluster.environment),
                COUNT_ONE: lambda: _counted(1, scale),
                COUNT_EACH: lambda: _counted(cores(), scale),
                MT10_ONE: lambda: played.mt10("mt10-one", goals, "--processes", "1"),
                MT10_EACH: lambda: played.mt10("mt10-each", goals),
            },
            "s",
            rounds=scale.rounds(2),
            watch=watch,
        )
        equal = [
            played.rows(one) == played.rows(each)
            for one, each in (("one", "each"), ("one", "ray"), ("mt10-one", "mt10-each"))
        ]
    return Section(
        title="A run on all cores",
        about=f"`reglue bench online:mountain-car --agent sarsa --runs {runs} --episodes "
        f"{episodes}`, and MT10 with the experts and `--agents 2`, {goals} goals a task: the time "
        "of whole commands. A command for each core has its share of the runs and `--processes 1`, "
        "and all are started at once: what the engine adds is the difference. "
        "`--processes 1` has an agent and its environment on two cores, which they keep awake and "
        "whose caches stay theirs; kept on one core, it shows what a core does. "
        "The Ray node is a process of this machine, and stands before the command begins. "
        "Counting shows how much faster this machine's cores are together at work that shares "
        "nothing: no engine can be faster by more.",
        series=(*figures, Series(EQUAL, "", (sum(equal) / len(equal),))),
        claims=CLAIMS,
    )


def _counted(processes: int, scale: Scale) -> float:
    """Seconds until all have counted their share."""
    share = str(scale.of(480, 60) // processes)
    with ThreadPoolExecutor(processes) as threads:
        counts = [threads.submit(run, "speed.contenders.counting", share) for _ in range(processes)]
        return max(float(count.result().found["seconds"]) for count in counts)


@dataclass(frozen=True, slots=True)
class _Played:
    """Commands, each with a folder of its own."""

    folder: Path
    runs: int
    episodes: int

    def online(
        self, name: str, *more: str, runs: int = 0, on: Mapping[str, str] | None = None
    ) -> float:
        """Seconds of one command, in that environment."""
        size = ("--runs", str(runs or self.runs), "--episodes", str(self.episodes))
        return self._bench(name, "online:mountain-car", "--agent", "sarsa", *size, *more, on=on)

    def on_one_core(self) -> float:
        """Seconds of one command all of whose processes run on the same core."""
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        try:
            return self.online("one-core", "--processes", "1")
        finally:
            os.sched_setaffinity(0, cores)

    def bare(self) -> float:
        """Seconds until the last of as many commands as cores has ended."""
        count = cores()
        with ThreadPoolExecutor(count) as threads:
            one = ("--processes", "1")
            shares = [
                threads.submit(self.online, f"bare-{core}", *one, runs=-(-self.runs // count))
                for core in range(count)
            ]
            return max(share.result() for share in shares)

    def mt10(self, name: str, goals: str, *more: str) -> float:
        """Seconds of one command."""
        options = ("--agent", "expert", "--agents", "2", "--num-episodes", goals, "--seed", "42")
        return self._bench(name, "MT10", *options, *more)

    def rows(self, name: str) -> list[tuple[object, ...]]:
        """The rows of a run's ledger, with the digests of actions and rewards."""
        ledger = sqlite3.connect(self.folder / name / "ledger.sqlite")
        try:
            return ledger.execute("SELECT * FROM outcome ORDER BY unit, attempt, k").fetchall()
        finally:
            ledger.close()

    def _bench(self, name: str, *arguments: str, on: Mapping[str, str] | None = None) -> float:
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        return run("reglue", "bench", *arguments, "--out", str(out), environment=on).seconds
