"""Returns of a frozen agent over episodes whose seeds are known, with success beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reglue_bench.formatting import percent, percents, plural
from reglue_bench.measures.measures import evaluated
from reglue_bench.plots.returns_plots import returns
from reglue_bench.plots.seeds_view import with_training_seeds
from reglue_bench.plots.tasks import per_task
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot
from reglue_bench.renderers.renderer import (
    Sentences,
    episode_facts,
    missing_text,
    what_differs,
)
from reglue_bench.renderers.returns_renderer import PER_TASK, RETURN
from reglue_bench.results.result import Result
from reglue_bench.results.scores import ReturnScore, Success


def _apart(run: NamedRun, first: NamedRun) -> str:
    for name, result in (run, first):
        if result.score.value is None:
            return f"{name} has no score, and is not compared."
    return (
        f"{run[0]} and {first[0]} have no episode in common, and are shown and not compared"
        f"{what_differs(run, first)}."
    )


def reported_success(result: Result) -> Success | None:
    """Success, if an episode reported it: most environments never do."""
    return result.score_as(ReturnScore).success if result.episodes_succeeded else None


def success_text(success: Success) -> str:
    """`83.0 %, 95 % interval 74.5 to 89.1 %`."""
    interval = success.intervals95.mean
    suffix = f", 95 % interval {percents(interval)}" if interval else ""
    return f"{percent(success.mean_success_rate)}{suffix}"


def _headline(result: Result) -> list[str]:
    success = reported_success(result)
    return [f"success {success_text(success)}"] if success else []


def _notes(result: Result) -> list[str]:
    lines = []
    if result.score_as(ReturnScore).success and not result.episodes_succeeded:
        lines.append("no episode reported success, as most environments never do")
    if cut_off := result.episodes_cut_off:
        limit = result.parameters["episode_limit"]
        lines.append(f"{plural(cut_off, 'episode')} cut off at the episode limit of {limit} steps")
    if missing := missing_text(result):
        known = "counts as the worst return" if result.mean_return is not None else "has no return"
        lines.append(f"{missing}; each {known}")
    elif result.interval95 is None and result.coverage.cells_planned > 1:
        lines.append("no interval: the returns of all episodes are equal")
    return lines


def _facts(result: Result) -> Sentences:
    facts = [*episode_facts(result)]
    if result.has_episodes:
        seeds = {row.seed for row in evaluated(result)}
        if seeds and None not in seeds:
            known = [seed for seed in seeds if seed is not None]
            facts.append(("seeds of environments", f"{min(known)} to {max(known)}"))
    if success := reported_success(result):
        facts.append(("success", success_text(success)))
    return facts


def _plots(result: Result, prefix: str) -> list[Plot]:
    plots = []
    if result.has_episodes and result.coverage.cells_completed:
        plots.append(returns([("", result)], plot_id=f"{prefix}-returns"))
    if len(result.returns_per_task) > 1:
        plots.append(per_task([("", result)], plot_id=f"{prefix}-tasks", caption=PER_TASK))
    return plots


def _beside(
    view: ComparisonView, runs: Sequence[NamedRun], _alike: Sequence[int]
) -> ComparisonView:
    plots = []
    if has_strips := all(run.has_episodes for _, run in runs):
        plots.append(returns(runs, plot_id="compare-returns"))
    if not has_strips or len(runs[0][1].returns_per_task) > 1:  # strips have the means too
        plots.append(per_task(runs, plot_id="compare-tasks", caption=PER_TASK))
    combined = with_training_seeds(view, runs)
    return replace(combined, plots=[*combined.plots, *plots])


SEEDED_RETURN = replace(
    RETURN,
    apart=_apart,
    caption=lambda _first: (
        "Mean return over episodes. Differences are in the task's units, paired by the seeds that "
        "both runs played."
    ),
    notes=_notes,
    headline=_headline,
    facts=_facts,
    plots=_plots,
    beside=_beside,
    reading=Path(__file__).with_name("seeded_returns.html.jinja"),
)
