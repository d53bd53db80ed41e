"""The plots of several agents that learn, one over the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from reglue_bench.report.curves import Lines, every_run, lines_of, mean_and_band, y_range
from reglue_bench.report.figures import Plot, Table, figure, task_axis, value_axis
from reglue_bench.report.learning_plots import (
    MARGIN,
    amount_axis,
    block_words,
    drawn,
    measured_part,
    spread,
    unit_axis,
)
from reglue_bench.report.run_performances import performance_dots, performance_mean
from reglue_bench.report.words import plural, value
from reglue_bench.results.result import OnlineScore


@dataclass(frozen=True, slots=True)
class Shown:
    """An agent in the plots."""

    name: str
    online: OnlineScore
    colour: str


def compared(agents: Sequence[Shown]) -> list[Plot]:
    """Their curves, overlaid, and the performance of each of their runs."""
    lines = {agent.name: lines_of(agent.online, lambda run: run.line) for agent in agents}
    plots = [_performances(agents)]
    if any(len(each.whole) for each in lines.values()):
        plots.insert(0, _curves(agents, lines))
    return plots


def _curves(agents: Sequence[Shown], lines: dict[str, Lines]) -> Plot:
    what = drawn(agents[0].online)
    some = next(iter(lines.values()))
    traces: list[go.Scatter] = []
    for agent in agents:
        of = lines[agent.name]
        traces += every_run(of, colour=agent.colour, shown=False)
        traces += mean_and_band(of, name=agent.name, colour=agent.colour)
    return Plot(
        id="compare-curves",
        title="Learning curves",
        caption=f"{what.capitalize()}: mean over completed runs with its pointwise 95 % "
        f"t-interval.{block_words(some)}",
        summary=f"Learning curves of {plural(len(agents), 'agent')} over {some.unit}s.",
        figure=figure(
            traces,
            height=400,
            margin=MARGIN,
            shapes=measured_part(agents[0].online),
            xaxis=unit_axis(some),
            yaxis=amount_axis(what, y_range(list(lines.values()))),
            hovermode="closest",
        ),
        table=_table(agents, lines),
        legend=[(agent.colour, agent.name) for agent in agents],
        toggle="each run's line",
        toggled=False,
    )


def _table(agents: Sequence[Shown], lines: dict[str, Lines]) -> Table:
    some = next(iter(lines.values()))
    return Table(
        [some.unit, *(agent.name for agent in agents)],
        [
            [
                some.at(point).partition(" ")[2],
                *(
                    value(float(of.mean[point])) if len(of.whole) else "–"
                    for of in (lines[agent.name] for agent in agents)
                ),
            ]
            for point in spread(len(some.ends))
        ],
    )


def _performances(agents: Sequence[Shown]) -> Plot:
    names = [agent.name for agent in agents]
    traces: list[go.Box | go.Scatter] = []
    for row, agent in enumerate(agents):
        if agent.online.completed:
            traces.append(performance_dots(agent.online, row=row, colour=agent.colour))
            traces += performance_mean(agent.online, row=row - 0.4, colour=agent.colour)
    return Plot(
        id="compare-runs",
        title="Every run",
        caption="Each dot is a completed run's performance; the diamonds are the means, with their "
        "95 % t-intervals, of agents whose runs were all completed.",
        summary=f"Performance of each run of {plural(len(agents), 'agent')}.",
        figure=figure(
            traces,
            height=70 + 62 * len(agents),
            xaxis=value_axis("performance"),
            yaxis=task_axis(names),
        ),
        table=Table(
            ["agent", "completed runs", "worst", "median", "best"],
            [_row(agent) for agent in agents],
        ),
    )


def _row(agent: Shown) -> list[str]:
    found = sorted(r.performance for r in agent.online.completed if r.performance is not None)
    if not found:
        return [agent.name, "0", "–", "–", "–"]
    middle = (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2
    return [agent.name, str(len(found)), value(found[0]), value(middle), value(found[-1])]
