r"""Scores and curves of agents as tables for papers and programs: CSV, and LaTeX with booktabs.

A row is an agent over its training seeds, or else a run. The document that includes the LaTeX
needs `\usepackage{booktabs}`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

import numpy as np

from reglue_bench.formatting import count
from reglue_bench.measures.seed_statistics import BOOTSTRAP_SEED, over_training_seeds
from reglue_bench.plots.compared import groups_of
from reglue_bench.plots.figures import NamedRun
from reglue_bench.plots.learning_plots import CURVES, MEASURES, lines_by_agent, training_plots
from reglue_bench.results.result import Measure
from reglue_bench.statistics import Interval


class ScoreRow(NamedTuple):
    """The score of an agent; a field is None if it is unknown or too few seeds were played."""

    agent: str
    benchmark: str
    score: str  # what it is: success (0 to 1), mean return, performance
    training_seeds: int  # that `mean` is over; 1: of a single run
    mean: float | None
    low: float | None  # of the 95 % interval
    high: float | None
    iqm: float | None  # interquartile mean over training seeds × tasks
    iqm_low: float | None
    iqm_high: float | None


class CurveRow(NamedTuple):
    """A point of a curve over training steps, over an agent's training seeds."""

    agent: str
    curve: str  # checkpoint or training
    measure: str  # success (0 to 1) or return
    training_seeds: int
    steps: int  # of training
    mean: float
    low: float | None  # of Student's 95 % interval over training seeds; None below five
    high: float | None


def score_rows(runs: Sequence[NamedRun]) -> list[ScoreRow]:
    """A row for each agent that has several training seeds, then one for each other run."""
    groups = groups_of(runs)
    rows = []
    for name, group in groups.items():
        scores = over_training_seeds(group, rng=np.random.default_rng(BOOTSTRAP_SEED))
        about = (name, group[0].title, group[0].measure.name, len(group))
        ends = (*_ends(scores.mean_interval95), scores.iqm, *_ends(scores.iqm_interval95))
        rows.append(ScoreRow(*about, scores.mean, *ends))
    taken = [result for group in groups.values() for result in group]
    for name, result in runs:
        if not any(result is each for each in taken):
            about = (name, result.title, result.measure.name, 1)
            interval = _ends(result.interval95)
            rows.append(ScoreRow(*about, result.score.value, *interval, None, None, None))
    return rows


def curve_rows(runs: Sequence[NamedRun]) -> list[CurveRow]:
    """Every point of every curve; none if no agent was trained first."""
    return [
        CurveRow(name, what, measure, len(of.whole), step, mean, *_ends(interval))
        for what in CURVES
        for measure in MEASURES
        for name, of in lines_by_agent(runs, what, measure).items()
        for step, mean, interval in of.points
    ]


def as_csv(rows: Sequence[ScoreRow] | Sequence[CurveRow]) -> str:
    """A CSV text with a header; floats have all their digits, and unknown values are empty."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0]._fields)
    writer.writerows(rows)
    return text.getvalue()


def as_latex(runs: Sequence[NamedRun]) -> str:
    """The scores as a `tabular`, and a second one of the curve over training steps, if any."""
    measure = runs[0][1].measure
    return "\n".join([*_scores(score_rows(runs), measure), *_curve(runs, measure)])


def escaped_latex(text: str) -> str:
    r"""Text as LaTeX sets it: `50 %_a` is `50 \%\_a`."""
    return "".join(_LATEX.get(each, each) for each in text)


_LATEX = {
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "−": "$-$",
    "–": "--",
    "\n": " ",
}


def _scores(rows: Sequence[ScoreRow], measure: Measure) -> Iterator[str]:
    several = any(row.training_seeds > 1 for row in rows)
    names = ["agent", "benchmark", measure.name, "95 % interval"]
    if several:
        names[2:2] = ["training seeds"]
        names += ["IQM", "95 % interval"]
    cells = []
    for row in rows:
        average = [_word(row.mean, measure), _interval(row.low, row.high, measure)]
        more = [_word(row.iqm, measure), _interval(row.iqm_low, row.iqm_high, measure)]
        seeds = [count(row.training_seeds)]
        cells.append(
            [row.agent, row.benchmark, *seeds * several, *average, *(more if several else [])]
        )
    yield from _tabular("ll", names, cells)


def _curve(runs: Sequence[NamedRun], judged_by: Measure) -> Iterator[str]:
    """The mean over training seeds at 20 steps at most: of checkpoints, or else of training."""
    measure = "success" if judged_by.is_rate else "return"
    plots = {plot.id: plot for plot in training_plots(runs, prefix="paper")}
    what = next((what for what in CURVES if f"paper-{what}-{measure}" in plots), None)
    if what is not None:
        table = plots[f"paper-{what}-{measure}"].table
        yield ""
        yield f"% {measure} at {what} episodes, mean over training seeds (95 % interval)"
        yield from _tabular("r", table.columns, table.rows)


def _tabular(left: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{{left}{'r' * (len(names) - len(left))}}}"
    yield r"\toprule"
    yield _line(names)
    yield r"\midrule"
    yield from map(_line, rows)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped_latex, cells)) + r" \\"


def _word(amount: float | None, measure: Measure) -> str:
    return "–" if amount is None else measure.amount(amount)


def _interval(low: float | None, high: float | None, measure: Measure) -> str:
    return "–" if low is None or high is None else measure.amounts((low, high))


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval
