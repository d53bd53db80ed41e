"""Bake-offs over the corridor, as files, and agents that wait for a word of the test's."""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from reglue_bench.bakeoff import Bakeoff, Entrant, read_bakeoff
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver, Observer
from tests.reglue_bench.toys import AGENTS
from tests.waiting import until

BENCHMARK = """
[benchmark]
name = "multi-task:tests.worlds:Corridor"
environment_args = { solved = { a = [1, 3, 0], b = [5, 0, 2] } }
num_episodes = 6
slots = 2
seed = 7
workers = 0
"""

TIMEOUT_S = 60.0

log = logging.getLogger("reglue")


def agent(name: str, of: str = "Seeded", more: str = "") -> str:
    """The table of one of the tests' agents."""
    return f'[agents.{name}]\nagent = "{AGENTS}:{of}"\n{more}\n'


def write(folder: Path, *tables: str, benchmark: str = BENCHMARK) -> Path:
    """`bakeoff.toml` of those tables."""
    path = folder / "bakeoff.toml"
    path.write_text("\n".join([benchmark, *tables]), encoding="utf-8")
    return path


def gated(name: str, gate: Path, after: int = 0) -> str:
    """The table of an agent that stops after so many starts, until `gate` is there."""
    arguments = f'agent_args = {{ gate = "{gate}", after = {after} }}'
    return f'[agents.{name}]\nagent = "{AGENTS}:Gated"\n{arguments}\n'


class Quiet:
    """Nobody looks on."""

    def watcher(self, entrant: Entrant) -> Observer:
        return NullObserver()

    def run_ended(self, entrant: Entrant, result: Result) -> None:
        pass


def bake(
    path: Path,
    *,
    resume: bool = False,
    at_once: int = 1,
    say: Callable[[str], None] = log.debug,
    **hosting: Any,
) -> dict[str, Result]:
    """Play the bake-off of a file in this process; the results by agent."""
    entrants = read_bakeoff(path, hosting)
    with Bakeoff(entrants, path.parent / "out", say, at_once=at_once) as bakeoff:
        bakeoff.prepare(NullObserver(), resume=resume)
        return {entrant.name: result for entrant, result in bakeoff.play(Quiet())}


def command(path: Path, *arguments: str, where: str = "--out") -> list[str]:
    """`reglue bakeoff` of that file, into the folder `out` beside it."""
    words = [sys.executable, "-u", "-m", "reglue", "bakeoff", str(path)]
    return [*words, where, str(path.parent / "out"), *arguments]


def surroundings(**more: str) -> Mapping[str, str]:
    """Environment variables of a process that imports what this one can."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more


def wait_for_rows(run: Path, count: int) -> int:
    """The number of episodes that a running run has committed, once there are `count`."""
    until(lambda: count_rows(run) >= count, f"{run} has {count} rows", TIMEOUT_S)
    return count_rows(run)


def count_rows(run: Path) -> int:
    """The number of episodes that a run has committed so far."""
    with suppress(sqlite3.OperationalError):  # it is just being made
        uri = f"file:{run / 'ledger.sqlite'}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as ledger:
            return int(ledger.execute("select count(*) from outcome").fetchone()[0])
    return 0
