"""The page's contents: of one run, and of several that are compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reglue.errors import UsageError
from reglue_bench.float_range import share
from reglue_bench.formatting import (
    STATUSES,
    count,
    plural,
    seconds,
)
from reglue_bench.measures.compare import Difference, compare_all
from reglue_bench.plots import compared
from reglue_bench.plots.compared import Seeds, score_and_interval
from reglue_bench.plots.figures import FAILURE, SUCCESS, NamedRun, Plot, Table
from reglue_bench.plots.learning_plots import training_plots
from reglue_bench.renderers.renderer import renderer_of
from reglue_bench.report.frames import Frame
from reglue_bench.results.result import Measure, Result
from reglue_bench.statistics import Interval

SHADES = {
    "success": SUCCESS,
    "failure": FAILURE,
    "played": SUCCESS,
    "agent_error": "#d4526e",
    "agent_timeout": "#b064c8",
    "agent_disconnected": "#7a5cc8",
    "agent_abandoned": "#c9a227",
    "crashed": "#e07b39",
    "environment_error": "#6c5a4e",
    "environment_lost": "#8a8079",
    "missing": "rgba(140,145,155,0.4)",
}

_RATES = ("0 %", "50 %", "100 %")


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a stacked bar."""

    label: str
    value: str
    share: float  # 0 to 1
    colour: str


@dataclass(frozen=True, slots=True)
class Track:
    """A score and its interval on a line from 0 to 1 with named ends."""

    at: float
    low: float
    high: float
    alt: str  # alternative text
    ends: Sequence[str] = ()  # what is written below, from left to right
    marks: Sequence[float] = ()  # single runs


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the template shows it, which takes the rest from its result."""

    id: str
    name: str
    result: Result
    track: Track | None
    plots: Sequence[Plot]
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Several runs as the template shows them."""

    caption: str
    runs: Table  # a row for each, in their order
    badges: Sequence[str]  # of each run
    tracks: Sequence[Track | None]  # of each run
    notes: Sequence[str]
    differences: Mapping[tuple[int, int], Difference]  # later minus earlier, by their places
    verdict: str  # which run has the best score, and whether significantly; may be empty
    pairs: Table | None  # a row for each pair of runs
    seeds: Seeds | None  # agents over their training seeds, if any have several
    plots: Sequence[Plot]
    maps: Sequence[Plot]  # of goals, each run against the first


def comparison_view(runs: Sequence[NamedRun]) -> ComparisonView:
    """Compare every run with the first. Raises UsageError if their measures differ."""
    measure, results = _measure(runs), [run for _, run in runs]
    renderer = renderer_of(results[0])
    names, differences = [name for name, _ in runs], compare_all(results)
    alike = [place for place in range(len(runs)) if place == 0 or (place, 0) in differences]
    has_others = any(earlier > 0 for _, earlier in differences)  # than those to the first
    seeds = compared.agents_over_seeds(runs)
    has_rank = seeds is None or not seeds.are_all  # a training seed has none of its own
    return ComparisonView(
        caption=renderer.caption(results[0]),
        verdict=compared.verdict(names, _ranked(results, alike), differences, measure)
        if has_rank
        else "",
        pairs=compared.pair_table(names, differences, measure) if has_others else None,
        runs=compared.run_table(runs, [differences.get((at, 0)) for at in range(len(runs))]),
        badges=[caveats(run) for run in results],
        tracks=tracks_of(results, alike),
        notes=_comparison_notes(runs, differences, measure),
        differences=differences,
        seeds=seeds,
        plots=[
            *([seeds.profile] if seeds else []),
            *renderer.plots(runs, alike, "compare"),
            *training_plots([runs[place] for place in alike], prefix="compare"),
        ],
        maps=renderer.maps(runs),
    )


def caveats(run: Result) -> str:
    """The caveats of a run in the table of several runs, a word or two each."""
    labels = [] if run.complete else ["partial"]
    labels += renderer_of(run).remarks(run)
    return ", ".join([*labels, *(["privileged"] if run.privileged else [])])


def why_not_compared(run: NamedRun, first: NamedRun) -> str:
    """A sentence with the reason why two runs are not compared."""
    for name, result in (run, first):
        if result.score.value is None:
            return f"{name} has no score, and is not compared."
    differ = first[1].differences(run[1], called=(f"in {first[0]}", f"in {run[0]}"))
    what = f": {'; '.join(differ)}" if differ else ""
    return f"{run[0]} and {first[0]} {renderer_of(first[1]).not_compared}{what}."


def run_view(name: str, result: Result, *, run_id: str, frames: Sequence[Frame] = ()) -> RunView:
    """A run as the page shows it."""
    alone = [("", result)]
    plots = [
        *renderer_of(result).plots(alone, [0], run_id),
        *training_plots(alone, prefix=run_id),
    ]
    return RunView(run_id, name, result, tracks_of([result], [0])[0], plots, frames)


