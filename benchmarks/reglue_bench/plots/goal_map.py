"""Maps of goals: a square for each goal of each task, of one run or of the difference of two."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from reglue_bench.float_range import FloatArray
from reglue_bench.formatting import STATUSES, count, percent, points
from reglue_bench.measures.compare import goals_per_task, same_plan, success_by_goal, units_of
from reglue_bench.plots.figures import (
    ALIKE,
    FAILURE,
    FAULT,
    RATE_SCALE,
    SUCCESS,
    colour,
    escaped,
    figure,
    rows_height,
    task_axis,
    value_axis,
)
from reglue_bench.plots.views import Figure, NamedRun, Plot, Table
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Result

MOST_LINES = 6  # of a hover text


def goal_map(result: Result, *, plot_id: str) -> Plot:
    """Success of each goal; hover says how its episodes went."""
    tasks = list(result.success_rate_per_task)
    goals = _by_goal(result)
    variants = _variants(result, goals)
    squares = go.Heatmap(
        z=[[_rate(goals.get((task, v))) for v in variants] for task in tasks],
        x=list(range(len(variants))),
        y=list(range(len(tasks))),
        text=[[_hover(task, v, goals.get((task, v), ())) for v in variants] for task in tasks],
        hoverinfo="text",
        hoverongaps=False,
        colorscale=RATE_SCALE,
        zmin=0,
        zmax=1,
        xgap=2 if len(variants) <= 60 else 0.5,
        ygap=2,
        showscale=False,
    )
    faults = [
        (variants.index(variant), tasks.index(task))
        for (task, variant), rows in goals.items()
        if any(row.status != "ok" for row in rows)
    ]
    crosses = go.Scatter(
        x=[x for x, _ in faults],
        y=[y for _, y in faults],
        mode="markers",
        marker={"symbol": "x-thin", "size": 8, "line": {"width": 1.8, "color": FAULT}},
        hoverinfo="skip",
    )
    return Plot(
        id=plot_id,
        title="Every goal",
        caption="One square a goal; point at it for its return, steps and status.",
        summary=f"{count(len(goals))} goals over {count(len(tasks))} tasks, coloured by success.",
        figure=figure(
            [squares, crosses],
            height=rows_height(len(tasks), each=0 if len(tasks) > 3 else 40, least=110),
            xaxis=_variant_axis(variants),
            yaxis=task_axis(tasks),
            plot_bgcolor="rgba(140,145,155,0.13)",
        ),
        table=Table(
            ["task", "goals solved", "partly", "not solved", "with faults"],
            [[task, *_tally(task, goals)] for task in tasks],
        ),
        legend=_legend(goals, everywhere=len(goals) == len(tasks) * len(variants)),
    )


def difference_map(runs: Sequence[NamedRun], place: int) -> Plot | None:
    """A map of the goals on which a run beats the first; None if their plans differ."""
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
        text=[[_against(task, v, goals[task].get(v)) for v in variants] for task in tasks],
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
            xaxis=_variant_axis(variants),
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


def _variant_axis(variants: Sequence[int]) -> Figure:
    """An x axis with a column a variant, a number under some."""
    every = max(1, math.ceil(len(variants) / 12))
    ticks = range(0, len(variants), every)
    return value_axis(
        "goal",
        tickvals=list(ticks),
        ticktext=[str(variants[place]) for place in ticks],
        range=[-0.5, len(variants) - 0.5] if variants else [-0.5, 0.5],
        showgrid=False,
    )


def _by_goal(result: Result) -> Mapping[tuple[str, int], list[EpisodeRow]]:
    goals: defaultdict[tuple[str, int], list[EpisodeRow]] = defaultdict(list)
    for row in result.episodes:
        if row.phase == "evaluate" and row.task in result.success_rate_per_task:
            goals[row.task, row.variant].append(row)
    return dict(goals)


def _variants(result: Result, goals: Iterable[tuple[str, int]]) -> Sequence[int]:
    """The variants that were played; if a plan counts from 0, also those never reached."""
    played = sorted({variant for _, variant in goals})
    planned = max(goals_per_task(result).values())
    return range(planned) if not played or played[-1] < planned else played


def _rate(rows: Sequence[EpisodeRow] | None) -> float | None:
    return sum(row.success for row in rows) / len(rows) if rows else None


def _hover(task: str, variant: int, rows: Sequence[EpisodeRow]) -> str:
    lines = [
        f"{_outcome(row)} · {count(row.steps)} steps · return {row.return_:z,.1f}" for row in rows
    ]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"and {len(lines) - MOST_LINES + 1} more"]
    return "<br>".join([f"<b>{escaped(task)}</b> goal {variant}", *lines])


def _outcome(row: EpisodeRow) -> str:
    if row.status != "ok":
        return STATUSES[row.status]
    return "success" if row.success else "failure"


def _tally(task: str, goals: Mapping[tuple[str, int], Sequence[EpisodeRow]]) -> list[str]:
    mine = [rows for (name, _), rows in goals.items() if name == task]
    rates = [_rate(rows) for rows in mine]
    solved, lost = rates.count(1.0), rates.count(0.0)
    faulty = sum(any(row.status != "ok" for row in rows) for rows in mine)
    return [count(n) for n in (solved, len(rates) - solved - lost, lost, faulty)]


def _legend(
    goals: Mapping[tuple[str, int], Sequence[EpisodeRow]], *, everywhere: bool
) -> list[tuple[str, str]]:
    legend = [(SUCCESS, "success"), (FAILURE, "failure")]
    if any(0 < (_rate(rows) or 0) < 1 for rows in goals.values()):
        legend.insert(1, ("#d9cfae", "some of its episodes"))
    if not everywhere:
        legend.append(("rgba(140,145,155,0.3)", "not played"))
    if any(row.status != "ok" for rows in goals.values() for row in rows):
        stroke = f"linear-gradient(45deg, transparent 42%, {FAULT} 42% 58%, transparent 58%)"
        legend.append((f"{stroke}, {FAILURE}", "a fault"))
    return legend


def _difference(success: FloatArray | None) -> float | None:
    return None if success is None else float(success[0] - success[1])


def _against(task: str, variant: int, success: FloatArray | None) -> str:
    if success is None:
        return ""
    ours, theirs = (percent(float(each)) for each in success)
    return f"<b>{escaped(task)}</b> goal {variant}<br>{ours} against {theirs}"
