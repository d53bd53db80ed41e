"""The plots of an agent that learns: its curves over independent runs, and what each came to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reglue_bench.report.curves import (
    LOST,
    Lines,
    every_run,
    lines_of,
    mean_and_band,
    y_range,
)
from reglue_bench.report.figures import (
    NEUTRAL,
    Figure,
    Plot,
    Table,
    figure,
    value_axis,
)
from reglue_bench.report.run_performances import OWN, run_performances
from reglue_bench.report.words import plural, value, values
from reglue_bench.results.learning import measured
from reglue_bench.results.result import OnlineScore

MARGIN = {"l": 8, "r": 28, "t": 8, "b": 44}  # pixels: room for half of the last number
_ROWS = 20  # of a curve's table
_LOG_FROM = 10  # times the least: then an axis of steps is logarithmic


def learning_plots(online: OnlineScore, *, prefix: str) -> list[Plot]:
    """Every plot of an online result; `prefix` makes their ids unique on the page."""
    plots = []
    if any(run.line for run in online.runs):
        lines = lines_of(online, lambda run: run.line)
        plots.append(_curve(lines, online, plot_id=f"{prefix}-curve"))
    if any(len(set(run.episode_steps)) > 1 for run in online.runs):
        lengths = lines_of(online, lambda run: run.episode_steps)
        plots.append(_lengths(lengths, online, plot_id=f"{prefix}-steps"))
    return [*plots, run_performances(online, plot_id=f"{prefix}-runs")]


def drawn(online: OnlineScore) -> str:
    """What a learning curve is of."""
    return "return" if online.counted_in == "episodes" else "reward per step"


def block_words(lines: Lines) -> str:
    """What a point is, where it is more than an episode."""
    size = lines.ends[0] - lines.begins[0] + 1
    if size == 1:
        return ""
    return f" Each point is the mean of {plural(size, lines.unit)}."


def curve_table(lines: Lines, what: str) -> Table:
    """The numbers of 20 of its points, or of all if there are fewer."""
    intervals = lines.intervals95
    points = spread(len(lines.ends)) if len(lines.whole) else []
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


def unit_axis(lines: Lines) -> Figure:
    """An x axis of episodes or steps."""
    return value_axis(lines.unit, range=[0, lines.ends[-1]], tickformat=",", nticks=8)


def amount_axis(what: str, bounds: Sequence[float], *, log: bool = False) -> Figure:
    """A y axis of returns, rewards or steps."""
    axis = value_axis(what, range=list(bounds), automargin=True)
    return axis | {"type": "log", "dtick": "D2", "tickformat": "~s"} if log else axis


def spread(points: int) -> list[int]:
    """At most 20 of so many points, the first and the last among them."""
    if points <= _ROWS:
        return list(range(points))
    return [round(place * (points - 1) / (_ROWS - 1)) for place in range(_ROWS)]


def measured_part(online: OnlineScore) -> list[dict[str, object]]:
    """A shade over what is measured, where that is not all."""
    if online.metric == "all":
        return []
    end = {"type": "rect", "layer": "below", "yref": "paper", "y0": 0, "y1": 1}
    since = online.quota - measured(online.metric, online.quota)
    shade = {"line": {"width": 0}, "fillcolor": "rgba(140,145,155,0.13)"}
    return [{**end, **shade, "x0": since, "x1": online.quota}]


def _curve(lines: Lines, online: OnlineScore, *, plot_id: str) -> Plot:
    what = drawn(online)
    return Plot(
        id=plot_id,
        title="Learning curve",
        caption=f"{what.capitalize()}: mean over {plural(len(lines.whole), 'run')} with its "
        f"pointwise 95 % t-interval.{block_words(lines)}",
        summary=_summary(lines, what),
        figure=_figure(lines, online, what),
        table=curve_table(lines, f"mean {what}"),
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
        f"{', on a logarithmic axis' if log else ''}.{block_words(lines)}",
        summary=_summary(lines, "steps per episode"),
        figure=_figure(lines, online, "steps", log=log),
        table=curve_table(lines, "mean steps"),
        legend=_legend(lines, online),
        toggle=_toggle(lines),
    )


def _figure(lines: Lines, online: OnlineScore, what: str, *, log: bool = False) -> Figure:
    bounds = y_range([lines], log=log)
    floor = 10 ** bounds[0] if log else -math.inf  # a logarithm cannot go below
    return figure(
        [
            *every_run(lines, colour=NEUTRAL),
            *mean_and_band(lines, name="mean", colour=OWN, floor=floor),
        ],
        height=360,
        margin=MARGIN,
        shapes=measured_part(online),
        xaxis=unit_axis(lines),
        yaxis=amount_axis(what, bounds, log=log),
        hovermode="closest",
    )


def _legend(lines: Lines, online: OnlineScore) -> list[tuple[str, str]]:
    legend = [(OWN, "mean over runs")] if len(lines.whole) else []
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
