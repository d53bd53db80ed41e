"""The plots of agents that learn, of one or of several: curves over their runs, and every run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from reglue_bench.kinds.performance import measured_words
from reglue_bench.report.curves import (
    LOST,
    Lines,
    every_run,
    lines_of,
    mean_and_band,
    y_range,
)
from reglue_bench.report.figures import AGENTS, NEUTRAL, figure, task_axis, value_axis
from reglue_bench.report.views import Figure, Plot, Table
from reglue_bench.report.words import STATUSES, count, plural, value, values
from reglue_bench.results.learning import measured
from reglue_bench.results.result import OnlineScore

_OWN = AGENTS[0]
_MARGIN = {"l": 8, "r": 28, "t": 8, "b": 44}  # pixels: room for half of the last number
_ROWS = 20  # of a curve's table
_LOG_FROM = 10  # times the least: then an axis of steps is logarithmic


@dataclass(frozen=True, slots=True)
class Shown:
    """An agent in the plots of several."""

    name: str
    online: OnlineScore
    colour: str


def learning_plots(online: OnlineScore, *, prefix: str) -> list[Plot]:
    """Every plot of an online result; `prefix` makes their ids unique on the page."""
    plots = []
    if any(run.line for run in online.runs):
        lines = lines_of(online, lambda run: run.line)
        plots.append(_curve(lines, online, plot_id=f"{prefix}-curve"))
    if any(len(set(run.episode_steps)) > 1 for run in online.runs):
        lengths = lines_of(online, lambda run: run.episode_steps)
        plots.append(_lengths(lengths, online, plot_id=f"{prefix}-steps"))
    return [*plots, _run_performances(online, plot_id=f"{prefix}-runs")]


def compared(agents: Sequence[Shown]) -> list[Plot]:
    """Their curves, overlaid, and the performance of each of their runs."""
    lines = {agent.name: lines_of(agent.online, lambda run: run.line) for agent in agents}
    plots = [_performances(agents)]
    if any(len(each.whole) for each in lines.values()):
        plots.insert(0, _curves(agents, lines))
    return plots


def _curve(lines: Lines, online: OnlineScore, *, plot_id: str) -> Plot:
    what = _drawn(online)
    return Plot(
        id=plot_id,
        title="Learning curve",
        caption=f"{what.capitalize()}: mean over {plural(len(lines.whole), 'run')} with its "
        f"pointwise 95 % t-interval.{_block_words(lines)}",
        summary=_summary(lines, what),
        figure=_figure(lines, online, what),
        table=_curve_table(lines, f"mean {what}"),
        legend=_legend(lines, online),
        toggle=_toggle(lines),
    )


def _lengths(lines: Lines, online: OnlineScore, *, plot_id: str) -> Plot:
    everything = [each for line in lines.everything for each in line]
    log = max(everything) >= _LOG_FROM * min(everything) > 0
    return Plot(
        id=plot_id,
        title="Steps per episode",
        caption="How long episodes are while the agent learns"
        f"{', on a logarithmic axis' if log else ''}.{_block_words(lines)}",
        summary=_summary(lines, "steps per episode"),
        figure=_figure(lines, online, "steps", log=log),
        table=_curve_table(lines, "mean steps"),
        legend=_legend(lines, online),
        toggle=_toggle(lines),
    )


def _figure(lines: Lines, online: OnlineScore, what: str, *, log: bool = False) -> Figure:
    bounds = y_range([lines], log=log)
    floor = 10 ** bounds[0] if log else -math.inf  # a logarithm cannot go below
    return figure(
        [
            *every_run(lines, colour=NEUTRAL),
            *mean_and_band(lines, name="mean", colour=_OWN, floor=floor),
        ],
        height=360,
        margin=_MARGIN,
        shapes=_measured_part(online),
        xaxis=_unit_axis(lines),
        yaxis=_amount_axis(what, bounds, log=log),
        hovermode="closest",
    )


def _legend(lines: Lines, online: OnlineScore) -> list[tuple[str, str]]:
    legend = [(_OWN, "mean over runs")] if len(lines.whole) else []
    legend.append((NEUTRAL, "a run"))
    if lines.broken:
        legend.append((LOST, "a run that was not played to its end; not in the mean"))
    if online.metric != "all":
        legend.append(("rgba(140,145,155,0.3)", "what is measured"))
    return legend


def _toggle(lines: Lines) -> str:
    return "each run's line" if len(lines.whole) + len(lines.broken) > 1 else ""


def _summary(lines: Lines, what: str) -> str:
    if not len(lines.whole):
        return f"{what.capitalize()} of runs that were not played to their end."
    first, last = float(lines.mean[0]), float(lines.mean[-1])
    return (
        f"Mean {what} over {plural(len(lines.whole), 'run')}: {value(first)} at "
        f"{lines.at(0)}, {value(last)} at {lines.at(len(lines.ends) - 1)}."
    )


def _curves(agents: Sequence[Shown], lines: dict[str, Lines]) -> Plot:
    what = _drawn(agents[0].online)
    some = next(iter(lines.values()))
    traces: list[go.Scatter] = []
    for agent in agents:
        of = lines[agent.name]
        traces += every_run(of, colour=agent.colour, shown=False)
        traces += mean_and_band(of, name=agent.name, colour=agent.colour)
    return Plot(
        id="compare-curves",
        title="Learning curves",
        caption=f"{what.capitalize()}: mean over completed runs with its pointwise 95 % "
        f"t-interval.{_block_words(some)}",
        summary=f"Learning curves of {plural(len(agents), 'agent')} over {some.unit}s.",
        figure=figure(
            traces,
            height=400,
            margin=_MARGIN,
            shapes=_measured_part(agents[0].online),
            xaxis=_unit_axis(some),
            yaxis=_amount_axis(what, y_range(list(lines.values()))),
            hovermode="closest",
        ),
        table=_table(agents, lines),
        legend=[(agent.colour, agent.name) for agent in agents],
        toggle="each run's line",
        toggled=False,
    )


def _table(agents: Sequence[Shown], lines: dict[str, Lines]) -> Table:
    some = next(iter(lines.values()))
    return Table(
        [some.unit, *(agent.name for agent in agents)],
        [
            [
                some.at(point).partition(" ")[2],
                *(
                    value(float(of.mean[point])) if len(of.whole) else "–"
                    for of in (lines[agent.name] for agent in agents)
                ),
            ]
            for point in _spread(len(some.ends))
        ],
    )


def _performances(agents: Sequence[Shown]) -> Plot:
    names = [agent.name for agent in agents]
    traces: list[go.Box | go.Scatter] = []
    for row, agent in enumerate(agents):
        if agent.online.completed:
            traces.append(_performance_dots(agent.online, row=row, colour=agent.colour))
            traces += _performance_mean(agent.online, row=row - 0.4, colour=agent.colour)
    return Plot(
        id="compare-runs",
        title="Every run",
        caption="Each dot is a completed run's performance; the diamonds are the means, with their "
        "95 % t-intervals, of agents whose runs were all completed.",
        summary=f"Performance of each run of {plural(len(agents), 'agent')}.",
        figure=figure(
            traces,
            height=70 + 62 * len(agents),
            xaxis=value_axis("performance"),
            yaxis=task_axis(names),
        ),
        table=Table(
            ["agent", "completed runs", "worst", "median", "best"],
            [_row(agent) for agent in agents],
        ),
    )


def _row(agent: Shown) -> list[str]:
    found = sorted(r.performance for r in agent.online.completed if r.performance is not None)
    if not found:
        return [agent.name, "0", "–", "–", "–"]
    middle = (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2
    return [agent.name, str(len(found)), value(found[0]), value(middle), value(found[-1])]


def _run_performances(online: OnlineScore, *, plot_id: str) -> Plot:
    """Each completed run a dot, their mean with its interval, and a table of all runs."""
    completed = online.completed
    performances = [run.performance for run in completed if run.performance is not None]
    words = measured_words(online)
    return Plot(
        id=plot_id,
        title="Every run",
        caption=f"Each dot is a run's performance: {words}. The diamond is their mean, with its "
        "95 % t-interval."
        + (
            " Runs that were not played to their end are not drawn, nor is a mean that holds them."
            if len(completed) < len(online.runs)
            else ""
        ),
        summary=f"Performance of {plural(len(completed), 'completed run')} of "
        f"{count(len(online.runs))}"
        + (
            f", from {value(min(performances))} to {value(max(performances))}."
            if completed
            else "."
        ),
        figure=figure(
            [
                _performance_dots(online, row=0, colour=_OWN),
                *_performance_mean(online, row=-0.45, colour=_OWN),
            ]
            if completed
            else [],
            height=150,
            margin={"l": 28, "r": 28, "t": 8, "b": 44},
            xaxis=value_axis("performance"),
            yaxis={"visible": False, "range": [0.5, -0.7], "fixedrange": True},
        ),
        table=_run_table(online),
    )


def _performance_dots(online: OnlineScore, *, row: float, colour: str) -> go.Box:
    """A dot a completed run, around a box of the middle half."""
    runs = online.completed
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


def _performance_mean(online: OnlineScore, *, row: float, colour: str) -> list[go.Scatter]:
    """The mean over runs with its interval, where all were played to their end."""
    performance = online.performance
    if performance is None or len(online.completed) < len(online.runs):
        return []
    low, high = online.interval95 or (performance, performance)
    told = f"<br>95 % interval {values(online.interval95)}" if online.interval95 else ""
    mean = go.Scatter(
        x=[performance],
        y=[row],
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": colour},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - performance],
            "arrayminus": [performance - low],
            "color": colour,
            "thickness": 2,
            "width": 0,
        },
        hoverinfo="text",
        hovertext=[f"<b>mean {value(performance)}</b>{told}"],
    )
    return [mean]


def _run_table(online: OnlineScore) -> Table:
    flagged = any(run.successes for run in online.runs)
    columns = ["run", "performance", "episodes", "steps", *(["successes"] if flagged else [])]
    rows = []
    for run in online.runs:
        performance = "–" if run.performance is None else value(run.performance)
        cells = [str(run.run + 1), performance, count(run.episodes), count(run.steps)]
        cells += [count(run.successes)] if flagged else []
        how = "played to its end" if run.status == "ok" else STATUSES.get(run.status, run.status)
        rows.append([*cells, how])
    return Table([*columns, "how it ended"], rows)


def _drawn(online: OnlineScore) -> str:
    """What a learning curve is of."""
    return "return" if online.counted_in == "episodes" else "reward per step"


def _block_words(lines: Lines) -> str:
    """What a point is, where it is more than an episode."""
    size = lines.ends[0] - lines.begins[0] + 1
    if size == 1:
        return ""
    return f" Each point is the mean of {plural(size, lines.unit)}."


def _curve_table(lines: Lines, what: str) -> Table:
    """The numbers of 20 of its points, or of all if there are fewer."""
    intervals = lines.intervals95
    points = _spread(len(lines.ends)) if len(lines.whole) else []
    return Table(
        [lines.unit, what, "95 % interval"],
        [
            [
                lines.at(point).partition(" ")[2],
                value(float(lines.mean[point])),
                values(intervals[point]) if intervals else "–",
            ]
            for point in points
        ],
    )


def _unit_axis(lines: Lines) -> Figure:
    """An x axis of episodes or steps."""
    return value_axis(lines.unit, range=[0, lines.ends[-1]], tickformat=",", nticks=8)


def _amount_axis(what: str, bounds: Sequence[float], *, log: bool = False) -> Figure:
    """A y axis of returns, rewards or steps."""
    axis = value_axis(what, range=list(bounds), automargin=True)
    return axis | {"type": "log", "dtick": "D2", "tickformat": "~s"} if log else axis


def _spread(points: int) -> list[int]:
    """At most 20 of so many points, the first and the last among them."""
    if points <= _ROWS:
        return list(range(points))
    return [round(place * (points - 1) / (_ROWS - 1)) for place in range(_ROWS)]


def _measured_part(online: OnlineScore) -> list[dict[str, object]]:
    """A shade over what is measured, where that is not all."""
    if online.metric == "all":
        return []
    end = {"type": "rect", "layer": "below", "yref": "paper", "y0": 0, "y1": 1}
    since = online.quota - measured(online.metric, online.quota)
    shade = {"line": {"width": 0}, "fillcolor": "rgba(140,145,155,0.13)"}
    return [{**end, **shade, "x0": since, "x1": online.quota}]
