"""The returns of single episodes: where they lie, and how they spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from reglue_bench.criteria.criterion import Named
from reglue_bench.criteria.success import evaluated
from reglue_bench.report.plots.figures import (
    NEUTRAL,
    SUCCESS,
    colour,
    escaped,
    figure,
    rows_height,
    task_axis,
    value_axis,
)
from reglue_bench.report.views import Plot, Table
from reglue_bench.report.words import count, plural, value, values
from reglue_bench.results.episodes import EpisodeRow

_MOST_DOTS = 2_000
"""Of a run: more would make the page large and show no more."""


def returns(runs: Sequence[Named], *, plot_id: str) -> Plot:
    """A strip for each task, and in it one for each run: a dot an episode, and the mean."""
    alone = len(runs) == 1
    tasks = list(dict.fromkeys(task for _, run in runs for task in run.returns_per_task))
    played = [[row for row in evaluated(run) if row.status == "ok"] for _, run in runs]
    found = [row.return_ for rows in played for row in rows]
    shown = [
        _strip(runs[place], rows, tasks, place, runs=len(runs)) for place, rows in enumerate(played)
    ]
    means = [_means(runs[place], tasks, place, runs=len(runs)) for place in range(len(runs))]
    span = f", from {value(min(found))} to {value(max(found))}" if found else ""
    return Plot(
        id=plot_id,
        title="Returns of episodes",
        caption="Each dot is an episode, the box holds the middle half. The diamond is the mean, "
        "with its 95 % interval.",
        summary=f"{plural(len(found), 'episode')} of {plural(len(runs), 'run')}{span}.",
        figure=figure(
            [*shown, *means],
            height=rows_height(len(tasks), each=max(90, 46 * len(runs)), least=150),
            xaxis=value_axis("return", nticks=8, tickformat=",~g"),
            yaxis=task_axis(tasks),
        ),
        table=Table(
            [*([] if alone else ["run"]), "task", "episodes", "least", "median", "most", "mean"],
            [
                [*([] if alone else [name]), task, *_spread(name_rows, task)]
                for (name, _), name_rows in zip(runs, played, strict=True)
                for task in tasks
            ],
        ),
        legend=[] if alone else [(colour(place), name) for place, (name, _) in enumerate(runs)],
    )


def _strip(
    run: Named, rows: Sequence[EpisodeRow], tasks: Sequence[str], place: int, *, runs: int
) -> go.Box:
    shown = rows[:: -(-len(rows) // _MOST_DOTS) or 1]
    offset, width = _place(place, runs)
    return go.Box(
        x=[row.return_ for row in shown],
        y=[tasks.index(row.task) + offset for row in shown],
        orientation="h",
        width=width,
        boxpoints="all",
        jitter=0.8,
        pointpos=0,
        marker={"size": 5, "color": _shade(place, runs), "opacity": 0.55},
        line={"width": 1.2, "color": NEUTRAL},
        fillcolor="rgba(140,145,155,0.10)",
        hoveron="points",
        hoverinfo="text",
        text=[_hover(run[0], row) for row in shown],
    )


def _means(run: Named, tasks: Sequence[str], place: int, *, runs: int) -> go.Scatter:
    """Diamonds, with the intervals of the tasks' means."""
    name, result = run
    offset, _ = _place(place, runs)
    scores = result.criterion.per_task(result)
    bounds = [each.interval95 or (each.score, each.score) for each in scores.values()]
    return go.Scatter(
        x=[each.score for each in scores.values()],
        y=[tasks.index(task) + offset for task in scores],
        mode="markers",
        marker={
            "size": 12,
            "symbol": "diamond",
            "color": _shade(place, runs),
            "line": {"width": 1.5, "color": "#f4f2ee"},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [b[1] - e.score for e, b in zip(scores.values(), bounds, strict=True)],
            "arrayminus": [e.score - b[0] for e, b in zip(scores.values(), bounds, strict=True)],
            "color": NEUTRAL,
            "thickness": 2.5,
            "width": 6,
        },
        hoverinfo="text",
        hovertext=[
            f"<b>{escaped(task)}</b><br>{escaped(name)}{': ' if name else ''}mean "
            f"{value(each.score)}"
            + (f"<br>95 % interval {values(each.interval95)}" if each.interval95 else "")
            for task, each in scores.items()
        ],
    )


def _place(place: int, runs: int) -> tuple[float, float]:
    """Of a run's strip: how far from its task's row, and how wide."""
    return (place - (runs - 1) / 2) * 0.84 / runs, 0.66 / runs


def _shade(place: int, runs: int) -> str:
    return SUCCESS if runs == 1 else colour(place)


def _hover(name: str, row: EpisodeRow) -> str:
    whose = f"{escaped(name)}<br>" if name else ""
    seed = f", seed {row.seed}" if row.seed is not None else ""
    steps = plural(row.steps, "step")
    return f"<b>{escaped(row.task)}</b><br>{whose}return {value(row.return_)}, {steps}{seed}"


def _spread(rows: Sequence[EpisodeRow], task: str) -> list[str]:
    of = [row.return_ for row in rows if row.task == task]
    if not of:
        return ["0", "–", "–", "–", "–"]
    return [count(len(of)), *(value(float(f(of))) for f in (min, np.median, max, np.mean))]
