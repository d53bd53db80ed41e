"""Tables of a report for papers and programs: CSV and LaTeX."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np
import pytest

from reglue_bench.report.paper_tables import as_csv, as_latex, curve_rows, escaped_latex, score_rows
from reglue_bench.results.result import Result
from reglue_bench.results.scores import StepCurve, TrainingProgress
from tests.reglue_bench.made_results import Play, make_result


def made(label: str, seed: int, rate: float) -> Result:
    """A run of one label; its checkpoints rise to its rate."""
    run = make_result(
        Play(label=label, rate=rate, training_seed=seed, tasks=["reach", "push"], goals=10)
    )
    points = StepCurve(
        at=[0, 500], episodes=[4, 4], mean_return=[1.0, 2.0 + seed], success_rate=[0.0, rate]
    )
    training = TrainingProgress(
        steps=500,
        steps_taken=500,
        episodes=9,
        episodes_abandoned=0,
        curve=points,
        checkpoints=points,
    )
    return run.model_copy(update={"training": training})


RATES = {"a_1 & b": (0.6, 0.7, 0.8, 0.9, 0.7), "other": (0.5, 0.5)}
RUNS = [
    (f"{label} {seed}", made(label, seed, rate))
    for label, rates in RATES.items()
    for seed, rate in enumerate(rates)
]

LATEX = r"""
\begin{tabular}{llrrrrr}
\toprule
agent & benchmark & training seeds & success & 95 \% interval & IQM & 95 \% interval \\
\midrule
a\_1 \& b & MT10 & 5 & 71.0 \% & 52.2 to 89.8 \% & 71.7 \% & 46.3 to 92.8 \% \\
other & MT10 & 2 & 65.0 \% & -- & 65.0 \% & -- \\
\bottomrule
\end{tabular}

% success at checkpoint episodes, mean over training seeds (95 % interval)
\begin{tabular}{rrr}
\toprule
training steps & a\_1 \& b & other \\
\midrule
0 & 0.0 \% (0.0 to 0.0 \%) & 0.0 \% \\
500 & 74.0 \% (59.8 to 88.2 \%) & 50.0 \% \\
\bottomrule
\end{tabular}
"""


def test_the_latex_is_two_tables_for_booktabs() -> None:
    assert as_latex(RUNS) == LATEX.strip("\n")


def test_what_latex_reads_as_its_own_is_escaped() -> None:
    assert escaped_latex(r"50 %_{a}^~ \x#$ −1 – <&>") == (
        r"50 \%\_\{a\}\textasciicircum{}\textasciitilde{} \textbackslash{}x\#\$ $-$1 -- $<$\&$>$"
    )


def test_the_csv_has_a_line_for_each_agent_with_all_digits() -> None:
    one, other = csv.DictReader(StringIO(as_csv(score_rows(RUNS))))
    assert (one["agent"], one["training_seeds"], other["training_seeds"]) == ("a_1 & b", "5", "2")
    mean = np.mean([run.mean_success_rate for _, run in RUNS[:5]])
    assert float(one["mean"]) == pytest.approx(mean)
    assert float(one["low"]) < mean < float(one["high"])
    assert (other["low"], other["iqm_low"]) == ("", "")  # no interval below five seeds


def test_a_run_without_training_seeds_has_its_own_interval() -> None:
    [row] = score_rows([("alone", make_result(Play(rate=0.8)))])
    assert (row.training_seeds, row.iqm) == (1, None)
    assert row.low is not None


def test_the_curves_have_a_line_for_each_point() -> None:
    rows = curve_rows(RUNS)
    found = {(r.agent, r.curve, r.measure, r.steps): (r.mean, r.training_seeds) for r in rows}
    assert len(found) == len(rows) == 2 * 2 * 2 * 2
    mean, seeds = found["a_1 & b", "checkpoint", "return", 500]
    assert mean == pytest.approx(4.0)
    assert seeds == 5
    assert all(row.low is None for row in rows if row.agent == "other")
