"""A plot of the returns of single episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import plotly.graph_objects as go

from reglue_bench.float_range import scaled, within
from reglue_bench.formatting import count, plural, value, values
from reglue_bench.measures.success import evaluated
from reglue_bench.plots.agent_plots import PlottedAgent, plotted_agents, seeds_caption
from reglue_bench.plots.figures import NEUTRAL, escaped, figure, rows_height, task_axis, value_axis
from reglue_bench.plots.views import NamedRun, Plot, Table
from reglue_bench.results.episodes import EpisodeRow

_Episode: TypeAlias = tuple[str, EpisodeRow]
"""The name of its run, and its row."""

_MOST_DOTS = 2_000
"""Of an agent or a run: more would make the page large and show no more."""


def returns(runs: Sequence[NamedRun], *, plot_id: str) -> Plot:
    """A strip for each task, in it one for each agent or run: a dot an episode, and the mean."""
    alone, of = len(runs) == 1, plotted_agents(runs)
    tasks = list(dict.fromkeys(task for _, run in runs for task in run.returns_per_task))
    played = [_episodes(each) for each in of]
    values = [row.return_ for rows in played for _, row in rows]
    strips = [
        _strip(each, rows, tasks, place, of=len(of))
        for place, (each, rows) in enumerate(zip(of, played, strict=True))
    ]
    means = [_means(each, tasks, place, of=len(of)) for place, each in enumerate(of)]
    span = f", from {value(min(values))} to {value(max(values))}" if values else ""
    return Plot(
        id=plot_id,
        title="Returns of episodes",
        caption="Each dot is an episode, the box holds the middle half. The diamond is the mean, "
        "with its 95 % interval." + seeds_caption(of),
        summary=f"{plural(len(values), 'episode')} of {plural(len(of), 'run')}{span}.",
        figure=figure(
            [*strips, *means],
            height=rows_height(len(tasks), each=max(90, 46 * len(of)), least=150),
            xaxis=value_axis("return", nticks=8, tickformat=",~g"),
            yaxis=task_axis(tasks),
        ),
        table=Table(
            [*([] if alone else ["run"]), "task", "episodes", "least", "median", "most", "mean"],
            [
                [*([] if alone else [each.name]), task, *_spread(rows, task), _mean(each, task)]
                for each, rows in zip(of, played, strict=True)
                for task in tasks
            ],
        ),
        legend=[] if alone else [(each.colour, each.name) for each in of],
    )


def _episodes(agent: PlottedAgent) -> list[_Episode]:
    """All episodes that were played to their end, each with the name of its run."""
    return [
        (name if agent.name else "", row)
        for name, run in agent.runs
        for row in evaluated(run)
        if row.status == "ok"
    ]


def _strip(
    agent: PlottedAgent, rows: Sequence[_Episode], tasks: Sequence[str], place: int, *, of: int
) -> go.Box:
    dots = rows[:: -(-len(rows) // _MOST_DOTS) or 1]
    offset, width = _place(place, of)
    return go.Box(
        x=[row.return_ for _, row in dots],
        y=[tasks.index(row.task) + offset for _, row in dots],
        orientation="h",
        width=width,
        boxpoints="all",
        jitter=0.8,
        pointpos=0,
        marker={"size": 5, "color": agent.colour, "opacity": 0.55},
        line={"width": 1.2, "color": NEUTRAL},
        fillcolor="rgba(140,145,155,0.10)",
        hoveron="points",
        hoverinfo="text",
        text=[_hover(name, row) for name, row in dots],
    )


def _means(agent: PlottedAgent, tasks: Sequence[str], place: int, *, of: int) -> go.Scatter:
    """Diamonds, with the intervals of the tasks' means."""
    name, scores = agent.name, agent.scores
    offset, _ = _place(place, of)
    bounds = [each.interval95 or (each.score, each.score) for each in scores.values()]
    return go.Scatter(
        x=[each.score for each in scores.values()],
        y=[tasks.index(task) + offset for task in scores],
        mode="markers",
        marker={
            "size": 12,
            "symbol": "diamond",
            "color": agent.colour,
            "line": {"width": 1.5, "color": "#f4f2ee"},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [within(b[1] - e.score) for e, b in zip(scores.values(), bounds, strict=True)],
            "arrayminus": [
                within(e.score - b[0]) for e, b in zip(scores.values(), bounds, strict=True)
            ],
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


def _place(place: int, of: int) -> tuple[float, float]:
    """A strip's distance from its task's row, and its width."""
    return (place - (of - 1) / 2) * 0.84 / of, 0.66 / of


def _hover(name: str, row: EpisodeRow) -> str:
    whose = f"{escaped(name)}<br>" if name else ""
    seed = f", seed {row.seed}" if row.seed is not None else ""
    steps = plural(row.steps, "step")
    return f"<b>{escaped(row.task)}</b><br>{whose}return {value(row.return_)}, {steps}{seed}"


def _spread(rows: Sequence[_Episode], task: str) -> list[str]:
    of = [row.return_ for _, row in rows if row.task == task]
    if not of:
        return ["0", "–", "–", "–"]
    return [count(len(of)), *(value(float(scaled(f, of))) for f in (np.min, np.median, np.max))]


def _mean(agent: PlottedAgent, task: str) -> str:
    """The score, in which goals weigh alike."""
    return value(agent.scores[task].score) if task in agent.scores else "–"
