"""The plots of agents that learn, of one or of several: curves over their runs, and every run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from reglue_bench.float_range import mean, within
from reglue_bench.formatting import STATUSES, count, plural, value, values
from reglue_bench.measures.performance import measure_text
from reglue_bench.plots.curves import LOST, Lines, every_run, lines_of, mean_and_band, y_range
from reglue_bench.plots.figures import NEUTRAL, figure, task_axis, value_axis
from reglue_bench.plots.views import Figure, Plot, Table
from reglue_bench.procedures.online import measured
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.statistics import Interval

_MARGIN = {"l": 8, "r": 28, "t": 8, "b": 44}  # pixels: room for half of the last number
_ROWS = 20  # of a curve's table
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
    bounds = y_range(lines, log=log)
    floor = 10 ** bounds[0] if log else -math.inf  # a logarithm cannot go below
    traces: list[go.Scatter] = []
    for agent, of in zip(agents, lines, strict=True):
        traces += every_run(of, colour=NEUTRAL if alone else agent.colour, visible=alone)
        traces += mean_and_band(of, name=agent.name or "mean", colour=agent.colour, floor=floor)
    return Plot(
        id=plot_id,
        title=what.capitalize() if plot_id.endswith("-steps") else "Learning curve",
        caption=f"{what.capitalize()}: mean over completed runs with its pointwise 95 % t-interval"
        f"{', on a logarithmic axis' if log else ''}.{_block_text(some)}",
        summary=" ".join(_summary(*each, what) for each in zip(agents, lines, strict=True)),
        figure=figure(
            traces,
            height=360 if alone else 400,
            margin=_MARGIN,
            shapes=_measured_part(score),
            xaxis=_unit_axis(some),
            yaxis=_amount_axis(what, bounds, log=log),
            hovermode="closest",
        ),
        table=_table(agents, lines, what),
        legend=_legend(agents, lines),
        toggle="each run's line" if sum(len(of.everything) for of in lines) > 1 else "",
        toggled=alone,
    )


def _is_wide(lines: Sequence[Lines]) -> bool:
    """Whether the longest episode dwarfs the shortest."""
    everything = [each for of in lines for line in of.everything for each in line]
    return max(everything) >= _LOG_FROM * min(everything) > 0


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
        legend.append(("rgba(140,145,155,0.3)", "what is measured"))
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
    traces: list[go.Box | go.Scatter] = []
    for row, agent in enumerate(agents):
        if agent.score.completed:
            traces.append(_performance_dots(agent.score, row=row, colour=agent.colour))
            traces += _performance_mean(agent.score, row=row - 0.4, colour=agent.colour)
    alone, score = len(agents) == 1, agents[0].score
    completed = sum(len(agent.score.completed) for agent in agents)
    return Plot(
        id=plot_id,
        title="Every run",
        caption=f"Each dot is a completed run's performance: {measure_text(score)}. The diamond "
        "is the mean with its 95 % t-interval, if all runs were completed.",
        summary=f"Performance of {plural(completed, 'completed run')}.",
        figure=figure(
            traces,
            height=70 + 62 * len(agents),
            xaxis=value_axis("performance"),
            yaxis=task_axis([agent.name for agent in agents]),
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


def _performance_dots(score: PerformanceScore, *, row: float, colour: str) -> go.Box:
    """A dot a completed run, around a box of the middle half."""
    runs = score.completed
    return go.Box(
        x=[run.performance for run in runs],
        y=[row] * len(runs),
        orientation="h",
        width=0.5,
        boxpoints="all",
        jitter=0.7,
        pointpos=0,
        marker={"size": 7, "color": colour, "opacity": 0.7},
        line={"width": 1.2, "color": NEUTRAL},
        fillcolor="rgba(140,145,155,0.10)",
        hoveron="points",
        hoverinfo="text",
        text=[
            f"<b>run {run.run + 1}</b>: {value(run.performance or 0.0)}<br>"
            f"{plural(run.episodes, 'episode')}, {plural(run.steps, 'step')}"
            for run in runs
        ],
    )


def _performance_mean(score: PerformanceScore, *, row: float, colour: str) -> list[go.Scatter]:
    """The mean over runs with its interval, if all runs were completed."""
    performance = score.performance
    if performance is None or len(score.completed) < len(score.runs):
        return []
    low, high = score.interval95 or (performance, performance)
    interval = f"<br>95 % interval {values(score.interval95)}" if score.interval95 else ""
    dot = go.Scatter(
        x=[performance],
        y=[row],
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": colour},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [within(high - performance)],
            "arrayminus": [within(performance - low)],
            "color": colour,
            "thickness": 2,
            "width": 0,
        },
        hoverinfo="text",
        hovertext=[f"<b>mean {value(performance)}</b>{interval}"],
    )
    return [dot]


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


def _unit_axis(lines: Lines) -> Figure:
    """An x axis of episodes or steps."""
    return value_axis(lines.unit, range=[0, lines.ends[-1]], tickformat=",", nticks=8)


def _amount_axis(what: str, bounds: Sequence[float], *, log: bool = False) -> Figure:
    """A y axis of returns, rewards or steps."""
    axis = value_axis(what, range=list(bounds), automargin=True)
    return axis | {"type": "log", "dtick": "D2", "tickformat": "~s"} if log else axis


def _spread(points: int) -> list[int]:
    """At most 20 of this many points, including the first and the last."""
    if points <= _ROWS:
        return list(range(points))
    return [round(place * (points - 1) / (_ROWS - 1)) for place in range(_ROWS)]


def _measured_part(score: PerformanceScore) -> list[dict[str, object]]:
    """A shade over what is measured, where that is not all."""
    if score.metric == "all":
        return []
    end = {"type": "rect", "layer": "below", "yref": "paper", "y0": 0, "y1": 1}
    since = score.quota - measured(score.metric, score.quota)
    shade = {"line": {"width": 0}, "fillcolor": "rgba(140,145,155,0.13)"}
    return [{**end, **shade, "x0": since, "x1": score.quota}]
