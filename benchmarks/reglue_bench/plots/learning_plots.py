"""Curves of agents that learn, while they are judged or before: of one agent, or of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reglue_bench.formatting import STATUSES, count, percent, plural, value, values
from reglue_bench.measures.measures import measure_text
from reglue_bench.measures.seed_statistics import LEAST_SEEDS
from reglue_bench.plots import figures
from reglue_bench.plots.curves import LOST, Lines, every_run, lines_of, mean_and_band, y_ends
from reglue_bench.plots.figures import NEUTRAL, SHADE, Axis, Dots, Figure, Mark, colour
from reglue_bench.plots.views import NamedRun, Plot, Table
from reglue_bench.procedures.online import measured
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.statistics import Interval

_ROWS = 20  # of a curve's table
_LINES = 50  # of runs in a plot: more would make the page large and show no more
_LOG_FROM = 10  # times the least: then an axis of steps is logarithmic


@dataclass(frozen=True, slots=True)
class PlottedScore:
    """An agent and its score, as plots show them."""

    name: str  # empty if it is alone
    score: PerformanceScore
    colour: str
    lowest: float = -math.inf  # return, or reward, that is possible, see `lowest_of`


def learning_plots(agents: Sequence[PlottedScore], *, prefix: str) -> list[Plot]:
    """The curves of one agent, or of several, overlaid, and the performance of each run.

    `prefix` makes the plots' ids unique on the page.
    """
    first, plots = agents[0].score, []
    runs = [run for agent in agents for run in agent.score.runs]
    if any(run.line for run in runs):
        lines = [lines_of(agent.score, lambda run: run.line, agent.lowest) for agent in agents]
        what = "return" if first.counted_in == "episodes" else "reward per step"
        plots.append(_curves(agents, lines, what, plot_id=f"{prefix}-curve"))
    if any(len(set(run.episode_steps)) > 1 for run in runs):
        lines = [lines_of(agent.score, lambda run: run.episode_steps) for agent in agents]
        plots.append(_curves(agents, lines, "steps per episode", plot_id=f"{prefix}-steps"))
    return [*plots, _performances(agents, plot_id=f"{prefix}-runs")]


def training_plots(runs: Sequence[NamedRun], *, prefix: str) -> list[Plot]:
    """Checkpoints and training episodes over steps; runs of one label are seeds of one agent.

    `prefix` makes the plots' ids unique on the page. Nothing if no agent was trained first.
    """
    return [
        _training_plot(lines, what, measure, plot_id=f"{prefix}-{what}-{measure}")
        for what in CURVES
        for measure in MEASURES
        if (lines := lines_by_agent(runs, what, measure))
    ]


def lines_by_agent(runs: Sequence[NamedRun], what: str, measure: str) -> dict[str, Lines]:
    """A curve of training or checkpoints over training seeds, by agent; of those that have it."""
    agents: dict[tuple[str, str], list[tuple[int, dict[int, float]]]] = {}
    for _, result in runs:
        if result.training is not None:
            points = [each for each in result.curves if each.curve == f"{what} {measure}"]
            trained = result.training.steps, {each.at: each.value for each in points}
            agents.setdefault((result.agent.label, result.plan_sha256), []).append(trained)
    labels = [label for label, _ in agents]
    by_agent = {}
    for (label, plan), of_agent in agents.items():
        name = label
        if labels.count(label) > 1:  # as it was trained in several ways
            name = f"{label}, {of_agent[0][0]:,} steps"
            name = f"{name}, plan {plan[:6]}" if name in by_agent else name
        if (of := step_lines([curve for _, curve in of_agent], measure)) is not None:
            by_agent[name] = of
    return by_agent


def table_steps(lines: Mapping[str, Lines]) -> list[int]:
    """The steps of all lines, or 20 of them."""
    steps = sorted({step for of in lines.values() for step in of.ends})
    return [steps[place] for place in _spread(len(steps))]


def step_lines(curves: Sequence[Mapping[int, float]], measure: str) -> Lines | None:
    """A line for each curve, from steps to values, at the steps that all have; None without any."""
    ends = sorted(set(curves[0]).intersection(*curves))
    if not ends:
        return None
    whole = np.array([[each[step] for step in ends] for each in curves], np.float64)
    bounds = (0.0, 1.0) if measure == "success" else (-math.inf, math.inf)
    runs = range(len(curves))
    return Lines("step", ends, ends, whole, runs, broken=[], least=LEAST_SEEDS, bounds=bounds)


CURVES = ("checkpoint", "training")
MEASURES = ("success", "return")


def _curves(
    agents: Sequence[PlottedScore], lines: Sequence[Lines], what: str, *, plot_id: str
) -> Plot:
    alone, some, score = len(agents) == 1, lines[0], agents[0].score
    log = what == "steps per episode" and _is_wide(lines)
    ends = y_ends(lines, log=log)
    marks: list[Mark] = []
    most = max(1, _LINES // len(agents))
    for agent, of in zip(agents, lines, strict=True):
        marks += every_run(of, colour=NEUTRAL if alone else agent.colour, most=most)
        marks += mean_and_band(of, colour=agent.colour, floor=ends[0] if log else -math.inf)
    return Plot(
        id=plot_id,
        title=what.capitalize() if plot_id.endswith("-steps") else "Learning curve",
        caption=f"{what.capitalize()}: mean over completed runs with its pointwise 95 % t-interval"
        f"{', on a logarithmic axis' if log else ''}.{_block_text(some)}",
        summary=" ".join(_summary(*each, what) for each in zip(agents, lines, strict=True)),
        figure=Figure(
            marks,
            x=Axis(some.unit, (0, some.ends[-1])),
            y=Axis(what, ends, "log" if log else "linear"),
            height=300 if alone else 340,
            shaded=_measured_part(score),
        ),
        table=_table(agents, lines, what),
        legend=_legend(agents, lines),
        toggle=_toggle(lines, most),
        toggled=alone,
    )


def _is_wide(lines: Sequence[Lines]) -> bool:
    """Whether the longest episode dwarfs the shortest."""
    everything = [each for of in lines for line in of.everything for each in line]
    return max(everything) >= _LOG_FROM * min(everything) > 0


def _toggle(lines: Sequence[Lines], most: int) -> str:
    if sum(len(of.everything) for of in lines) < 2:
        return ""
    return "each run's line" if max(len(of.whole) for of in lines) <= most else "lines of some runs"


def _legend(agents: Sequence[PlottedScore], lines: Sequence[Lines]) -> list[tuple[str, str]]:
    legend = [
        (agent.colour, agent.name or "mean over runs")
        for agent, of in zip(agents, lines, strict=True)
        if agent.name or len(of.whole)
    ]
    if len(agents) == 1:
        legend.append((NEUTRAL, "a run"))
    if any(of.broken for of in lines):
        legend.append((LOST, "a run that was not played to its end; not in the mean"))
    if agents[0].score.metric != "all":
        legend.append((SHADE, "what is measured"))
    return legend


def _summary(agent: PlottedScore, lines: Lines, what: str) -> str:
    whose = f"{agent.name}: mean" if agent.name else "Mean"
    if not len(lines.whole):
        return f"{whose} {what}: no run was played to its end."
    first, last = float(lines.mean[0]), float(lines.mean[-1])
    return (
        f"{whose} {what} over {plural(len(lines.whole), 'run')}: {value(first)} at "
        f"{lines.at(0)}, {value(last)} at {lines.at(len(lines.ends) - 1)}."
    )


def _table(agents: Sequence[PlottedScore], lines: Sequence[Lines], what: str) -> Table:
    """The means at 20 points, or at all if there are fewer; of one agent with intervals."""
    alone, some = len(agents) == 1, lines[0]

    def cells(of: Lines, intervals: Sequence[Interval], point: int) -> list[str]:
        middle = value(float(of.mean[point])) if len(of.whole) else "–"
        return [middle, values(intervals[point]) if intervals else "–"] if alone else [middle]

    played = [(of, of.intervals95 if len(of.whole) else []) for of in lines]
    points = _spread(len(some.ends)) if any(len(of.whole) for of in lines) else []
    columns = [f"mean {what}", "95 % interval"] if alone else [agent.name for agent in agents]
    return Table(
        [some.unit, *columns],
        [
            [some.at(point).partition(" ")[2], *(c for each in played for c in cells(*each, point))]
            for point in points
        ],
    )


def _performances(agents: Sequence[PlottedScore], *, plot_id: str) -> Plot:
    marks = [mark for row, agent in enumerate(agents) for mark in _performance_marks(agent, row)]
    alone, score = len(agents) == 1, agents[0].score
    completed = sum(len(agent.score.completed) for agent in agents)
    return Plot(
        id=plot_id,
        title="Every run",
        caption=f"Each dot is a completed run's performance: {measure_text(score)}. The diamond "
        "is the mean with its 95 % t-interval, if all runs were completed.",
        summary=f"Performance of {plural(completed, 'completed run')}.",
        figure=Figure(
            marks, x=Axis("performance"), y=figures.rows([agent.name for agent in agents], each=62)
        ),
        table=_run_table(score)
        if alone
        else Table(
            ["agent", "completed runs", "worst", "median", "best"],
            [[each.name, *figures.spread(_completed(each.score), value)] for each in agents],
        ),
    )


def _completed(score: PerformanceScore) -> list[float]:
    return [run.performance for run in score.completed if run.performance is not None]


def _performance_marks(agent: PlottedScore, row: int) -> list[Mark]:
    """A dot a completed run, and the mean with its interval if all were completed."""
    score, performance = agent.score, agent.score.performance
    dots = figures.strips({row: _completed(score)}, height=0.5, colour=agent.colour, size=7)
    if performance is None or len(score.completed) < len(score.runs):
        return dots
    interval, above = score.interval95 or (performance, performance), row - 0.4
    return [
        *dots,
        figures.intervals([interval], [above], agent.colour),
        Dots([performance], [above], agent.colour, 9, shape="diamond"),
    ]


def _run_table(score: PerformanceScore) -> Table:
    flagged = any(run.successes for run in score.runs)
    columns = ["run", "performance", "episodes", "steps", *(["successes"] if flagged else [])]
    rows = []
    for run in score.runs:
        performance = "–" if run.performance is None else value(run.performance)
        cells = [str(run.run + 1), performance, count(run.episodes), count(run.steps)]
        cells += [count(run.successes)] if flagged else []
        how = "played to its end" if run.status == "ok" else STATUSES.get(run.status, run.status)
        rows.append([*cells, how])
    return Table([*columns, "how it ended"], rows)


def _block_text(lines: Lines) -> str:
    """A sentence that says what a point is, if it is more than an episode."""
    size = lines.ends[0] - lines.begins[0] + 1
    if size == 1:
        return ""
    return f" Each point is the mean of {plural(size, lines.unit)}."


def _spread(points: int) -> list[int]:
    """At most 20 of this many points, including the first and the last."""
    if points <= _ROWS:
        return list(range(points))
    return [round(place * (points - 1) / (_ROWS - 1)) for place in range(_ROWS)]


def _measured_part(score: PerformanceScore) -> Interval | None:
    """The part of a run that is measured, where that is not all of it."""
    if score.metric == "all":
        return None
    return score.quota - measured(score.metric, score.quota), score.quota


def _training_plot(lines: Mapping[str, Lines], what: str, measure: str, *, plot_id: str) -> Plot:
    marks: list[Mark] = []
    several = any(len(of.whole) > 1 for of in lines.values())
    for place, of in enumerate(lines.values()):
        if len(of.whole) > 1:
            marks += every_run(
                of, colour=NEUTRAL if len(lines) == 1 else colour(place), most=len(of.whole)
            )
        marks += mean_and_band(of, colour=colour(place))
    last = max(of.ends[-1] for of in lines.values())
    over = (
        " Mean over training seeds with its pointwise 95 % t-interval, from five seeds on."
        if several
        else ""
    )
    return Plot(
        id=plot_id,
        title=f"{measure.capitalize()} {_WHERE[what]}",
        caption=_CAPTION[what] + over,
        summary=" ".join(_training_summary(name, of, measure) for name, of in lines.items()),
        figure=Figure(
            marks,
            x=Axis("training steps", (0, last)),
            y=figures.rate_axis(measure)
            if measure == "success"
            else Axis(measure, y_ends(list(lines.values()))),
        ),
        table=_training_table(lines, measure),
        legend=[(colour(place), name) for place, name in enumerate(lines)],
        toggle="each training seed's line" if several else "",
        toggled=len(lines) == 1,
    )


_WHERE = {"checkpoint": "at checkpoints", "training": "while it trained"}

_CAPTION = {
    "checkpoint": "Fixed episodes, the same each time, in which the agent neither learns nor is "
    "frozen; none of them is in the score.",
    "training": "Mean of the training episodes that ended in each hundredth of the steps, with "
    "exploration; not the score.",
}


def _amount(measure: str) -> Callable[[float], str]:
    return percent if measure == "success" else value


def _training_summary(name: str, lines: Lines, measure: str) -> str:
    amount, mean = _amount(measure), lines.mean
    return (
        f"{name}, {measure}, {plural(len(lines.whole), 'training seed')}: {amount(float(mean[0]))} "
        f"at {lines.at(0)}, {amount(float(mean[-1]))} at {lines.at(len(lines.ends) - 1)}."
    )


def _training_table(lines: Mapping[str, Lines], measure: str) -> Table:
    """The means at 20 steps at most."""
    amount = _amount(measure)
    means = {name: dict(zip(of.ends, of.mean, strict=True)) for name, of in lines.items()}
    return Table(
        ["steps", *lines],
        [
            [
                count(step),
                *(amount(float(of[step])) if step in of else "–" for of in means.values()),
            ]
            for step in table_steps(lines)
        ],
    )
