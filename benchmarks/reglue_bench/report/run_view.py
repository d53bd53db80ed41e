"""What the page says about one run, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reglue_bench.report.figures import FAILURE, SUCCESS, Plot
from reglue_bench.report.plots import run_plots
from reglue_bench.report.words import (
    PROCEDURES,
    STATUSES,
    count,
    percent,
    percents,
    plural,
    seconds,
)
from reglue_bench.result import Result

SHADES = {
    "success": SUCCESS,
    "failure": FAILURE,
    "agent_error": "#d4526e",
    "agent_timeout": "#b064c8",
    "agent_disconnected": "#7a5cc8",
    "agent_abandoned": "#c9a227",
    "environment_error": "#6c5a4e",
    "missing": "rgba(140,145,155,0.4)",
}


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a stacked bar."""

    label: str
    value: str
    share: float  # 0 to 1
    colour: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the template shows it."""

    id: str
    name: str
    result: Result
    rate: str
    interval: str
    badges: Sequence[tuple[str, str]]  # kind, words
    notes: Sequence[str]
    facts: Sequence[tuple[str, str]]
    statuses: Sequence[Share]
    time: Sequence[Share]
    wall: str
    steps: str
    steps_share: float
    versions: str
    plots: Sequence[Plot]


def run_view(name: str, result: Result, *, run_id: str) -> Run:
    """Everything the page says about a run."""
    counted, executed = result.steps.counted, result.steps.executed
    share = counted / executed if executed else 0.0
    return Run(
        id=run_id,
        name=name,
        result=result,
        rate=percent(result.mean_success_rate),
        interval=percents(result.intervals95.mean_success_rate),
        badges=_badges(result),
        notes=_notes(result),
        facts=_facts(result),
        statuses=_statuses(result),
        time=_time(result),
        wall=seconds(result.seconds.wall),
        steps=f"{count(counted)} of {count(executed)} simulated steps count",
        steps_share=share,
        versions=", ".join(f"{each} {v}" for each, v in sorted(result.versions.items())),
        plots=run_plots(result, prefix=run_id),
    )


def _badges(result: Result) -> list[tuple[str, str]]:
    badges = [("good", "complete")] if result.complete else [("warn", "partial")]
    if _faults(result):
        badges.append(("warn", plural(_faults(result), "fault")))
    if result.baseline:
        badges.append(("info", "baseline"))
    return badges


def _notes(result: Result) -> list[str]:
    notes = []
    missing = result.status_counts.get("missing", 0)
    if missing or not result.complete:
        notes.append(
            f"This run is partial: {plural(missing, 'planned episode')} not played, and counted "
            f"as failures. Of the completed episodes alone, success is "
            f"{percent(result.completed_only.mean_success_rate)}."
        )
    elif _faults(result):
        notes.append(
            f"{plural(_faults(result), 'episode')} ended in a fault and count as failures. Of "
            f"the completed episodes alone, success is "
            f"{percent(result.completed_only.mean_success_rate)}."
        )
    if result.ended_early is not None:
        words = result.ended_early.what.splitlines()[0]
        notes.append(f"It ended early ({result.ended_early.status}): {words}")
    if result.baseline:
        notes.append(
            "A baseline, not to be ranked: this run was told what the benchmark hides "
            f"({', '.join(result.baseline)})."
        )
    return notes


def _facts(result: Result) -> list[tuple[str, str]]:
    agent, coverage = result.agent, result.coverage
    facts = [
        ("agent", agent.label if agent.label == agent.name else f"{agent.label} ({agent.name})"),
        ("training seed", "" if agent.training_seed is None else str(agent.training_seed)),
        ("checkpoint", (agent.checkpoint_sha256 or "")[:12]),
        ("benchmark", result.benchmark),
        ("procedure", PROCEDURES.get(result.procedure, result.procedure)),
        ("seed", str(result.seed)),
        ("slots", str(result.slots)),
        ("plan", result.plan_sha256[:12]),
        (
            "episodes",
            f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} completed",
        ),
        ("goals", f"{count(coverage.goals_planned)} of the benchmark's {coverage.goals_total:,}"),
        ("clipped actions", f"in {plural(result.clipped_steps, 'step')}"),
    ]
    if result.parameters:
        named = (f"{name} = {value}" for name, value in sorted(result.parameters.items()))
        facts.append(("parameters", ", ".join(named)))
    return [(name, value) for name, value in facts if value]


def _statuses(result: Result) -> list[Share]:
    """Evaluation episodes by outcome, those that were completed by success."""
    played = [row for row in result.episodes if row.phase == "evaluate"]
    won = sum(row.success for row in played if row.status == "ok")
    counts = {"success": won, "failure": result.status_counts.get("ok", 0) - won}
    counts.update({name: n for name, n in result.status_counts.items() if name != "ok"})
    total = max(1, sum(counts.values()))
    return [
        Share(STATUSES.get(name, name), count(counts[name]), counts[name] / total, shade)
        for name, shade in SHADES.items()
        if counts.get(name)
    ]


def _time(result: Result) -> list[Share]:
    spent = result.seconds
    parts = (
        ("the agent", spent.agent, "#3f7fdc"),
        ("environments", spent.environment, "#2a9d8f"),
        ("the glue", spent.glue, "#c9a227"),
    )
    total = sum(duration for _, duration, _ in parts) or 1.0
    return [
        Share(name, seconds(duration), duration / total, shade) for name, duration, shade in parts
    ]


def _faults(result: Result) -> int:
    return sum(n for name, n in result.status_counts.items() if name not in ("ok", "missing"))
