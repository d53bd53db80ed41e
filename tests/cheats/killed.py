"""Environments that connect by themselves, and that a cheat kills."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reglue_bench.evaluation import evaluate
from reglue_bench.results.result import Result
from tests.cheats.cheat_world import Player
from tests.reglue_bench.remote import WORLDS, dialling, kept_up

KILLED = ("kills and it returns", "kills and resumes")
"""The environment's process is started again at once; or the run is resumed whenever it ended."""

WORLD = f"{WORLDS}:Breakable"
_MOST_SESSIONS = 100


def killing(procedure: str, kind: str, player: Player, **options: Any) -> Result:
    """A run of an agent that kills its environment, as often as it takes until it is over.

    `options` has no environment arguments: the world has those that it has by itself.
    """
    limits: dict[str, Any] = {"raise_faults": False, "repeat_check": False}
    if kind == KILLED[0]:
        with kept_up(WORLD) as watcher:
            return evaluate(f"{procedure}:wait", agent=player, watcher=watcher, **limits, **options)
    with TemporaryDirectory() as folder:
        limits |= {"out": Path(folder) / "run", "reconnect_window": 0.0}
        limits |= {"label": "cheat"}  # it remembers what it met, so nothing else identifies it
        for session in range(_MOST_SESSIONS):
            with dialling(WORLD) as (watcher, _):
                result = evaluate(
                    f"{procedure}:wait",
                    agent=player,
                    watcher=watcher,
                    resume=session > 0,
                    **limits,
                    **options,
                )
            if result.ended_early is None:
                return result
    raise AssertionError("it never ends")
