"""The measures of our procedures: success, returns and performance, with their texts and plots."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reglue_bench.formatting import count, number, percent, percents, plural, points, value
from reglue_bench.plots import task_plots
from reglue_bench.plots.compared import colours
from reglue_bench.plots.figures import NamedRun, Plot
from reglue_bench.plots.learning_plots import PlottedScore, learning_plots
from reglue_bench.renderers.renderer import (
    Renderer,
    Sentences,
    completed_text,
    episode_facts,
    missing_text,
)
from reglue_bench.results import scores
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.learning import lowest_of
from reglue_bench.results.result import Result
from reglue_bench.results.scores import (
    PerformanceScore,
    ReturnScore,
    Success,
    SuccessScore,
    UnitScore,
)
from reglue_bench.statistics import LEAST_GOALS, of_success, student


def _reading(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.html.jinja")


def _successes(result: Result) -> Iterator[UnitScore]:
    for row in result.judged:
        yield _episode(row, float(row.success))


def _least_p(goals: int) -> float:
    inference = of_success({"": np.ones(goals)})
    return 1.0 if inference.p_value is None else inference.p_value


def _success_notes(result: Result) -> list[str]:
    score, notes = result.score_as(SuccessScore), []
    tells = "goal_visible" in result.parameters  # Meta-World's environments report success
    if result.coverage.cells_completed and not result.episodes_succeeded and not tells:
        notes.append(
            "no episode reported success; if this environment never does, this score cannot tell "
            f"agents apart: {_for_returns(result)}"
        )
    if score.upstream is not None:
        notes.append(
            f"metaworld.evaluation counts {percent(score.upstream.mean_success_rate)} in these "
            "episodes: the first of each task to finish, so fast successes crowd out slow failures"
        )
    if missing := missing_text(result):
        rate = percent(score.completed_only.mean_success_rate)
        alone = f" (success of those completed: {rate})"
        end = alone if result.coverage.cells_completed else ", and none was completed"
        notes.append(f"{missing}; each counts as a failure{end}")
    return notes


def _for_returns(result: Result) -> str:
    """Advice on how to be scored by the mean return."""
    procedure, _, environment = result.benchmark.partition(":")
    if procedure == "multi-task" and environment:
        return f"evaluate:{environment} is judged by its mean return"
    return "set tells_success = False, and the mean return is the score"


def _success_plots(runs: Sequence[NamedRun], _alike: Sequence[int], prefix: str) -> list[Plot]:
    caption = "Share of planned goals, with its 95 % interval. What was not played is a failure."
    plots = [task_plots.per_task(runs, plot_id=f"{prefix}-tasks", caption=caption)]
    if len(runs) > 1:
        return plots
    [(_, result)] = runs
    if (before := result.score_as(SuccessScore).before_adaptation) is not None:
        plots.append(task_plots.adaptation(result, before, plot_id=f"{prefix}-adaptation"))
    if result.has_episodes:
        plots.append(task_plots.goal_map(result, plot_id=f"{prefix}-goals"))
        if result.coverage.cells_succeeded:
            plots.append(task_plots.steps_to_success(result, plot_id=f"{prefix}-steps"))
    return plots


def _upstream(result: Result) -> list[str]:
    upstream = result.score_as(SuccessScore).upstream
    if upstream is None:
        return []
    return [f"metaworld.evaluation: {percent(upstream.mean_success_rate)}"]


SUCCESS = Renderer(
    name=scores.SUCCESS,
    unit="goal",
    least=LEAST_GOALS,
    enough="five goals",
    amount=percent,
    amounts=percents,
    difference=points,
    is_rate=True,
    read=_successes,
    alike=lambda result: result.goals_sha256,
    infer=of_success,
    improves=False,
    least_p=_least_p,
    notes=_success_notes,
    plots=_success_plots,
    reading=_reading("success"),
    caption=lambda _first: (
        "Success over planned goals. Differences are in percentage points, paired goal by goal."
    ),
    not_compared="have no goal in common, and are shown and not compared",
    remarks=_upstream,
    maps=task_plots.difference_maps,
)
"""The share of planned goals that a frozen agent reaches."""


def _returns(result: Result) -> Iterator[UnitScore]:
    """An episode that was not played to its end has the worst return, if one is declared."""
    rows, declared = list(result.judged), result.parameters.get("worst_performance")
    worst: dict[str, float] = {}
    if isinstance(declared, int | float):  # it may lie above what was seen
        for row in rows:
            worst[row.task] = min(worst.get(row.task, float(declared)), row.return_)
    for row in rows:
        yield _episode(row, row.return_ if row.status == "ok" else worst.get(row.task))


def _episode(row: EpisodeRow, value: float | None) -> UnitScore:
    return UnitScore(row.task, row.variant, row.repeat, row.seed, value, row.status)


def _return_notes(result: Result) -> list[str]:
    procedure, _, environment = result.benchmark.partition(":")
    instead = f"; evaluate:{environment} plays 100 seeded episodes of it, for a mean return"
    is_named = environment and procedure == result.procedure  # a file has no such name
    return [
        "judged by its mean return, as whether an episode succeeded cannot be known: this "
        f"environment does not report success{instead if is_named else ''}",
        *_missing_returns(result),
    ]


def _missing_returns(result: Result) -> list[str]:
    known = "counts as the worst return" if result.mean_return is not None else "has no return"
    missing = missing_text(result)
    return [f"{missing}; each {known}"] if missing else []


def _return_plots(runs: Sequence[NamedRun], _alike: Sequence[int], prefix: str) -> list[Plot]:
    scores = runs[0][1].score_by_task.values()
    says_more = len(scores) > 1 or any(each.interval95 for each in scores)  # than the headline
    return [_per_task(runs, prefix)] if len(runs) > 1 or says_more else []


def _per_task(runs: Sequence[NamedRun], prefix: str) -> Plot:
    caption = (
        "Mean return of a task's planned episodes, those of a goal averaged first, with its 95 % "
        "interval."
    )
    return task_plots.per_task(runs, plot_id=f"{prefix}-tasks", caption=caption)


RETURN = Renderer(
    name=scores.MEAN_RETURN,
    unit="episode",
    least=2,
    enough="two episodes",
    read=_returns,
    alike=lambda result: result.plan_sha256,
    infer=student,
    notes=_return_notes,
    plots=_return_plots,
    reading=_reading("returns"),
    caption=lambda _first: (
        "Mean return, as the environment does not report success. Differences are in the "
        "task's units, paired episode by episode."
    ),
    not_compared="have other plans, and are shown and not compared",
)
"""Returns of a frozen agent in environments that never report success."""


def _seeded_notes(result: Result) -> list[str]:
    lines = []
    if result.score_as(ReturnScore).success and not result.episodes_succeeded:
        lines.append("no episode reported success, as most environments never do")
    if cut_off := result.episodes_cut_off:
        limit = result.parameters["episode_limit"]
        lines.append(f"{plural(cut_off, 'episode')} cut off at the episode limit of {limit} steps")
    if missing := _missing_returns(result):
        return [*lines, *missing]
    if result.interval95 is None and result.coverage.cells_planned > 1:
        lines.append("no interval: the returns of all episodes are equal")
    return lines


def _seeded_facts(result: Result) -> Sentences:
    facts = [*episode_facts(result)]
    if result.has_episodes:
        seeds = [row.seed for row in result.judged if row.seed is not None]
        if seeds:
            facts.append(("seeds of environments", f"{min(seeds)} to {max(seeds)}"))
    return [*facts, *(("success", text) for text in _success_text(result))]


def _success_text(result: Result) -> list[str]:
    """`83.0 %, 95 % interval 74.5 to 89.1 %`; nothing if no episode reported success."""
    success: Success | None = result.score_as(ReturnScore).success
    if success is None or not result.episodes_succeeded:
        return []
    interval = success.intervals95.mean
    suffix = f", 95 % interval {percents(interval)}" if interval else ""
    return [f"{percent(success.mean_success_rate)}{suffix}"]


def _seeded_plots(runs: Sequence[NamedRun], _alike: Sequence[int], prefix: str) -> list[Plot]:
    has_strips = all(run.has_episodes for _, run in runs) and any(
        run.coverage.cells_completed for _, run in runs
    )
    strips = [task_plots.returns(runs, plot_id=f"{prefix}-returns")] if has_strips else []
    has_several = len(runs[0][1].returns_per_task) > 1
    if has_several or (len(runs) > 1 and not has_strips):  # strips have the means too
        return [*strips, _per_task(runs, prefix)]
    return strips


SEEDED_RETURN = replace(
    RETURN,
    alike=lambda result: result.goals_sha256,
    by_seed=True,
    notes=_seeded_notes,
    headline=lambda result: [f"success {text}" for text in _success_text(result)],
    facts=_seeded_facts,
    plots=_seeded_plots,
    reading=_reading("seeded_returns"),
    caption=lambda _first: (
        "Mean return over episodes. Differences are in the task's units, paired by the seeds that "
        "both runs played."
    ),
    not_compared="have no episode in common, and are shown and not compared",
)
"""Returns of a frozen agent over episodes whose seeds are known."""


def _performances(result: Result) -> Iterator[UnitScore]:
    for run in result.score_as(PerformanceScore).runs:
        yield UnitScore("", run.variant or 0, run.run, None, run.performance, run.status)


def _goals_and_metric(result: Result) -> Hashable:
    score, parameters = result.score_as(PerformanceScore), result.parameters
    others = map(parameters.get, ("episode_limit", "worst_performance", "variants"))
    return result.goals_sha256, score.counted_in, score.quota, score.metric, *others


def _performance(result: Result) -> PerformanceScore:
    return result.score_as(PerformanceScore)


def _performance_meaning(result: Result) -> str:
    score = _performance(result)
    return f"{score.about}, mean over {plural(len(score.runs), 'run')}"


def _performance_headline(result: Result) -> list[str]:
    score, parts = _performance(result), [f"performance: {_performance_meaning(result)}"]
    runs = len(score.runs)
    if score.interval95 is not None:
        low, high = score.interval95
        parts.append(f"95 % interval {number(low)} to {number(high)} (t, n = {runs})")
    elif runs == 1:
        parts.append("a single run has no interval")
    return ["; ".join(parts), _freshness(score)]


def _freshness(score: PerformanceScore) -> str:
    """A sentence on how the agent of each run is made naive."""
    if score.fresh_agent == "process":
        return "each run has an agent process of its own"
    return (
        "one agent plays all runs; that its agent_init makes it naive before each cannot be checked"
    )


def _performance_notes(result: Result) -> list[str]:
    score, missing = _performance(result), missing_text(result)
    notes = [*([missing] if missing else []), *_withheld(score)]
    if score.completed_only is not None and len(score.completed) < len(score.runs):
        notes.append(
            f"the {plural(len(score.completed), 'completed run')} alone: "
            f"{value(score.completed_only)}, without the runs that were not played to their end; "
            "if runs that go badly end early more often, that is too good"
        )
    return notes


def _withheld(score: PerformanceScore) -> list[str]:
    """Sentences about runs that the agent's own fault ended, and about a missing performance."""
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