def tracks_of(results: Sequence[Result], alike: Collection[int]) -> list[Track | None]:
    """The scores of results of one measure on lines; `alike` are the places of those that compare.

    Rates lie between 0 and 1. The performance of agents that learn lies on one scale, which holds
    every run and interval. There is none of returns, without spread, and of agents with runs that
    were not played to their end: the worst performance would dwarf the rest.
    """
    measure = results[0].measure
    if measure.is_rate:
        return [_track(result, [], (0.0, 1.0), _RATES) for result in results]
    marks = [_marks(result) if measure.unit == "run" else [] for result in results]
    spreads = [(*marks[at], *(results[at].interval95 or ())) for at in alike if marks[at]]
    ends = min(map(min, spreads), default=0.0), max(map(max, spreads), default=0.0)
    low, high = map(measure.amount, ends)
    return [
        _track(result, of, ends, (low, high)) if of and at in alike and ends[0] < ends[1] else None
        for at, (result, of) in enumerate(zip(results, marks, strict=True))
    ]


def _marks(result: Result) -> list[float]:
    """The values of all units; nothing if one was not played to its end."""
    units = result.units
    is_whole = all(unit.status == "ok" for unit in units)
    return [unit.value for unit in units if is_whole and unit.value is not None]


def _track(
    result: Result, marks: Sequence[float], of: Interval, ends: Sequence[str]
) -> Track | None:
    score, (text, interval) = result.score, score_and_interval(result)
    if score.value is None:
        return None
    if not result.measure.is_rate:
        text += f" on a scale from {ends[0]} to {ends[-1]}"
    low, high = score.interval95 or (score.value, score.value)
    return Track(
        at=share(score.value, *of),
        low=share(low, *of),
        high=share(high, *of),
        alt=f"{text}, 95 % interval {interval}" if interval else text,
        ends=ends,
        marks=[share(each, *of) for each in marks],
    )


def _measure(runs: Sequence[NamedRun]) -> Measure:
    """The measure of all runs. Raises UsageError if they have several."""
    _, first = runs[0]
    for name, run in runs[1:]:
        if run.measure != first.measure:
            raise UsageError(
                f"{name} on {run.benchmark} is judged by its {run.measure.name}, and {runs[0][0]} "
                f"on {first.benchmark} by its {first.measure.name}: compare it in a separate report"
            )
    return first.measure


def _ranked(results: Sequence[Result], alike: Sequence[int]) -> dict[int, float]:
    """Scores, by place, of complete comparable runs whose agents saw nothing hidden."""
    scores = {
        place: run.score.value
        for place, run in enumerate(results)
        if run.complete and not run.privileged and place in alike
    }
    return {place: score for place, score in scores.items() if score is not None}


def _comparison_notes(
    runs: Sequence[NamedRun], differences: Mapping[tuple[int, int], Difference], measure: Measure
) -> list[str]:
    notes, first = [], runs[0]
    for place, run in enumerate(runs[1:], 1):
        each = differences.get((place, 0))
        if each is None:
            notes.append(why_not_compared(run, first))
            continue
        if not each.same_plan:
            notes.append(
                f"{run[0]} and {first[0]} played different plans: they are paired on the "
                f"{each.pairs} {measure.unit}s that both played."
            )
        notes.append(compared.pair_note(run[0], first[0], each, measure))
    notes += compared.power_notes(differences, measure)
    for name, result in runs:
        notes += renderer_of(result).beware(name, result)
    if any(run.privileged for _, run in runs):
        notes.append("Privileged agents were told what the benchmark hides, and are not ranked.")
    return [note for note in dict.fromkeys(notes) if note]


def badges(result: Result) -> list[tuple[str, str]]:
    """The kinds and words of a run's badges."""
    problems = [] if result.complete else ["partial"]
    problems += [plural(_faults(result), "fault")] if _faults(result) else []
    first = ("warn", ", ".join(problems)) if problems else ("good", "complete")
    return [first, *([("info", "privileged")] if result.privileged else [])]


def statuses(result: Result) -> list[Share]:
    """The shares of planned episodes (or runs) by how they ended."""
    counts = dict(result.status_counts)
    ended, won = counts.pop("ok", 0), result.coverage.cells_succeeded
    is_rate = result.measure.is_rate
    counts |= {"success": won, "failure": ended - won} if is_rate else {"played": ended}
    total = max(1, sum(counts.values()))
    return [
        Share(STATUSES.get(name, name), count(counts[name]), counts[name] / total, shade)
        for name, shade in SHADES.items()
        if counts.get(name)
    ]


def times(result: Result) -> list[Share]:
    """The shares of the time."""
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
