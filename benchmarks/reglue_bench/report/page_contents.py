"""The page's contents: of one run, and of several that are compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from reglue.errors import UsageError
from reglue_bench.float_range import share
from reglue_bench.formatting import (
    STATUSES,
    count,
    isolation_text,
    percent,
    plural,
    seconds,
    sentence,
)
from reglue_bench.measures.compare import Difference, compare_all
from reglue_bench.plots import compared
from reglue_bench.plots.figures import FAILURE, SUCCESS
from reglue_bench.plots.learning_plots import training_plots
from reglue_bench.plots.task_plots import difference_map
from reglue_bench.plots.views import ComparisonView, Frame, NamedRun, Row, Run, Share, Track
from reglue_bench.procedures import PROCEDURES
from reglue_bench.renderers import renderer_of
from reglue_bench.renderers.result_notes import notes
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import SuccessScore
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


def comparison_view(runs: Sequence[NamedRun]) -> ComparisonView:
    """Compare every run with the first. Raises UsageError if their measures differ."""
    measure, results = _measure(runs), [run for _, run in runs]
    renderer = renderer_of(results[0])
    names, differences = [name for name, _ in runs], compare_all(results)
    shades = compared.colours(runs)
    alike = [place for place in range(len(runs)) if place == 0 or (place, 0) in differences]
    tracks = tracks_of(results, alike)
    has_others = any(earlier > 0 for _, earlier in differences)  # than those to the first
    view = ComparisonView(
        caption=renderer.caption(results[0]),
        verdict=compared.verdict(names, _ranked(results, alike), differences, measure),
        pairs=compared.pair_table(names, differences, measure) if has_others else None,
        rows=[
            _row(named_run, shade, tracks[place], differences.get((place, 0)))
            for place, (named_run, shade) in enumerate(zip(runs, shades, strict=True))
        ],
        notes=_comparison_notes(runs, differences, measure),
        differences=differences,
    )
    if measure.unit != "run":  # an agent that learns has no training seeds
        view = compared.with_training_seeds(view, runs)
    maps = [difference_map(runs, place) for place in range(1, len(runs))] if measure.is_rate else []
    trained = training_plots([runs[place] for place in alike], prefix="compare")
    return replace(
        view,
        plots=[*view.plots, *renderer.plots(runs, alike, "compare"), *trained],
        maps=[each for each in maps if each is not None],
    )


def badges(run: Result) -> str:
    """The caveats of a run in the table of several runs, a word or two each."""
    labels = [] if run.complete else ["partial"]
    if isinstance(run.score, SuccessScore) and run.score.upstream is not None:
        labels.append(f"metaworld.evaluation: {percent(run.score.upstream.mean_success_rate)}")
    return ", ".join([*labels, *(["privileged"] if run.privileged else [])])


def why_not_compared(run: NamedRun, first: NamedRun) -> str:
    """A sentence with the reason why two runs are not compared."""
    for name, result in (run, first):
        if result.score.value is None:
            return f"{name} has no score, and is not compared."
    differ = first[1].differences(run[1], called=(f"in {first[0]}", f"in {run[0]}"))
    what = f": {'; '.join(differ)}" if differ else ""
    return f"{run[0]} and {first[0]} {renderer_of(first[1]).not_compared}{what}."


def run_view(name: str, result: Result, *, run_id: str, frames: Sequence[Frame] = ()) -> Run:
    """Everything the page says about a run."""
    alone, (score, interval) = [("", result)], score_and_interval(result)
    renderer, counted, executed = renderer_of(result), result.steps.counted, result.steps.executed
    return Run(
        id=run_id,
        name=name,
        score=score or "no score",
        meaning=renderer.meaning(result),
        interval=interval,
        track=tracks_of([result], [0])[0],
        badges=_badges(result),
        notes=[sentence(note.splitlines()[0]) for note in notes(result)],
        facts=[
            *_who_and_what(result),
            *renderer.facts(result),
            *_training(result),
            *_clipped_and_parameters(result),
        ],
        planned=f"Planned {result.measure.planned}",
        statuses=_statuses(result),
        time=_time(result),
        wall=seconds(result.seconds.wall),
        steps=f"{count(counted)} of {count(executed)} simulated steps count",
        steps_share=counted / executed if executed else 0.0,
        versions=", ".join(f"{each} {v}" for each, v in sorted(result.versions.items())),
        plots=[*renderer.plots(alone, [0], run_id), *training_plots(alone, prefix=run_id)],
        frames=frames,
    )


def score_and_interval(result: Result) -> tuple[str, str]:
    """A run's score and its interval as texts; empty without a score."""
    score, measure = result.score, result.measure
    amounts = "" if score.interval95 is None else measure.amounts(score.interval95)
    return "" if score.value is None else measure.amount(score.value), amounts


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


