"""Success: the share of planned goals that a frozen agent reaches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from reglue_bench.formatting import percent, percents
from reglue_bench.plots.goal_map import difference_map, goal_map
from reglue_bench.plots.seeds_view import with_training_seeds
from reglue_bench.plots.tasks import adaptation, per_task, steps_to_success
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot, Track
from reglue_bench.renderers.renderer import (
    Renderer,
    episode_facts,
    missing_text,
    partial,
    what_differs,
)
from reglue_bench.results.result import Result
from reglue_bench.results.scores import SuccessScore

_PER_TASK = "Share of planned goals, with its 95 % interval. What was not played is a failure."


def no_success_reported(result: Result) -> list[str]:
    """A hint if no episode ever succeeded; else nothing."""
    if "goal_visible" in result.parameters:  # Meta-World's environments do report it
        return []
    if not result.coverage.cells_completed or result.episodes_succeeded:
        return []
    return [
        "no episode reported success; if this environment never does, this score cannot tell "
        f"agents apart: {_for_returns(result)}"
    ]


def _for_returns(result: Result) -> str:
    """Advice on how to be scored by the mean return."""
    procedure, _, environment = result.benchmark.partition(":")
    if procedure == "multi-task" and environment:
        return f"evaluate:{environment} is judged by its mean return"
    return "set tells_success = False, and the mean return is the score"


def _apart(run: NamedRun, first: NamedRun) -> str:
    return (
        f"{run[0]} and {first[0]} have no goal in common, and are shown and not compared"
        f"{what_differs(run, first)}."
    )


def _notes(result: Result) -> list[str]:
    notes = no_success_reported(result)
    score = result.score_as(SuccessScore)
    if score.upstream is not None:
        notes.append(
            f"metaworld.evaluation counts {percent(score.upstream.mean_success_rate)} in these "
            "episodes: the first of each task to finish, so fast successes crowd out slow failures"
        )
    if missing := missing_text(result):
        rate = percent(score.completed_only.mean_success_rate)
        alone = f" (success of those completed: {rate})"
        none = not result.coverage.cells_completed
        end = ", and none was completed" if none else alone
        notes.append(f"{missing}; each counts as a failure{end}")
    return notes


def _tracks(results: Sequence[Result], _alike: Collection[int]) -> list[Track | None]:
    ends = ("0 %", "50 %", "100 %")
    tracks: list[Track | None] = []
    for score in (each.score_as(SuccessScore) for each in results):
        rate, interval = score.mean_success_rate, score.interval95
        text = percent(rate) + (f", 95 % interval {percents(interval)}" if interval else "")
        tracks.append(Track(rate, *(interval or (rate, rate)), alt=text, ends=ends))
    return tracks


def _counts(result: Result) -> dict[str, int]:
    won = result.coverage.cells_succeeded
    return {"success": won, "failure": result.status_counts.get("ok", 0) - won}


def _plots(result: Result, prefix: str) -> list[Plot]:
    plots = [per_task([("", result)], plot_id=f"{prefix}-tasks", caption=_PER_TASK)]
    if (before := result.score_as(SuccessScore).before_adaptation) is not None:
        plots.append(adaptation(result, before, plot_id=f"{prefix}-adaptation"))
    if not result.has_episodes:
        return plots
    plots.append(goal_map(result, plot_id=f"{prefix}-goals"))
    if result.coverage.cells_succeeded:
        plots.append(steps_to_success(result, plot_id=f"{prefix}-steps"))
    return plots


def _beside(
    view: ComparisonView, runs: Sequence[NamedRun], _alike: Sequence[int]
) -> ComparisonView:
    maps = [difference_map(runs, place) for place in range(1, len(runs))]
    combined = with_training_seeds(view, runs)
    return replace(
        combined,
        plots=[*combined.plots, per_task(runs, plot_id="compare-tasks", caption=_PER_TASK)],
        maps=[each for each in maps if each is not None],
    )


SUCCESS = Renderer(
    apart=_apart,
    caption=lambda _first: (
        "Success over planned goals. Differences are in percentage points, paired goal by goal."
    ),
    notes=_notes,
    meaning=lambda _result: "success",
    tracks=_tracks,
    facts=episode_facts,
    counts=_counts,
    plots=_plots,
    beside=_beside,
    beware=partial,
    reading=Path(__file__).with_name("success.html.jinja"),
)
