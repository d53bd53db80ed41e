"""Synthetic results of agents that learn, folded from made-up rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reglue_bench.float_range import FloatArray
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Row, Totals
from tests.reglue_bench.toys import online_plan, scored


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The shape of made-up results. Every draw comes from `seed`."""

    label: str = "sarsa"
    runs: int = 10
    episodes: int = 60
    steps: int = 0  # of a run, in place of episodes
    best: float = -120.0  # the return that it comes to
    worst: float = -900.0
    pace: float = 6.0  # episodes until two thirds are learned
    noise: float = 12.0
    lost: tuple[int, ...] = ()  # runs that end by a fault half-way
    missing: int = 0  # the last runs were not played
    seed: int = 0
    config: dict[str, Any] | None = None
    metric: str = "all"
    fault: float | None = None  # what a lost run is worth


def learned(what: Learned | None = None) -> Result:
    """A result that agrees with itself."""
    what = what or Learned()
    quota = {"steps": what.steps} if what.steps else {"episodes": what.episodes}
    worst = {} if what.fault is None else {"worst_performance": what.fault}
    plan = online_plan(runs=what.runs, metric=what.metric, config=what.config, **quota, **worst)
    rng = np.random.default_rng(what.seed)
    rows: list[Row] = []
    rewards: dict[int, FloatArray] = {}
    for run in range(what.runs - what.missing):
        count = what.steps or what.episodes
        lost = run in what.lost
        curve = np.exp(-np.arange(count // 2 if lost else count) / what.pace)
        drawn = what.best + (what.worst - what.best) * curve + rng.normal(0, what.noise, len(curve))
        rewards[run] = drawn
        rows += _by_steps(run, drawn) if what.steps else _by_episodes(run, drawn)
        if lost:
            rows.append(Row(run, 0, len(rows), "agent_timeout", False, 0, 0.0, 3, 0, 0, "too slow"))
    totals = Totals(40.0, 25.0, 10.0, sum(row.steps for row in rows))
    versions = {"reglue": "0.1.0", "numpy": "2.4.6"}
    return scored(plan, rows, rewards, label=what.label, totals=totals, versions=versions)


def _by_episodes(run: int, drawn: FloatArray) -> list[Row]:
    return [
        Row(run, 0, k, "ok", False, 0, float(each), max(1, math.floor(-each)), 0, 0, "")
        for k, each in enumerate(drawn)
    ]


def _by_steps(run: int, drawn: FloatArray) -> list[Row]:
    return [Row(run, 0, 0, "ok", False, 0, float(drawn.sum()), len(drawn), 0, 0, "")]
