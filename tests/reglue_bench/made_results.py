"""Synthetic results: what a run would say, without playing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.facts import AgentIdentity, Coverage, Seconds, StepCounts
from reglue_bench.results.result import Result
from reglue_bench.results.scores import Rates, SuccessScore
from reglue_bench.statistics import intervals95

MT10 = [
    "reach-v3",
    "push-v3",
    "pick-place-v3",
    "door-open-v3",
    "drawer-open-v3",
    "drawer-close-v3",
    "button-press-topdown-v3",
    "peg-insert-side-v3",
    "window-open-v3",
    "window-close-v3",
]
FAULTS = ("agent_error", "agent_timeout", "agent_disconnected", "environment_error")


@dataclass(frozen=True, kw_only=True)
class Play:
    """The shape of made-up results. Every draw comes from `seed`."""

    benchmark: str = "MT10"
    tasks: Sequence[str] = field(default_factory=lambda: MT10)
    goals: int = 50
    episodes_per_goal: int = 1
    rate: float = 0.95  # of success; -1 is never, 2 is always
    rates: Mapping[str, float] = field(default_factory=dict)  # instead of `rate`, by task
    rate_before: float | None = None  # with it, evaluated before adaptation too
    faulty: float = 0.0  # share of cells
    missing: int = 0  # cells that were never played, the last ones
    label: str = "expert"
    training_seed: int | None = None
    privileged: Sequence[str] = ()
    plan: str = "5e" * 32
    goals_hash: str = "90" * 32
    seed: int = 42


def make_result(play: Play | None = None) -> Result:
    """A result that agrees with itself, as the score would make it."""
    play = play or Play()
    episodes = _evaluated(play)
    planned = _planned(play)
    won = _success(play, episodes)
    counted = sum(row.steps for row in episodes)
    rates = {task: float(np.mean(goals)) for task, goals in won.items()}
    returns = {t: [row.return_ for row in episodes if row.task == t] for t in play.tasks}
    before = _before(play)
    everything = [each for rows in returns.values() for each in rows]
    return Result(
        benchmark=play.benchmark,
        procedure="multi-task" if play.rate_before is None else "meta-learning",
        parameters={"num_episodes": play.goals, "terminate_on_success": True},
        seed=play.seed,
        slots=len(play.tasks),
        plan_sha256=play.plan,
        goals_sha256=play.goals_hash,
        agent=AgentIdentity(name=play.label, label=play.label, training_seed=play.training_seed),
        complete=play.missing == 0,
        privileged=list(play.privileged),
        score=SuccessScore(
            mean_success_rate=float(np.mean(list(rates.values()))),
            mean_return=float(np.mean(everything)) if everything else None,
            success_rate_per_task=rates,
            returns_per_task={t: float(np.mean(r)) if r else None for t, r in returns.items()},
            intervals95=intervals95(won),
            completed_only=_completed_only(play, episodes),
            before_adaptation=_rates(play, _success(play, before)) if before else None,
        ),
        coverage=Coverage(
            cells_planned=planned,
            cells_completed=sum(row.status == "ok" for row in episodes),
            cells_succeeded=sum(row.success for row in episodes if row.status == "ok"),
            goals_planned=len(play.tasks) * play.goals,
            goals_total=len(play.tasks) * 50,
            episodes_planned={
                task: dict.fromkeys(range(play.goals), play.episodes_per_goal)
                for task in play.tasks
            },
        ),
        status_counts=_status_counts(episodes, missing=play.missing),
        clipped_steps=counted // 50,
        steps=StepCounts(counted=counted, executed=counted + counted // 9),
        seconds=Seconds(wall=41.5, agent=12.25, environment=25.0, glue=3.5),
        versions={"reglue": "0.1.0", "metaworld": "3.1.1", "mujoco": "3.3.0", "numpy": "2.4.6"},
        episodes_succeeded=sum(row.success for row in [*before, *episodes]),
    ).with_episodes([*before, *episodes])


def _planned(play: Play) -> int:
    return len(play.tasks) * play.goals * play.episodes_per_goal


def _evaluated(play: Play) -> list[EpisodeRow]:
    rows = _rows(play, rate=play.rate, phase="evaluate", seed=play.seed)
    return rows[: _planned(play) - play.missing]


def _before(play: Play) -> list[EpisodeRow]:
    if play.rate_before is None:
        return []
    return _rows(play, rate=play.rate_before, phase="evaluate_before", seed=play.seed + 1)


def _rows(play: Play, *, rate: float, phase: str, seed: int) -> list[EpisodeRow]:
    rng = np.random.default_rng([seed, sum(play.label.encode()), play.training_seed or 0])
    rows = []
    for variant in range(play.goals):
        for place, task in enumerate(play.tasks):
            chance = float(np.clip(rng.normal(play.rates.get(task, rate), 0.03), 0, 1))
            for episode in range(play.episodes_per_goal):
                fault = phase == "evaluate" and rng.random() < play.faulty
                success = bool(rng.random() < chance) and not fault
                steps = int(rng.gamma(9, 6 + place)) + 20 if success else 500
                if fault:
                    steps = int(rng.integers(0, 400))
                row: dict[str, Any] = {
                    "unit": variant * len(play.tasks) + place,
                    "k": episode,
                    "attempt": 0,
                    "task": task,
                    "variant": variant,
                    "repeat": 0,
                    "phase": phase,
                    "status": FAULTS[int(rng.integers(4))] if fault else "ok",
                    "success": success,
                    "first_success": min(steps, 500) if success else 0,
                    "return_": round(float(rng.normal(4, 0.5)) * min(steps, 500), 3),
                    "steps": min(steps, 500),
                    "clipped": 0,
                    "defaulted": 0,
                    "detail": "",
                }
                rows.append(EpisodeRow(**row))
    return rows


def _success(play: Play, episodes: Sequence[EpisodeRow]) -> dict[str, list[float]]:
    won = {task: [0.0] * play.goals for task in play.tasks}
    for row in episodes:
        won[row.task][row.variant] += row.success / play.episodes_per_goal
    return {task: [min(1.0, each) for each in goals] for task, goals in won.items()}


def _rates(play: Play, won: Mapping[str, Sequence[float]]) -> Rates:
    per_task = {task: float(np.mean(won[task])) for task in play.tasks}
    return Rates(
        mean_success_rate=float(np.mean(list(per_task.values()))), success_rate_per_task=per_task
    )


def _completed_only(play: Play, episodes: Sequence[EpisodeRow]) -> Rates:
    done = {
        t: [r.success for r in episodes if r.task == t and r.status == "ok"] for t in play.tasks
    }
    return _rates(play, {task: [float(s) for s in rows] or [0.0] for task, rows in done.items()})


def _status_counts(episodes: Sequence[EpisodeRow], *, missing: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in episodes:
        counts[row.status] = counts.get(row.status, 0) + 1
    return {**counts, "missing": missing} if missing else counts
