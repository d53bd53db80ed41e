"""Performance: what an agent earns while it learns, over independent runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from rich.table import Table

from reglue_bench.float_range import mean, share
from reglue_bench.formatting import count, number, plural, value, values
from reglue_bench.measures.measures import measure_text
from reglue_bench.plots.figures import colour
from reglue_bench.plots.learning_plots import PlottedScore, learning_plots
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot, Track
from reglue_bench.renderers.renderer import (
    Renderer,
    Sentences,
    completed_text,
    missing_text,
    what_differs,
)
from reglue_bench.renderers.score_table import table_of
from reglue_bench.results.learning import lowest_of
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore

_PARTS = 10  # of a run, one in a row of the table


def _score(result: Result) -> PerformanceScore:
    return result.score_as(PerformanceScore)


def _lowest(result: Result) -> float:
    return lowest_of(result.parameters, _score(result).runs)


def _apart(run: NamedRun, first: NamedRun) -> str:
    for name, result in (run, first):
        if result.score.value is None:
            return f"{name} has no score, and is not compared."
    return (
        f"{run[0]} and {first[0]} did not measure the same, and are shown and not compared"
        f"{what_differs(run, first)}."
    )


def _caption(first: Result) -> str:
    return (
        f"Performance: {measure_text(_score(first))}, mean over runs. Differences are in "
        "the task's units, paired run by run."
    )


def _table(result: Result) -> Table:
    """Means over the completed runs, by tenths of a run; then the performance of all runs."""
    score, rows = _score(result), []
    lines = [score.curve.mean, *([score.episode_steps.mean] if score.episode_steps else [])]
    at = [0, *score.curve.at]
    rows_wanted = min(_PARTS, len(score.curve.at))
    ends = (
        [len(score.curve.at) * place // rows_wanted for place in range(rows_wanted + 1)]
        if rows_wanted
        else []
    )
    for begin, end in pairwise(ends):
        first, last = at[begin] + 1, at[end]
        name = f"{first:,} – {last:,}" if first < last else f"{last:,}"
        parts = (line[begin:end] for line in lines)
        rows.append([name, *(number(mean(each)) for each in parts)])
    performance = "withheld" if score.performance is None else number(score.performance)
    columns = ["mean return", "steps per episode"] if score.episode_steps else ["reward per step"]
    return table_of(result, [score.counted_in, *columns], rows, ["performance", performance])


def _headline(result: Result) -> list[str]:
    score = _score(result)
    runs, parts = score.runs, [f"performance: {_meaning(result)}"]
    if score.interval95 is not None:
        low, high = score.interval95
        parts.append(f"95 % interval {number(low)} to {number(high)} (t, n = {len(runs)})")
    elif len(runs) == 1:
        parts.append("a single run has no interval")
    return ["; ".join(parts), _freshness(score)]


def _notes(result: Result) -> list[str]:
    score, missing = _score(result), missing_text(result)
    notes = [*([missing] if missing else []), *_beware(score)]
    if score.completed_only is not None and not _is_whole(score):
        notes.append(
            f"the {plural(len(score.completed), 'completed run')} alone: "
            f"{value(score.completed_only)}, without the runs that were not played to their end; "
            "if runs that go badly end early more often, that is too good"
        )
    return notes


def _beware(score: PerformanceScore) -> list[str]:
    """What runs that the agent's own fault ended count as, and why there is no performance."""
    lines = []
    if score.given_up:
        assert score.worst_performance is not None
        lines.append(
            f"{len(score.given_up)} of {len(score.runs)} runs ended by the agent's own fault; "
            f"each counts as the worst performance, {number(score.worst_performance)}"
        )
    if score.performance is None:
        lines.append(f"no score: {score.withheld}; it is not ranked, and not compared")
    return lines


def _freshness(score: PerformanceScore) -> str:
    """What makes the agent of each run naive."""
    if score.fresh_agent == "process":
        return "each run has an agent process of its own"
    return (
        "one agent plays all runs; that its agent_init makes it naive before each cannot be checked"
    )


def _meaning(result: Result) -> str:
    score = _score(result)
    return f"{measure_text(score)}, mean over {plural(len(score.runs), 'run')}"


def _tracks(results: Sequence[Result], alike: Collection[int]) -> list[Track | None]:
    """The scores on one scale that holds every run and interval; None without spread.

    Also None if a run was not played to its end: the worst performance would dwarf the rest.
    """
    scores = [_score(result) for result in results]
    compared = [s for place, s in enumerate(scores) if place in alike and _is_whole(s)]
    values = [each for score in compared for each in (*_marks(score), *(score.interval95 or ()))]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return [_track(each, low, high) if each in compared and low < high else None for each in scores]


def _is_whole(score: PerformanceScore) -> bool:
    return len(score.completed) == len(score.runs)


def _marks(score: PerformanceScore) -> list[float]:
    return [run.performance for run in score.completed if run.performance is not None]


def _track(score: PerformanceScore, least: float, most: float) -> Track | None:
    if score.performance is None:
        return None
    low, high = score.interval95 or (score.performance, score.performance)
    text = f"{value(score.performance)} on a scale from {value(least)} to {value(most)}"
    if score.interval95 is not None:
        text += f", 95 % interval {values(score.interval95)}"

    def place(amount: float) -> float:
        return share(amount, least, most)

    return Track(
        at=place(score.performance),
        low=place(low),
        high=place(high),
        alt=text,
        ends=(value(least), value(most)),
        marks=[place(each) for each in _marks(score)],
    )


def _facts(result: Result) -> Sentences:
    score = _score(result)
    each = f"{count(score.quota)} {score.counted_in} each"
    return [("runs", f"{completed_text(result)}, {each}"), ("a naive agent", _freshness(score))]


def _plots(result: Result, prefix: str) -> list[Plot]:
    plotted = PlottedScore("", _score(result), colour(0), _lowest(result))
    return learning_plots([plotted], prefix=prefix)


def _beside(view: ComparisonView, runs: Sequence[NamedRun], alike: Sequence[int]) -> ComparisonView:
    agents = [
        PlottedScore(name, _score(result), colour(at), _lowest(result))
        for at in alike
        for name, result in [runs[at]]
    ]
    return replace(view, plots=learning_plots(agents, prefix="compare"))


def _completed(result: Result) -> str:
    score = _score(result)
    return f"{count(len(score.completed))} of {count(len(score.runs))}"


PERFORMANCE = Renderer(
    apart=_apart,
    caption=_caption,
    notes=_notes,
    table=_table,
    headline=_headline,
    meaning=_meaning,
    tracks=_tracks,
    facts=_facts,
    counts=lambda result: {"played": result.status_counts.get("ok", 0)},
    plots=_plots,
    beside=_beside,
    played=_completed,
    beware=lambda name, result: [f"{name}: {words}." for words in _beware(_score(result))],
    reading=Path(__file__).with_name("performance.html.jinja"),
)
