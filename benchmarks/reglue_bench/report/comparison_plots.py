"""The plots of several runs, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from reglue_bench.report.figures import (
    ALIKE,
    Plot,
    Table,
    colour,
    escaped,
    figure,
    rate_axis,
    rows_height,
    task_axis,
    value_axis,
)
from reglue_bench.report.goal_map import variant_axis
from reglue_bench.report.words import percent, percents, points
from reglue_bench.results.result import Result
from reglue_bench.statistics.compare import same_plan, success_by_goal, units_of
from reglue_bench.statistics.intervals import FloatArray
from reglue_bench.statistics.training_seeds import TrainingSeeds

Named = tuple[str, Result]


def grouped_success(runs: Sequence[Named]) -> Plot:
    """A dot a run with its interval, in one row a task."""
    tasks = _tasks(runs)
    rows = [
        [
            task,
            *(
                f"{percent(run.success_rate_per_task[task])} "
                f"({percents(run.success.intervals95_per_task[task])})"
                if task in run.success_rate_per_task
                else "–"
                for _, run in runs
            ),
        ]
        for task in tasks
    ]
    each = max(20, 9 * len(runs) + 10)
    return Plot(
        id="compare-tasks",
        title="Success per task",
        caption="Share of planned goals, with its 95 % interval.",
        summary=f"Success of {len(runs)} runs on {len(tasks)} tasks.",
        figure=figure(
            [_dots(name, run, tasks, place, len(runs)) for place, (name, run) in enumerate(runs)],
            height=rows_height(len(tasks), each=each),
            xaxis=rate_axis("success"),
            yaxis=task_axis(tasks),
            shapes=_bands(len(tasks)),
        ),
        table=Table(["task", *(name for name, _ in runs)], rows),
        legend=[(colour(place), name) for place, (name, _) in enumerate(runs)],
    )


def difference_map(runs: Sequence[Named], place: int) -> Plot | None:
    """Goal by goal, where the run at a place beats the first; None on different plans."""
    run, reference = runs[place], runs[0]
    ours, theirs = colour(place), colour(0)
    if not same_plan([run[1], reference[1]]):
        return None
    goals = success_by_goal([units_of(run[1]), units_of(reference[1])])
    variants = sorted({variant for each in goals.values() for variant in each})
    tasks = list(goals)
    squares = go.Heatmap(
        z=[[_difference(goals[task].get(v)) for v in variants] for task in tasks],
        x=list(range(len(variants))),
        y=list(range(len(tasks))),
        text=[[_hover(task, v, goals[task].get(v)) for v in variants] for task in tasks],
        hoverinfo="text",
        hoverongaps=False,
        colorscale=[[0.0, theirs], [0.5, ALIKE], [1.0, ours]],
        zmin=-1,
        zmax=1,
        xgap=2 if len(variants) <= 60 else 0.5,
        ygap=2,
        showscale=False,
    )
    pairs = {task: np.stack(list(each.values()), axis=1) for task, each in goals.items()}
    only = {task: ((r[0] > r[1]).sum(), (r[0] < r[1]).sum()) for task, r in pairs.items()}
    wins, losses = sum(w for w, _ in only.values()), sum(lost for _, lost in only.values())
    return Plot(
        id=f"compare-{place}",
        title=f"Where {run[0]} and {reference[0]} differ",
        caption=f"{run[0]} does better on {wins} goals, {reference[0]} on {losses}.",
        summary=f"{wins} goals for {run[0]}, {losses} for {reference[0]}.",
        figure=figure(
            [squares],
            height=rows_height(len(tasks), each=0 if len(tasks) > 3 else 40, least=110),
            xaxis=variant_axis(variants),
            yaxis=task_axis(tasks),
        ),
        table=Table(
            ["task", f"{run[0]} better", f"{reference[0]} better", "difference, points"],
            [
                [task, str(only[task][0]), str(only[task][1]), points(float((r[0] - r[1]).mean()))]
                for task, r in pairs.items()
            ],
        ),
        legend=[
            (ours, f"{run[0]} better"),
            ("rgba(140,145,155,0.3)", "alike"),
            (theirs, f"{reference[0]} better"),
        ],
    )


def performance_profile(agents: Mapping[str, TrainingSeeds]) -> Plot:
    """Share of (seed, task) pairs above each level of success, with pointwise bands."""
    traces: list[go.Scatter] = []
    for place, (name, seeds) in enumerate(agents.items()):
        levels = seeds.thresholds.tolist()
        if seeds.profile_intervals95 is not None:
            low, high = (ends.tolist() for ends in seeds.profile_intervals95)
            traces.append(
                go.Scatter(
                    x=[*levels, *levels[::-1]],
                    y=[*high, *low[::-1]],
                    fill="toself",
                    fillcolor=colour(place),
                    opacity=0.16,
                    mode="none",
                    hoverinfo="skip",
                )
            )
        traces.append(
            go.Scatter(
                x=levels,
                y=seeds.profile.tolist(),
                mode="lines",
                line={"color": colour(place), "width": 2.5, "shape": "hv"},
                hoverinfo="text",
                hovertext=[
                    f"<b>{escaped(name)}</b><br>{percent(share)} above {percent(level)}"
                    for level, share in zip(levels, seeds.profile.tolist(), strict=True)
                ],
            )
        )
    shown = (0, 10, 20, 25, 30, 40, 45, 47)
    return Plot(
        id="profile",
        title="Performance profile",
        caption="Share of seeds × tasks whose success lies above a level, with 95 % bands from "
        "five seeds on. Higher is better, wherever it is higher throughout.",
        summary=f"Performance profile of {len(agents)} agents over their training seeds.",
        figure=figure(
            traces,
            height=320,
            xaxis=rate_axis("success above"),
            yaxis=value_axis(
                "share of seeds × tasks", range=[-0.02, 1.04], tickformat=".0%", automargin=True
            ),
        ),
        table=Table(
            ["above", *agents],
            [
                [
                    percent(float(next(iter(agents.values())).thresholds[place])),
                    *(percent(float(seeds.profile[place])) for seeds in agents.values()),
                ]
                for place in shown
            ],
        ),
        legend=[(colour(place), name) for place, name in enumerate(agents)],
    )


def _tasks(runs: Sequence[Named]) -> list[str]:
    """Every task that a run has, in the order of the first that has it."""
    return list(dict.fromkeys(task for _, run in runs for task in run.success_rate_per_task))


def _dots(name: str, run: Result, tasks: Sequence[str], place: int, runs: int) -> go.Scatter:
    played = [task for task in tasks if task in run.success_rate_per_task]
    rates = [run.success_rate_per_task[task] for task in played]
    intervals = [run.success.intervals95_per_task[task] for task in played]
    offset = (place - (runs - 1) / 2) * 0.72 / max(runs, 2)
    return go.Scatter(
        x=rates,
        y=[tasks.index(task) + offset for task in played],
        mode="markers",
        marker={"size": 8 if runs <= 4 else 6, "color": colour(place)},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - rate for rate, (_, high) in zip(rates, intervals, strict=True)],
            "arrayminus": [rate - low for rate, (low, _) in zip(rates, intervals, strict=True)],
            "color": colour(place),
            "thickness": 2,
            "width": 0,
        },
        hoverinfo="text",
        hovertext=[
            f"<b>{escaped(task)}</b><br>{escaped(name)}: {percent(rate)}"
            f"<br>95 % interval {percents(interval)}"
            for task, rate, interval in zip(played, rates, intervals, strict=True)
        ],
    )


def _bands(rows: int) -> list[dict[str, object]]:
    """Every second row shaded, so that a group of dots is seen to be one task."""
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


def _difference(success: FloatArray | None) -> float | None:
    return None if success is None else float(success[0] - success[1])


def _hover(task: str, variant: int, success: FloatArray | None) -> str:
    if success is None:
        return ""
    ours, theirs = (percent(float(each)) for each in success)
    return f"<b>{escaped(task)}</b> goal {variant}<br>{ours} against {theirs}"