def _performance_facts(result: Result) -> Sentences:
    score = _performance(result)
    each = f"{count(score.quota)} {score.counted_in} each"
    return [("runs", f"{completed_text(result)}, {each}"), ("a naive agent", _freshness(score))]


def _performance_plots(runs: Sequence[NamedRun], alike: Sequence[int], prefix: str) -> list[Plot]:
    agents, shades = [], colours(runs)
    for place in alike:
        (name, result), shade = runs[place], shades[place]
        score = _performance(result)
        lowest = lowest_of(result.parameters, score.runs)
        agents.append(PlottedScore(name, score, shade, lowest))
    return learning_plots(agents, prefix=prefix)


PERFORMANCE = Renderer(
    name="performance",
    unit="run",
    least=2,
    enough="two runs of either",
    entrant="agent",
    planned="runs",
    read=_performances,
    alike=_goals_and_metric,
    infer=student,
    meaning=_performance_meaning,
    notes=_performance_notes,
    headline=_performance_headline,
    facts=_performance_facts,
    plots=_performance_plots,
    reading=_reading("performance"),
    caption=lambda first: (
        f"Performance: {_performance(first).about}, mean over runs. Differences are in "
        "the task's units, paired run by run."
    ),
    not_compared="did not measure the same, and are shown and not compared",
    beware=lambda name, result: [f"{name}: {words}." for words in _withheld(_performance(result))],
)
"""The performance of an agent while it learns, over independent runs."""
