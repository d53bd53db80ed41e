"""Plots with a row for each task: the scores of one run or of several, adaptation, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from reglue_bench.float_range import within
from reglue_bench.formatting import count, percent, plural
from reglue_bench.plots.agent_plots import PlottedAgent, plotted_agents, seeds_caption
from reglue_bench.plots.figures import (
    NEUTRAL,
    SUCCESS,
    escaped,
    figure,
    rate_axis,
    rows_height,
    task_axis,
    value_axis,
)
from reglue_bench.plots.views import Figure, NamedRun, Plot, Table
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import Rates, TaskScore


def per_task(runs: Sequence[NamedRun], *, plot_id: str, caption: str) -> Plot:
    """A dot for each agent or run with its interval, one row for each task."""
    measure, alone, of = runs[0][1].measure, len(runs) == 1, plotted_agents(runs)
    tasks = list(dict.fromkeys(task for each in of for task in each.scores))
    values = [score.score for each in of for score in each.scores.values()]
    span = (
        f", from {measure.amount(min(values))} to {measure.amount(max(values))}" if values else ""
    )
    title = f"{measure.name.capitalize()} per task"
    return Plot(
        id=plot_id,
        title=title,
        caption=caption + seeds_caption(of),
        summary=f"{title}: {plural(len(of), 'run')}, {plural(len(tasks), 'task')}{span}.",
        figure=figure(
            [_dots(each, tasks, place, measure, of=len(of)) for place, each in enumerate(of)],
            height=rows_height(len(tasks), each=0 if alone else max(20, 9 * len(of) + 10)),
            xaxis=rate_axis(measure.name)
            if measure.is_rate
            else value_axis(measure.name, nticks=8, tickformat=",~g"),
            yaxis=task_axis(tasks),
            shapes=[] if alone else _bands(len(tasks)),
        ),
        table=_alone_table(of[0].scores, measure) if alone else _table(of, tasks, measure),
        legend=[] if alone else [(each.colour, each.name) for each in of],
    )


def adaptation(result: Result, before: Rates, *, plot_id: str) -> Plot:
    """The scores before adaptation (hollow dots) and after it (full dots)."""
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
    mean = (percent(before.mean_success_rate), percent(result.mean_success_rate))
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
    """A box a task of the steps to the first success of episodes, each of these a dot."""
    tasks = list(result.success_rate_per_task)
    won = [row for row in result.episodes if row.phase == "evaluate" and row.success]
    won = [row for row in won if row.task in result.success_rate_per_task]
    places = {task: place for place, task in enumerate(tasks)}
    boxes = go.Box(
        x=[row.first_success for row in won],
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
        text=[
            f"<b>{escaped(r.task)}</b><br>goal {r.variant}: {count(r.first_success)} steps"
            for r in won
        ],
    )
    by_task = {task: [row.first_success for row in won if row.task == task] for task in tasks}
    longest = max((row.first_success for row in won), default=1)
    return Plot(
        id=plot_id,
        title="Steps to success",
        caption="Each dot is a successful episode, at the step that first succeeded; the box holds "
        "the middle half. Failures are not in it, so a task that is seldom solved may look fast.",
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


def _alone_table(scores: Mapping[str, TaskScore], measure: Measure) -> Table:
    rows = [
        [task, measure.amount(each.score), _interval(each, measure) or "–", each.of]
        for task, each in scores.items()
    ]
    return Table(["task", measure.name, "95 % interval", "of"], rows)


def _table(agents: Sequence[PlottedAgent], tasks: Sequence[str], measure: Measure) -> Table:
    def words(each: TaskScore | None) -> str:
        if each is None:
            return "–"
        amount, interval = measure.amount(each.score), _interval(each, measure)
        return f"{amount} ({interval})" if interval else amount

    rows = [[task, *(words(each.scores.get(task)) for each in agents)] for task in tasks]
    return Table(["task", *(each.name for each in agents)], rows)


def _dots(
    agent: PlottedAgent, tasks: Sequence[str], place: int, measure: Measure, *, of: int
) -> go.Scatter:
    """The dots of one of `of` agents; without a name it is the only one."""
    offset = (place - (of - 1) / 2) * 0.72 / max(of, 2)
    name, shade, scores = agent.name, agent.colour, agent.scores
    task_scores = scores.values()
    bounds = [each.interval95 or (each.score, each.score) for each in task_scores]
    return go.Scatter(
        x=[each.score for each in task_scores],
        y=[tasks.index(task) + offset for task in scores],
        mode="markers",
        marker={"size": (8 if of <= 4 else 6) if name else 10, "color": shade},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [
                within(high - each.score)
                for each, (_, high) in zip(task_scores, bounds, strict=True)
            ],
            "arrayminus": [
                within(each.score - low) for each, (low, _) in zip(task_scores, bounds, strict=True)
            ],
            "color": shade,
            "thickness": 2,
            "width": 0,
        },
        hoverinfo="text",
        hovertext=[_hover(name, task, each, measure) for task, each in scores.items()],
    )


def _hover(name: str, task: str, each: TaskScore, measure: Measure) -> str:
    whose = f"{escaped(name)}: " if name else ""
    interval = _interval(each, measure)
    spread = f"<br>95 % interval {interval}" if interval else ""
    return f"<b>{escaped(task)}</b><br>{whose}{measure.amount(each.score)} of {each.of}{spread}"


def _interval(each: TaskScore, measure: Measure) -> str:
    return measure.amounts(each.interval95) if each.interval95 else ""


def _bands(rows: int) -> list[Figure]:
    """Shaded bands behind every second row, so that dots of one task look like a group."""
    return [
        {
            "type": "rect",
            "layer": "below",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": row - 0.5,
            "y1": row + 0.5,
            "line": {"width": 0},
            "fillcolor": "rgba(140,145,155,0.08)",
        }
        for row in range(0, rows, 2)
    ]


def _spread(steps: list[int]) -> list[str]:
    if not steps:
        return ["0", "–", "–", "–"]
    return [count(len(steps)), count(min(steps)), f"{np.median(steps):,.0f}", count(max(steps))]