def _row(
    named_run: NamedRun, shade: str, track: Track | None, difference: Difference | None
) -> Row:
    name, run = named_run
    coverage, (score, interval) = run.coverage, score_and_interval(run)
    played = f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)}"
    return Row(
        name,
        shade,
        badges(run),
        track,
        score or "–",
        interval,
        played if run.measure.unit == "run" else "",
        *(() if difference is None else compared.difference_cells(difference, run.measure)),
    )


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


def _who_and_what(result: Result) -> list[tuple[str, str]]:
    """The agent, the benchmark, the plan, and where they were played."""
    agent = result.agent
    facts = [
        ("agent", agent.label if agent.label == agent.name else f"{agent.label} ({agent.name})"),
        ("training seed", "" if agent.training_seed is None else str(agent.training_seed)),
        ("checkpoint", (agent.checkpoint_sha256 or "")[:12]),
        ("isolation", isolation_text(agent.isolation)),
        ("benchmark", result.title),
        ("environment not made here", str(result.parameters.get("environment", ""))),
        ("procedure", f"{result.procedure}: {PROCEDURES[result.procedure].about}"),
        ("seed", str(result.seed)),
        ("slots", str(result.slots)),
        ("plan", result.plan_sha256[:12]),
        ("repeatable", _repeatable(result)),
        ("played on", "; ".join(result.machines)),
        ("environments on", "; ".join(result.environments_on)),
        ("environments in", "; ".join(result.environments_in)),
    ]
    return [(name, value) for name, value in facts if value]


def _repeatable(result: Result) -> str:
    answers = {True: "yes", False: "no", None: "not known"}
    lines = [
        f"{each.who} {answers[each.repeatable]}" + f" ({each.what})" * bool(each.repeatable)
        for each in result.repeats
    ]
    return "; ".join(lines) or "not checked"


def _training(result: Result) -> list[tuple[str, str]]:
    """The length of the training before the evaluation."""
    trained = result.training
    if trained is None:
        return []
    abandoned = trained.episodes_abandoned
    free = f", of which it abandoned {count(abandoned)}" if abandoned else ""
    steps = f"{count(trained.steps_taken)} of {plural(trained.steps, 'step')}"
    return [("trained for", f"{steps}, {plural(trained.episodes, 'episode')}{free}")]


def _clipped_and_parameters(result: Result) -> list[tuple[str, str]]:
    steps = result.steps.counted
    share = f" ({percent(result.clipped_steps / steps)})" if steps else ""
    clipped = f"in {count(result.clipped_steps)} of {plural(steps, 'step')}{share}"
    parameters = ", ".join(f"{name} = {value}" for name, value in sorted(result.parameters.items()))
    return [("clipped actions", clipped), *([("parameters", parameters)] if parameters else [])]


def _badges(result: Result) -> list[tuple[str, str]]:
    problems = [] if result.complete else ["partial"]
    problems += [plural(_faults(result), "fault")] if _faults(result) else []
    badges = [("warn", ", ".join(problems))] if problems else [("good", "complete")]
    if result.privileged:
        badges.append(("info", "privileged"))
    return badges


def _statuses(result: Result) -> list[Share]:
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
