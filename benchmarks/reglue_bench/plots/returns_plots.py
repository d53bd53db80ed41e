"""A plot of the returns of single episodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reglue_bench.float_range import scaled
from reglue_bench.formatting import count, plural, value
from reglue_bench.measures.measures import evaluated
from reglue_bench.plots.agent_plots import PlottedAgent, plotted_agents, seeds_caption
from reglue_bench.plots.figures import (
    NEUTRAL,
    Axis,
    Dots,
    Figure,
    Mark,
    intervals,
    left_out,
    rows,
    strips,
)
from reglue_bench.plots.views import NamedRun, Plot, Table
from reglue_bench.results.episodes import EpisodeRow


def returns(runs: Sequence[NamedRun], *, plot_id: str) -> Plot:
    """A strip for each task, in it one for each agent or run: a dot an episode, and the mean."""
    alone, of = len(runs) == 1, plotted_agents(runs)
    tasks = list(dict.fromkeys(task for _, run in runs for task in run.returns_per_task))
    played = [_episodes(each) for each in of]
    values = [row.return_ for of_agent in played for row in of_agent]
    span = f", from {value(min(values))} to {value(max(values))}" if values else ""
    return Plot(
        id=plot_id,
        title="Returns of episodes",
        caption="Each dot is an episode, the box holds the middle half. The diamond is the mean, "
        "with its 95 % interval." + left_out(max(map(len, played))) + seeds_caption(of),
        summary=f"{plural(len(values), 'episode')} of {plural(len(of), 'run')}{span}.",
        figure=Figure(
            [
                mark
                for place, (each, of_agent) in enumerate(zip(of, played, strict=True))
                for mark in _strips(each, of_agent, tasks, place, of=len(of))
            ],
            x=Axis("return"),
            y=rows(tasks, each=max(90, 46 * len(of))),
        ),
        table=Table(
            [*([] if alone else ["run"]), "task", "episodes", "least", "median", "most", "mean"],
            [
                [*([] if alone else [each.name]), task, *_spread(of_agent, task), _mean(each, task)]
                for each, of_agent in zip(of, played, strict=True)
                for task in tasks
            ],
        ),
        legend=[] if alone else [(each.colour, each.name) for each in of],
    )


def _episodes(agent: PlottedAgent) -> list[EpisodeRow]:
    """All episodes that were played to their end."""
    return [row for _, run in agent.runs for row in evaluated(run) if row.status == "ok"]


def _strips(
    agent: PlottedAgent, played: Sequence[EpisodeRow], tasks: Sequence[str], place: int, *, of: int
) -> list[Mark]:
    """The strips of one of `of` agents, and diamonds with the intervals of the tasks' means."""
    offset = (place - (of - 1) / 2) * 0.84 / of
    returns: dict[float, list[float]] = {row + offset: [] for row in range(len(tasks))}
    for episode in played:
        returns[tasks.index(episode.task) + offset].append(episode.return_)
    y = [tasks.index(task) + offset for task in agent.scores]
    bounds = [each.interval95 or (each.score, each.score) for each in agent.scores.values()]
    means = [each.score for each in agent.scores.values()]
    return [
        *strips(returns, height=0.66 / of, colour=agent.colour),
        intervals(bounds, y, NEUTRAL, width=2.5),
        Dots(means, y, agent.colour, 10, shape="diamond"),
    ]


def _spread(played: Sequence[EpisodeRow], task: str) -> list[str]:
    of = [row.return_ for row in played if row.task == task]
    if not of:
        return ["0", "–", "–", "–"]
    return [count(len(of)), *(value(float(scaled(f, of))) for f in (np.min, np.median, np.max))]


def _mean(agent: PlottedAgent, task: str) -> str:
    """The score, in which goals weigh alike."""
    return value(agent.scores[task].score) if task in agent.scores else "–"
