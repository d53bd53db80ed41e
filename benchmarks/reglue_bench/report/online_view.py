"""What the page says about runs of agents that learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reglue.errors import UsageError
from reglue_bench.report.compare_view import badges
from reglue_bench.report.comparison_plots import Named
from reglue_bench.report.figures import NEUTRAL, SUCCESS, colour
from reglue_bench.report.learning_comparison_plots import Shown, compared
from reglue_bench.report.learning_plots import learning_plots
from reglue_bench.report.pairs import (
    Judged,
    compared_row,
    every_pair,
    pair_note,
    power_notes,
    verdict,
)
from reglue_bench.report.run_view import (
    SHADES,
    clipped_actions,
    ending_and_baseline,
    parameters,
    what_it_took,
    who_and_what,
)
from reglue_bench.report.tracks import value_tracks
from reglue_bench.report.views import ComparisonView, Row, Run, Share, Track
from reglue_bench.report.words import (
    STATUSES,
    count,
    plural,
    sentence,
    signed,
    value,
    values,
)
from reglue_bench.results.result import OnlineScore, Result
from reglue_bench.statistics.compare import Difference, compare_all
from reglue_bench.terminal.learning_summary import (
    how_fresh,
    scored_as_worst,
    what_is_measured,
    why_withheld,
)

RUNS = Judged(
    unit="run",
    least=2,
    enough="two runs of either",
    score="performance",
    amount=signed,
)


def online_view(name: str, result: Result, *, run_id: str) -> Run:
    """Everything the page says about an online result."""
    online = _online(result)
    runs = plural(len(online.runs), "run")
    return Run(
        id=run_id,
        name=name,
        score="no score" if online.performance is None else value(online.performance),
        meaning=f"{what_is_measured(online)}, mean over {runs}",
        interval="" if online.interval95 is None else values(online.interval95),
        track=value_tracks([online])[0],
        notes=_notes(result, online),
        facts=[*who_and_what(result), *_facts(result, online), *parameters(result)],
        planned="Planned runs",
        statuses=_statuses(result),
        plots=learning_plots(online, prefix=run_id),
        **what_it_took(result),
    )


def online_comparison(runs: Sequence[Named]) -> ComparisonView:
    """Every agent against the first."""
    found = compare_all([run for _, run in runs])
    scores = [_online(run) for _, run in runs]
    alike = [place for place in range(len(runs)) if place == 0 or (place, 0) in found]
    shown = [Shown(runs[place][0], scores[place], colour(place)) for place in alike]
    tracks = dict(zip(alike, value_tracks([each.online for each in shown]), strict=True))
    names = [name for name, _ in runs]
    ranked = {
        place: performance
        for place in alike
        if (performance := scores[place].performance) is not None
        and runs[place][1].complete
        and not runs[place][1].baseline
    }
    return ComparisonView(
        score="performance",
        verdict=verdict(names, ranked, found, RUNS),
        pairs=every_pair(names, found, RUNS),
        caption=f"Performance: {what_is_measured(scores[0])}, mean over runs. Differences are "
        "in the task's units, paired run by run.",
        rows=[
            _row(place, named, tracks.get(place), found.get((place, 0)))
            for place, named in enumerate(runs)
        ],
        notes=_comparison_notes(runs, found),
        plots=compared(shown),
    )


def _row(place: int, named: Named, track: Track | None, found: Difference | None) -> Row:
    name, run = named
    online = _online(run)
    row = Row(
        name=name,
        colour=colour(place),
        badges=badges(run),
        track=track,
        score="–" if online.performance is None else value(online.performance),
        score_interval=values(online.interval95) if online.interval95 else "",
        played=f"{count(len(online.completed))} of {count(len(online.runs))}",
    )
    return row if found is None else compared_row(row, found, RUNS)


def _notes(result: Result, online: OnlineScore) -> list[str]:
    notes = [sentence(words) for words in (*scored_as_worst(online), *why_withheld(online))]
    if online.completed_only is not None and len(online.completed) < len(online.runs):
        notes.append(
            f"The {plural(len(online.completed), 'completed run')} alone: "
            f"{value(online.completed_only)}, in which what was not played to its end is left out; "
            "if runs that go badly end early more often, that is too good."
        )
    return [*notes, *ending_and_baseline(result)]


def _comparison_notes(
    runs: Sequence[Named], found: Mapping[tuple[int, int], Difference]
) -> list[str]:
    first = runs[0][0]
    notes = [
        pair_note(name, first, found[place, 0], RUNS)
        if (place, 0) in found
        else _side_by_side(runs[place], runs[0])
        for place, (name, _) in enumerate(runs[1:], 1)
    ]
    notes += power_notes(found, RUNS)
    notes += [
        f"{name}: {words}."
        for name, run in runs
        for words in (*scored_as_worst(_online(run)), *why_withheld(_online(run)))
    ]
    if any(run.baseline for _, run in runs):
        notes.append("Baselines were told what the benchmark hides: they are not to be ranked.")
    return [note for note in dict.fromkeys(notes) if note]


def _side_by_side(named: Named, first: Named) -> str:
    for name, run in (named, first):
        if _online(run).performance is None:
            return f"{name} has no score, and is not compared."
    return (
        f"{named[0]} and {first[0]} did not measure the same (another environment, length of a "
        "run, measure or worst performance): they stand side by side and are not compared."
    )


def _facts(result: Result, online: OnlineScore) -> list[tuple[str, str]]:
    return [
        (
            "runs",
            f"{count(len(online.completed))} of {count(len(online.runs))} completed, "
            f"{count(online.quota)} {online.counted_in} each",
        ),
        ("a naive agent", how_fresh(online)),
        clipped_actions(result),
    ]


def _statuses(result: Result) -> list[Share]:
    total = max(1, sum(result.status_counts.values()))
    shades = SHADES | {"ok": SUCCESS}
    words = STATUSES | {"ok": "played to their end"}
    return [
        Share(words.get(status, status), count(n), n / total, shades.get(status, NEUTRAL))
        for status, n in sorted(result.status_counts.items(), key=lambda each: each[0] != "ok")
    ]


def _online(result: Result) -> OnlineScore:
    if result.online is None:
        raise UsageError(
            f"{result.benchmark} is not an online benchmark; compare it in a report of its own"
        )
    return result.online
