"""Curves over training steps, of one agent or of several, each over its training seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reglue_bench.formatting import count, percent, plural, value
from reglue_bench.measures.seed_statistics import LEAST_SEEDS
from reglue_bench.plots.curves import Lines, every_run, mean_and_band, y_ends
from reglue_bench.plots.figures import NEUTRAL, Axis, Figure, Mark, colour, rate_axis
from reglue_bench.plots.views import NamedRun, Plot, Table
from reglue_bench.results.scores import StepCurve, TrainingProgress

_ROWS = 20  # of a curve's table


def training_plots(runs: Sequence[NamedRun], *, prefix: str) -> list[Plot]:
    """Checkpoints and training episodes over steps; runs of one label are seeds of one agent.

    `prefix` makes the plots' ids unique on the page. Nothing if no agent was trained first.
    """
    return [
        _plot(lines, what, measure, plot_id=f"{prefix}-{what}-{measure}")
        for what in CURVES
        for measure in MEASURES
        if (lines := lines_by_agent(runs, what, measure))
    ]


def lines_by_agent(runs: Sequence[NamedRun], what: str, measure: str) -> dict[str, Lines]:
    """A curve of CURVES over training seeds, by agent; of those that have it."""
    agents: dict[tuple[str, str], list[tuple[int, StepCurve]]] = {}
    for _, result in runs:
        if result.training is not None and (curve := CURVES[what](result.training)) is not None:
            key = result.agent.label, result.plan_sha256
            agents.setdefault(key, []).append((result.training.steps, curve))
    labels = [label for label, _ in agents]
    by_agent = {}
    for (label, plan), trained in agents.items():
        name = label
        if labels.count(label) > 1:  # as it was trained in several ways
            name = f"{label}, {trained[0][0]:,} steps"
            name = f"{name}, plan {plan[:6]}" if name in by_agent else name
        if (of := step_lines([curve for _, curve in trained], measure)) is not None:
            by_agent[name] = of
    return by_agent


def table_steps(lines: Mapping[str, Lines]) -> list[int]:
    """The steps of all lines, or 20 of them."""
    steps = sorted({step for of in lines.values() for step in of.ends})
    if len(steps) <= _ROWS:
        return steps
    return [steps[round(n * (len(steps) - 1) / (_ROWS - 1))] for n in range(_ROWS)]


def step_lines(curves: Sequence[StepCurve], measure: str) -> Lines | None:
    """A line for each curve, at the steps where all have episodes; None if there are none."""
    rows = [each.success_rate if measure == "success" else each.mean_return for each in curves]
    steps = curves[0].at if curves else []
    if not rows or not all(rows) or any(each.at != steps for each in curves):
        return None
    whole = np.array(rows, np.float64)  # (runs, points), None is NaN
    shared = np.flatnonzero(~np.isnan(whole).any(axis=0))
    if not len(shared):
        return None
    ends = [steps[place] for place in shared]
    runs = list(range(len(rows)))
    bounds = (0.0, 1.0) if measure == "success" else (-math.inf, math.inf)
    return Lines(
        "step", ends, ends, whole[:, shared], runs, broken=[], least=LEAST_SEEDS, bounds=bounds
    )


CURVES: Mapping[str, Callable[[TrainingProgress], StepCurve | None]] = {
    "checkpoint": lambda training: training.checkpoints,
    "training": lambda training: training.curve,
}

MEASURES = ("success", "return")


def _plot(lines: Mapping[str, Lines], what: str, measure: str, *, plot_id: str) -> Plot:
    marks: list[Mark] = []
    several = any(len(of.whole) > 1 for of in lines.values())
    for place, of in enumerate(lines.values()):
        if len(of.whole) > 1:
            marks += every_run(
                of, colour=NEUTRAL if len(lines) == 1 else colour(place), most=len(of.whole)
            )
        marks += mean_and_band(of, colour=colour(place))
    last = max(of.ends[-1] for of in lines.values())
    over = (
        " Mean over training seeds with its pointwise 95 % t-interval, from five seeds on."
        if several
        else ""
    )
    return Plot(
        id=plot_id,
        title=f"{measure.capitalize()} {_WHERE[what]}",
        caption=_CAPTION[what] + over,
        summary=" ".join(_summary(name, of, measure) for name, of in lines.items()),
        figure=Figure(
            marks,
            x=Axis("training steps", (0, last)),
            y=rate_axis(measure)
            if measure == "success"
            else Axis(measure, y_ends(list(lines.values()))),
        ),
        table=_table(lines, measure),
        legend=[(colour(place), name) for place, name in enumerate(lines)],
        toggle="each training seed's line" if several else "",
        toggled=len(lines) == 1,
    )


_WHERE = {"checkpoint": "at checkpoints", "training": "while it trained"}

_CAPTION = {
    "checkpoint": "Fixed episodes, the same each time, in which the agent neither learns nor is "
    "frozen; none of them is in the score.",
    "training": "Mean of the training episodes that ended in each hundredth of the steps, with "
    "exploration; not the score.",
}


def _amount(measure: str) -> Callable[[float], str]:
    return percent if measure == "success" else value


def _summary(name: str, lines: Lines, measure: str) -> str:
    amount, mean = _amount(measure), lines.mean
    return (
        f"{name}, {measure}, {plural(len(lines.whole), 'training seed')}: {amount(float(mean[0]))} "
        f"at {lines.at(0)}, {amount(float(mean[-1]))} at {lines.at(len(lines.ends) - 1)}."
    )


def _table(lines: Mapping[str, Lines], measure: str) -> Table:
    """The means at 20 steps at most."""
    amount = _amount(measure)
    means = {name: dict(zip(of.ends, of.mean, strict=True)) for name, of in lines.items()}
    return Table(
        ["steps", *lines],
        [
            [
                count(step),
                *(amount(float(of[step])) if step in of else "–" for of in means.values()),
            ]
            for step in table_steps(lines)
        ],
    )
