"""The plots of one run."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from reglue_bench.report.figures import (
    NEUTRAL,
    SUCCESS,
    Plot,
    Table,
    escaped,
    figure,
    rate_axis,
    rows_height,
    task_axis,
    value_axis,
)
from reglue_bench.report.goal_map import goal_map
from reglue_bench.report.words import count, percent, percents
from reglue_bench.results.result import Rates, Result
from reglue_bench.statistics.compare import goals_per_task


def run_plots(result: Result, *, prefix: str) -> list[Plot]:
    """Every plot of a run; `prefix` makes their ids unique on the page."""
    if result.is_by_return:
        return []
    plots = [success_per_task(result, plot_id=f"{prefix}-tasks")]
    if result.before_adaptation is not None:
        plots.append(adaptation(result, result.before_adaptation, plot_id=f"{prefix}-adaptation"))
    if not result.has_episodes:
        return plots
    plots.append(goal_map(result, plot_id=f"{prefix}-goals"))
    if result.coverage.cells_succeeded:
        plots.append(steps_to_success(result, plot_id=f"{prefix}-steps"))
    return plots


def success_per_task(result: Result, *, plot_id: str) -> Plot:
    """One dot a task with its interval."""
    tasks = list(result.success_rate_per_task)
    rates = [result.success_rate_per_task[task] for task in tasks]
    intervals = [result.success.intervals95_per_task[task] for task in tasks]
    goals = {task: count(number) for task, number in goals_per_task(result).items()}
    dots = go.Scatter(
        x=rates,
        y=list(range(len(tasks))),
        mode="markers",
        marker={"size": 10, "color": SUCCESS},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - rate for rate, (_, high) in zip(rates, intervals, strict=True)],
            "arrayminus": [rate - low for rate, (low, _) in zip(rates, intervals, strict=True)],
            "color": SUCCESS,
            "thickness": 2,
            "width": 0,
        },
        hoverinfo="text",
        hovertext=[
            f"<b>{escaped(task)}</b><br>{percent(rate)} of {goals[task]} goals"
            f"<br>95 % interval {percents(interval)}"
            for task, rate, interval in zip(tasks, rates, intervals, strict=True)
        ],
    )
    rows = [
        [task, percent(rate), percents(interval), goals[task]]
        for task, rate, interval in zip(tasks, rates, intervals, strict=True)
    ]
    return Plot(
        id=plot_id,
        title="Success per task",
        caption="Share of planned goals, with its 95 % interval. What was not played is a failure.",
        summary=f"Success from {percent(min(rates))} to {percent(max(rates))} over tasks.",
        figure=figure(
            [dots],
            height=rows_height(len(tasks)),
            xaxis=rate_axis("success"),
            yaxis=task_axis(tasks),
        ),
        table=Table(["task", "success", "95 % interval", "goals"], rows),
    )


def adaptation(result: Result, before: Rates, *, plot_id: str) -> Plot:
    """From a hollow dot before adaptation to a full one after it."""
    tasks = list(result.success_rate_per_task)
    first = [before.success_rate_per_task.get(task, 0.0) for task in tasks]
    last = [result.success_rate_per_task[task] for task in tasks]
    places = list(range(len(tasks)))
    ways = go.Scatter(
        x=[x for pair in zip(first, last, strict=True) for x in (*pair, None)],
        y=[y for place in places for y in (place, place, None)],
        mode="lines",
        line={"color": SUCCESS, "width": 3},
        opacity=0.45,
        hoverinfo="skip",
    )
    ends = [
        go.Scatter(
            x=rates,
            y=places,
            mode="markers",
            marker={
                "size": 13,
                "color": SUCCESS,
                "symbol": symbol,
                "line": {"width": 2.5, "color": SUCCESS},
            },
            hoverinfo="text",
            hovertext=[
                f"<b>{escaped(task)}</b><br>{percent(rate)} {when} adaptation"
                for task, rate in zip(tasks, rates, strict=True)
            ],
        )
        for rates, symbol, when in ((first, "circle-open", "before"), (last, "circle", "after"))
    ]
    rows = [[task, percent(a), percent(b)] for task, a, b in zip(tasks, first, last, strict=True)]
    mean = (percent(before.mean_success_rate), percent(result.success.rate))
    return Plot(
        id=plot_id,
        title="Before and after adaptation",
        caption=f"Success went from {mean[0]} (hollow) to {mean[1]} (full).",
        summary=f"Mean success {mean[0]} before and {mean[1]} after adaptation.",
        figure=figure(
            [ways, *ends],
            height=rows_height(len(tasks)),
            xaxis=rate_axis("success"),
            yaxis=task_axis(tasks),
        ),
        table=Table(["task", "before", "after"], rows),
    )


def steps_to_success(result: Result, *, plot_id: str) -> Plot:
    """A box a task of the steps that successful episodes took, each episode a dot."""
    tasks = list(result.success_rate_per_task)
    won = [row for row in result.episodes if row.phase == "evaluate" and row.success]
    won = [row for row in won if row.task in result.success_rate_per_task]
    places = {task: place for place, task in enumerate(tasks)}
    boxes = go.Box(
        x=[row.steps for row in won],
        y=[places[row.task] for row in won],
        orientation="h",
        width=0.55,
        boxpoints="all",
        jitter=0.5,
        pointpos=0,
        marker={"size": 4, "color": SUCCESS, "opacity": 0.7},
        line={"width": 1.2, "color": NEUTRAL},
        fillcolor="rgba(42,157,143,0.12)",
        hoveron="points",
        hoverinfo="text",
        text=[f"<b>{escaped(r.task)}</b><br>goal {r.variant}: {count(r.steps)} steps" for r in won],
    )
    by_task = {task: [row.steps for row in won if row.task == task] for task in tasks}
    longest = max((row.steps for row in won), default=1)
    return Plot(
        id=plot_id,
        title="Steps to success",
        caption="Each dot is a successful episode; the box holds the middle half. Failures are "
        "not in it, so a task that is seldom solved may look fast.",
        summary=f"{count(len(won))} successful episodes, the longest of {count(longest)} steps.",
        figure=figure(
            [boxes],
            height=rows_height(len(tasks)),
            xaxis=value_axis("steps", range=[0, longest * 1.04]),
            yaxis=task_axis(tasks),
        ),
        table=Table(
            ["task", "successes", "fastest", "median", "slowest"],
            [[task, *_spread(steps)] for task, steps in by_task.items()],
        ),
    )


def _spread(steps: list[int]) -> list[str]:
    if not steps:
        return ["0", "–", "–", "–"]
    return [count(len(steps)), count(min(steps)), f"{np.median(steps):,.0f}", count(max(steps))]
