"""Curves of agents that learn, while they are judged or before: of one agent, or of several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reglue_bench.formatting import STATUSES, count, percent, percents, plural, value, values
from reglue_bench.plots import figures
from reglue_bench.plots.curves import (
    LOST,
    Lines,
    every_run,
    lines_of,
    mean_and_band,
    step_lines,
    y_ends,
)
from reglue_bench.plots.figures import (
    NEUTRAL,
    SHADE,
    Axis,
    Dots,
    Figure,
    Mark,
    NamedRun,
    Plot,
    Table,
    colour,
)
from reglue_bench.procedures.online import measured
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.statistics import Interval

CURVES = ("checkpoint", "training")
MEASURES = ("success", "return")

_ROWS = 20  # of a curve's table
_LINES = 50  # of runs in a plot: more would make the page large and show no more
_LOG_FROM = 10  # times the least: then an axis of steps is logarithmic


@dataclass(frozen=True, slots=True)
class PlottedScore:
    """An agent and its score, as plots show them."""

    name: str  # empty if it is alone
    score: PerformanceScore
    colour: str
    lowest: float = -math.inf  # return, or reward, that is possible, see `lowest_of`


def learning_plots(agents: Sequence[PlottedScore], *, prefix: str) -> list[Plot]:
    """The curves of one agent, or of several, overlaid, and the performance of each run.

    `prefix` makes the plots' ids unique on the page.
    """
    first, plots = agents[0].score, []
    runs = [run for agent in agents for run in agent.score.runs]
    if any(run.line for run in runs):
        what = "return" if first.counted_in == "episodes" else "reward per step"
        lines = [lines_of(agent.score, lambda run: run.line, agent.lowest) for agent in agents]
        title, plot_id = "Learning curve", f"{prefix}-curve"
        plots.append(_score_curves(agents, lines, what, title, plot_id=plot_id))
    if any(len(set(run.episode_steps)) > 1 for run in runs):
        lines = [lines_of(agent.score, lambda run: run.episode_steps) for agent in agents]
        title, plot_id = "Steps per episode", f"{prefix}-steps"
        plots.append(_score_curves(agents, lines, title.lower(), title, plot_id=plot_id))
    return [*plots, _performances(agents, plot_id=f"{prefix}-runs")]


def training_plots(runs: Sequence[NamedRun], *, prefix: str) -> list[Plot]:
    """Checkpoints and training episodes over steps; runs of one label are seeds of one agent.

    `prefix` makes the plots' ids unique on the page. Nothing if no agent was trained first.
    """
    return [
        _training_curves(lines, what, measure, plot_id=f"{prefix}-{what}-{measure}")
        for what in CURVES
        for measure in MEASURES
        if (lines := lines_by_agent(runs, what, measure))
    ]


def lines_by_agent(runs: Sequence[NamedRun], what: str, measure: str) -> dict[str, Lines]:
    """A curve of training or checkpoints over training seeds, by agent; of those that have it."""
    agents: dict[tuple[str, str], list[tuple[int, dict[int, float]]]] = {}
    for _, result in runs:
        if result.training is not None:
            points = [each for each in result.curves if each.curve == f"{what} {measure}"]
            trained = result.training.steps, {each.at: each.value for each in points}
            agents.setdefault((result.agent.label, result.plan_sha256), []).append(trained)
    labels = [label for label, _ in agents]
    by_agent = {}
    for (label, plan), of_agent in agents.items():
        name = label
        if labels.count(label) > 1:  # as it was trained in several ways
            name = f"{label}, {of_agent[0][0]:,} steps"
            name = f"{name}, plan {plan[:6]}" if name in by_agent else name
        if (of := step_lines([curve for _, curve in of_agent], measure)) is not None:
            by_agent[name] = of
    return by_agent


def table_steps(lines: Iterable[Lines]) -> list[int]:
    """The last episode or step of each point of the lines, or of 20 of them."""
    steps = sorted({step for of in lines for step in of.ends})
    return [steps[place] for place in _spread(len(steps))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curves:
    """Curves of one quantity over episodes or steps, of one agent or of several."""

    what: str  # the quantity
    scale: Literal["linear", "rate", "log"]  # of its axis
    over: str  # the label of the other axis
    each: str  # what a line is of: a run, a training seed
    by_agent: Sequence[tuple[str, str, Lines]]  # name, colour, lines
    measured: Interval | None = None  # the part of each run, if not all of it is

    def plot(self, *, plot_id: str, title: str, caption: str) -> Plot:
        """The means with their bands, and each run's line."""
        lines = [of for _, _, of in self.by_agent]
        alone, most = len(lines) == 1, max(1, _LINES // len(lines))
        ends = y_ends(lines, log=self.scale == "log")
        floor = ends[0] if self.scale == "log" else -math.inf
        marks: list[Mark] = []
        for _, shade, of in self.by_agent:
            marks += every_run(of, colour=NEUTRAL if alone else shade, most=most)
            marks += mean_and_band(of, colour=shade, floor=floor)
        is_rate, some = self.scale == "rate", max(len(of.whole) for of in lines) > most
        shown = f"lines of some {self.each}s" if some else f"each {self.each}'s line"
        return Plot(
            id=plot_id,
            title=title,
            caption=caption,
            summary=" ".join(self._summary(name, of) for name, _, of in self.by_agent),
            figure=Figure(
                marks,
                x=Axis(self.over, (0, max(of.ends[-1] for of in lines))),
                y=figures.rate_axis(self.what) if is_rate else Axis(self.what, ends, self.scale),
                height=300 if alone else 340,
                shaded=self.measured,
            ),
            table=self._table(),
            legend=self._legend(),
            toggle=shown if any(of.has_several for of in lines) else "",
            toggled=alone,
        )

    def _legend(self) -> list[tuple[str, str]]:
        legend = [
            (shade, name or f"mean over {self.each}s")
            for name, shade, of in self.by_agent
            if name or len(of.whole)
        ]
        if len(self.by_agent) == 1 and self.by_agent[0][2].has_several:
            legend.append((NEUTRAL, f"a {self.each}"))
        if any(of.broken for _, _, of in self.by_agent):
            legend.append((LOST, f"a {self.each} that was not played to its end; not in the mean"))
        if self.measured is not None:
            legend.append((SHADE, "what is measured"))
        return legend

    def _summary(self, name: str, of: Lines) -> str:
        mean = f"{name}: mean {self.what}" if name else f"Mean {self.what}"
        if not len(of.whole):
            return f"{mean}: no {self.each} was played to its end."
        first, last = (self._amount(float(of.mean[place])) for place in (0, -1))
        return (
            f"{mean} over {plural(len(of.whole), self.each)}: {first} at {of.at(0)}, {last} at "
            f"{of.at(len(of.ends) - 1)}."
        )

    def _table(self) -> Table:
        """The means and their intervals at 20 points at most."""
        played = [(name, of) for name, _, of in self.by_agent if len(of.whole)]
        labels = {end: of.label(point) for _, of in played for point, end in enumerate(of.ends)}
        columns = {
            name or f"mean {self.what}": {
                end: self._amount(mean) + (f" ({self._interval(interval)})" if interval else "")
                for end, mean, interval in of.points
            }
            for name, of in played
        }
        ends = table_steps(of for _, of in played)
        rows = [[labels[end], *(of.get(end, "–") for of in columns.values())] for end in ends]
        return Table([self.over, *columns], rows)

    def _amount(self, mean: float) -> str:
        return percent(mean) if self.scale == "rate" else value(mean)

    def _interval(self, interval: Interval) -> str:
        return percents(interval) if self.scale == "rate" else values(interval)


def _score_curves(
    agents: Sequence[PlottedScore], lines: Sequence[Lines], what: str, title: str, *, plot_id: str
) -> Plot:
    some, is_log = lines[0], what == "steps per episode" and _is_wide(lines)
    curves = _Curves(
        what=what,
        scale="log" if is_log else "linear",
        over=some.unit,
        each="run",
        by_agent=[(each.name, each.colour, of) for each, of in zip(agents, lines, strict=True)],
        measured=_measured_part(agents[0].score),
    )
    caption = (
        f"{what.capitalize()}: mean over completed runs with its pointwise 95 % t-interval"
        f"{', on a logarithmic axis' if is_log else ''}.{_block_text(some)}"
    )
    return curves.plot(plot_id=plot_id, title=title, caption=caption)


def _is_wide(lines: Sequence[Lines]) -> bool:
    """Whether the longest episode dwarfs the shortest."""
    everything = [each for of in lines for line in of.everything for each in line]
    return max(everything) >= _LOG_FROM * min(everything) > 0


def _training_curves(lines: Mapping[str, Lines], what: str, measure: str, *, plot_id: str) -> Plot:
    curves = _Curves(
        what=measure,
        scale="rate" if measure == "success" else "linear",
        over="training steps",
        each="training seed",
        by_agent=[(name, colour(place), of) for place, (name, of) in enumerate(lines.items())],
    )
    several = any(of.has_several for of in lines.values())
    title = f"{measure.capitalize()} {_WHERE[what]}"
    return curves.plot(plot_id=plot_id, title=title, caption=_CAPTION[what] + _OVER_SEEDS * several)


_OVER_SEEDS = " Mean over training seeds with its pointwise 95 % t-interval, from five seeds on."

_WHERE = {"checkpoint": "at checkpoints", "training": "while it trained"}

_CAPTION = {
    "checkpoint": "Fixed episodes, the same each time, in which the agent neither learns nor is "
    "frozen; none of them is in the score.",
    "training": "Mean of the training episodes that ended in each hundredth of the steps, with "
    "exploration; not the score.",
}


def _performances(agents: Sequence[PlottedScore], *, plot_id: str) -> Plot:
    marks = [mark for row, agent in enumerate(agents) for mark in _performance_marks(agent, row)]
    alone, score = len(agents) == 1, agents[0].score
    completed = sum(len(agent.score.completed) for agent in agents)
    return Plot(
        id=plot_id,
        title="Every run",
        caption=f"Each dot is a completed run's performance: {score.about}. The diamond "
        "is the mean with its 95 % t-interval, if all runs were completed.",
        summary=f"Performance of {plural(completed, 'completed run')}.",
        figure=Figure(
            marks, x=Axis("performance"), y=figures.rows([agent.name for agent in agents], each=62)
        ),
        table=_run_table(score)
        if alone
        else Table(
            ["agent", "completed runs", "worst", "median", "best"],
            [[each.name, *figures.spread(_completed(each.score), value)] for each in agents],
        ),
    )


def _completed(score: PerformanceScore) -> list[float]:
    return [run.performance for run in score.completed if run.performance is not None]


def _performance_marks(agent: PlottedScore, row: int) -> list[Mark]:
    """A dot a completed run, and the mean with its interval if all were completed."""
    score, performance = agent.score, agent.score.performance
    dots = figures.strips({row: _completed(score)}, height=0.5, colour=agent.colour, size=7)
    if performance is None or len(score.completed) < len(score.runs):
        return dots
    interval, above = score.interval95 or (performance, performance), row - 0.4
    return [
        *dots,
        figures.intervals([interval], [above], agent.colour),
        Dots([performance], [above], agent.colour, 9, shape="diamond"),
    ]


def _run_table(score: PerformanceScore) -> Table:
    flagged = any(run.successes for run in score.runs)
    columns = ["run", "performance", "episodes", "steps", *(["successes"] if flagged else [])]
    rows = []
    for run in score.runs:
        performance = "–" if run.performance is None else value(run.performance)
        cells = [str(run.run + 1), performance, count(run.episodes), count(run.steps)]
        cells += [count(run.successes)] if flagged else []
        how = "played to its end" if run.status == "ok" else STATUSES.get(run.status, run.status)
        rows.append([*cells, how])
    return Table([*columns, "how it ended"], rows)


def _block_text(lines: Lines) -> str:
    """A sentence that says what a point is, if it is more than an episode."""
    size = lines.ends[0] - lines.begins[0] + 1
    if size == 1:
        return ""
    return f" Each point is the mean of {plural(size, lines.unit)}."


def _spread(points: int) -> list[int]:
    """At most 20 of this many points, including the first and the last."""
    if points <= _ROWS:
        return list(range(points))
    return [round(place * (points - 1) / (_ROWS - 1)) for place in range(_ROWS)]


def _measured_part(score: PerformanceScore) -> Interval | None:
    """The part of a run that is measured, where that is not all of it."""
    if score.metric == "all":
        return None
    return score.quota - measured(score.metric, score.quota), score.quota
