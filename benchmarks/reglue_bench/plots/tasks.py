"""Plots with a row for each task: the scores of one run or of several, adaptation, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from reglue_bench.formatting import count, percent, plural
from reglue_bench.plots.agent_plots import PlottedAgent, plotted_agents, seeds_caption
from reglue_bench.plots.figures import (
    SUCCESS,
    Axis,
    Dots,
    Figure,
    Mark,
    intervals,
    left_out,
    rate_axis,
    rows,
    strips,
)
from reglue_bench.plots.views import NamedRun, Plot, Table
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
        figure=Figure(
            [mark for place, each in enumerate(of) for mark in _dots(each, tasks, place, len(of))],
            x=rate_axis(measure.name) if measure.is_rate else Axis(measure.name),
            y=rows(tasks, each=0 if alone else max(20, 9 * len(of) + 10), striped=not alone),
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
    ways = intervals(list(zip(first, last, strict=True)), places, SUCCESS, width=3)
    numbers = [
        [task, percent(a), percent(b)] for task, a, b in zip(tasks, first, last, strict=True)
    ]
    mean = (percent(before.mean_success_rate), percent(result.mean_success_rate))
    return Plot(
        id=plot_id,
        title="Before and after adaptation",
        caption=f"Success went from {mean[0]} (hollow) to {mean[1]} (full).",
        summary=f"Mean success {mean[0]} before and {mean[1]} after adaptation.",
        figure=Figure(
            [
                replace(ways, opacity=0.45),
                Dots(first, places, SUCCESS, 11, shape="ring"),
                Dots(last, places, SUCCESS, 13),
            ],
            x=rate_axis("success"),
            y=rows(tasks),
        ),
        table=Table(["task", "before", "after"], numbers),
    )


def steps_to_success(result: Result, *, plot_id: str) -> Plot:
    """A box a task of the steps to the first success of episodes, each of these a dot."""
    tasks = list(result.success_rate_per_task)
    won = [row for row in result.episodes if row.phase == "evaluate" and row.success]
    won = [row for row in won if row.task in result.success_rate_per_task]
    by_task = {task: [row.first_success for row in won if row.task == task] for task in tasks}
    longest = max((row.first_success for row in won), default=1)
    return Plot(
        id=plot_id,
        title="Steps to success",
        caption="Each dot is a successful episode, at the step that first succeeded; the box holds "
        "the middle half. Failures are not in it, so a task that is seldom solved may look fast."
        + left_out(len(won)),
        summary=f"{count(len(won))} successful episodes, the longest of {count(longest)} steps.",
        figure=Figure(
            strips(dict(enumerate(by_task.values())), height=0.55, colour=SUCCESS),
            x=Axis("steps", (0, longest * 1.04)),
            y=rows(tasks),
        ),
        table=Table(
            ["task", "successes", "fastest", "median", "slowest"],
            [[task, *_spread(steps)] for task, steps in by_task.items()],
        ),
    )


def _alone_table(scores: Mapping[str, TaskScore], measure: Measure) -> Table:
    numbers = [
        [task, measure.amount(each.score), _interval(each, measure) or "–", each.of]
        for task, each in scores.items()
    ]
    return Table(["task", measure.name, "95 % interval", "of"], numbers)


def _table(agents: Sequence[PlottedAgent], tasks: Sequence[str], measure: Measure) -> Table:
    def words(each: TaskScore | None) -> str:
        if each is None:
            return "–"
        amount, interval = measure.amount(each.score), _interval(each, measure)
        return f"{amount} ({interval})" if interval else amount

    numbers = [[task, *(words(each.scores.get(task)) for each in agents)] for task in tasks]
    return Table(["task", *(each.name for each in agents)], numbers)


def _dots(agent: PlottedAgent, tasks: Sequence[str], place: int, of: int) -> list[Mark]:
    """The scores of one of `of` agents with their intervals; without a name it is the only one."""
    offset = (place - (of - 1) / 2) * 0.72 / max(of, 2)
    y = [tasks.index(task) + offset for task in agent.scores]
    bounds = [each.interval95 or (each.score, each.score) for each in agent.scores.values()]
    size = (8 if of <= 4 else 6) if agent.name else 10
    return [
        intervals(bounds, y, agent.colour),
        Dots([each.score for each in agent.scores.values()], y, agent.colour, size),
    ]


def _interval(each: TaskScore, measure: Measure) -> str:
    return measure.amounts(each.interval95) if each.interval95 else ""


def _spread(steps: list[int]) -> list[str]:
    if not steps:
        return ["0", "–", "–", "–"]
    return [count(len(steps)), count(min(steps)), f"{np.median(steps):,.0f}", count(max(steps))]
