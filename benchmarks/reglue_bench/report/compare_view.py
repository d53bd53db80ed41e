"""What the page says about several runs, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reglue.errors import UsageError
from reglue_bench.formatting import percent
from reglue_bench.measures.compare import Difference, compare_all
from reglue_bench.plots.agent_plots import colours
from reglue_bench.plots.pairs import compared_row, every_pair, pair_note, power_notes, verdict
from reglue_bench.plots.training_plots import training_plots
from reglue_bench.plots.views import ComparisonView, NamedRun, Row, Track
from reglue_bench.renderers import renderer_of
from reglue_bench.report.run_view import score_and_interval
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import SuccessScore


def comparison_view(runs: Sequence[NamedRun]) -> ComparisonView:
    """Compare every run with the first. Raises UsageError if their measures differ."""
    measure, results = _measure(runs), [run for _, run in runs]
    renderer = renderer_of(results[0])
    names, differences = [name for name, _ in runs], compare_all(results)
    alike = [place for place in range(len(runs)) if place == 0 or (place, 0) in differences]
    tracks = renderer.tracks(results, alike)
    view = ComparisonView(
        caption=renderer.caption(results[0]),
        verdict=verdict(names, _ranked(results, alike), differences, measure),
        pairs=every_pair(names, differences, measure),
        rows=[
            _row(named_run, shade, tracks[place], differences.get((place, 0)))
            for place, (named_run, shade) in enumerate(zip(runs, colours(runs), strict=True))
        ],
        notes=_notes(runs, differences, measure),
        differences=differences,
    )
    combined = renderer.beside(view, runs, alike)
    trained = training_plots([runs[place] for place in alike], prefix="compare")
    return replace(combined, plots=[*combined.plots, *trained])


def _measure(runs: Sequence[NamedRun]) -> Measure:
    """What all are judged by. Raises UsageError for several scores."""
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


def _row(
    named_run: NamedRun, shade: str, track: Track | None, difference: Difference | None
) -> Row:
    name, run = named_run
    score, interval = score_and_interval(run)
    row = Row(
        name=name,
        colour=shade,
        badges=badges(run),
        track=track,
        score=score or "–",
        score_interval=interval,
        played=renderer_of(run).played(run),
    )
    return row if difference is None else compared_row(row, difference, run.measure)


def badges(run: Result) -> str:
    """Caveats, in a word or two."""
    labels = [] if run.complete else ["partial"]
    if isinstance(run.score, SuccessScore) and run.score.upstream is not None:
        labels.append(f"metaworld.evaluation: {percent(run.score.upstream.mean_success_rate)}")
    return ", ".join([*labels, *(["privileged"] if run.privileged else [])])


def _notes(
    runs: Sequence[NamedRun], differences: Mapping[tuple[int, int], Difference], measure: Measure
) -> list[str]:
    notes, first = [], runs[0]
    for place, run in enumerate(runs[1:], 1):
        each = differences.get((place, 0))
        if each is None:
            notes.append(renderer_of(first[1]).apart(run, first))
            continue
        if not each.same_plan:
            notes.append(
                f"{run[0]} and {first[0]} played different plans: they are paired on the "
                f"{each.pairs} {measure.unit}s that both played."
            )
        notes.append(pair_note(run[0], first[0], each, measure))
    notes += power_notes(differences, measure)
    for name, result in runs:
        notes += renderer_of(result).beware(name, result)
    if any(run.privileged for _, run in runs):
        notes.append("Privileged agents were told what the benchmark hides, and are not ranked.")
    return [note for note in dict.fromkeys(notes) if note]
