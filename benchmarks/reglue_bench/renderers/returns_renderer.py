"""Returns of a frozen agent in environments that never report success."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reglue_bench.plots.seeds_view import with_training_seeds
from reglue_bench.plots.tasks import per_task
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot
from reglue_bench.renderers.renderer import (
    Renderer,
    episode_facts,
    missing_text,
    partial,
    what_differs,
)
from reglue_bench.results.result import Result

PER_TASK = (
    "Mean return of a task's planned episodes, those of a goal averaged first, with its 95 % "
    "interval."
)


def _apart(run: NamedRun, first: NamedRun) -> str:
    return (
        f"{run[0]} and {first[0]} have other plans, or have episodes whose worth is not known: "
        f"they are shown and not compared{what_differs(run, first)}."
    )


def _notes(result: Result) -> list[str]:
    lines = [
        "judged by its mean return, as whether an episode succeeded cannot be known: this "
        f"environment does not report success{instead(result)}"
    ]
    if missing := missing_text(result):
        known = "counts as the worst return" if result.mean_return is not None else "has no return"
        lines.append(f"{missing}; each {known}")
    return lines


def instead(result: Result) -> str:
    """Names the benchmark that is made for returns; nothing for files, which have names."""
    procedure, _, environment = result.benchmark.partition(":")
    if procedure != result.procedure or not environment:
        return ""
    return f"; evaluate:{environment} plays 100 seeded episodes of it, for a mean return"


def _plots(result: Result, prefix: str) -> list[Plot]:
    scores = result.score_by_task.values()
    says_more = len(scores) > 1 or any(each.interval95 for each in scores)  # than the headline
    if not says_more:
        return []
    return [per_task([("", result)], plot_id=f"{prefix}-tasks", caption=PER_TASK)]


def _beside(
    view: ComparisonView, runs: Sequence[NamedRun], _alike: Sequence[int]
) -> ComparisonView:
    combined = with_training_seeds(view, runs)
    tasks = per_task(runs, plot_id="compare-tasks", caption=PER_TASK)
    return replace(combined, plots=[*combined.plots, tasks])


RETURN = Renderer(
    apart=_apart,
    caption=lambda _first: (
        "Mean return, as the environment does not report success. Differences are in the "
        "task's units, paired episode by episode."
    ),
    notes=_notes,
    meaning=lambda _result: "mean return",
    tracks=lambda results, _alike: [None] * len(results),
    facts=episode_facts,
    counts=lambda result: {"played": result.status_counts.get("ok", 0)},
    plots=_plots,
    beside=_beside,
    beware=partial,
    reading=Path(__file__).with_name("returns.html.jinja"),
)
