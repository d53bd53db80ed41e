"""The plot of what every run of an agent came to."""

from __future__ import annotations

import plotly.graph_objects as go

from reglue_bench.report.figures import AGENTS, NEUTRAL, Plot, Table, figure, value_axis
from reglue_bench.report.words import STATUSES, count, plural, value, values
from reglue_bench.results.result import OnlineScore
from reglue_bench.terminal.summary import what_is_measured

OWN = AGENTS[0]


def run_performances(online: OnlineScore, *, plot_id: str) -> Plot:
    """Each completed run a dot, their mean with its interval, and a table of all runs."""
    completed = online.completed
    performances = [run.performance for run in completed if run.performance is not None]
    words = what_is_measured(online)
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
                performance_dots(online, row=0, colour=OWN),
                *performance_mean(online, row=-0.45, colour=OWN),
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


def performance_dots(online: OnlineScore, *, row: float, colour: str) -> go.Box:
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


def performance_mean(online: OnlineScore, *, row: float, colour: str) -> list[go.Scatter]:
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
