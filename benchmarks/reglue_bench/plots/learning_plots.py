"""The plots of agents that learn, of one or of several: curves over their runs, and every run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reglue_bench.float_range import mean
from reglue_bench.formatting import STATUSES, count, plural, value, values
from reglue_bench.measures.measures import measure_text
from reglue_bench.plots.curves import LOST, Lines, every_run, lines_of, mean_and_band, y_ends
from reglue_bench.plots.figures import (
    NEUTRAL,
    SHADE,
    Axis,
    Dots,
    Figure,
    Mark,
    intervals,
    rows,
    strips,
)
from reglue_bench.plots.views import Plot, Table
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
            marks, x=Axis("performance"), y=rows([agent.name for agent in agents], each=62)
        ),
        table=_run_table(score)
        if alone
        else Table(
            ["agent", "completed runs", "worst", "median", "best"],
            [_row(agent) for agent in agents],
        ),
    )


def _row(agent: PlottedScore) -> list[str]:
    performances = sorted(r.performance for r in agent.score.completed if r.performance is not None)
    if not performances:
        return [agent.name, "0", "–", "–", "–"]
    middle = mean(
        [performances[(len(performances) - 1) // 2], performances[len(performances) // 2]]
    )
    return [
        agent.name,
        str(len(performances)),
        value(performances[0]),
        value(middle),
        value(performances[-1]),
    ]


def _performance_marks(agent: PlottedScore, row: int) -> list[Mark]:
    """A dot a completed run, and the mean with its interval if all were completed."""
    score, performance = agent.score, agent.score.performance
    runs = [run.performance for run in score.completed if run.performance is not None]
    dots = strips({row: runs}, height=0.5, colour=agent.colour, size=7)
    if performance is None or len(score.completed) < len(score.runs):
        return dots
    interval, above = score.interval95 or (performance, performance), row - 0.4
    return [
        *dots,
        intervals([interval], [above], agent.colour),
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
    """What is measured, where that is not all."""
    if score.metric == "all":
        return None
    return score.quota - measured(score.metric, score.quota), score.quota
