"""A report of several training seeds is about agents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reglue_bench.plots.compared import colours, plotted_agents
from reglue_bench.plots.figures import NamedRun
from reglue_bench.plots.task_plots import per_task
from reglue_bench.report.page import Page, draw_report, names
from reglue_bench.results.result import Result
from tests.reglue_bench.made_results import Play, make_result

LABELS = ("fast", "slow")
BASELINE = make_result(Play(label="random", tasks=["a", "b"]))


def seeds(*labels: str, count: int = 5) -> list[Result]:
    return [
        make_result(Play(label=label, training_seed=seed, tasks=["a", "b"], seed=seed, rate=0.6))
        for label in labels
        for seed in range(count)
    ]


def named(runs: list[Result]) -> list[NamedRun]:
    folders = [Path(f"{run.agent.label}/seed-{run.agent.training_seed}") for run in runs]
    return list(zip(names(runs, folders), runs, strict=True))


@pytest.fixture(scope="module")
def report() -> Page:
    """The report of both agents and of a baseline."""
    return draw_report(named([*seeds(*LABELS), BASELINE]))


def test_runs_are_named_by_label_and_training_seed() -> None:
    told = [name for name, _ in named([*seeds(*LABELS, count=2), BASELINE])]
    assert told == ["fast · seed 0", "fast · seed 1", "slow · seed 0", "slow · seed 1", "random"]


def test_labels_that_tell_runs_apart_are_their_names() -> None:
    assert [name for name, _ in named(seeds(*LABELS, count=1))] == list(LABELS)
    alike = [make_result(Play(label="sac"))] * 2
    assert names(alike, [Path("runs/x"), Path("runs/y")]) == ["x", "y"]


def test_training_seeds_of_an_agent_share_its_colour(report: Page) -> None:
    found = colours(named([*seeds(*LABELS), BASELINE]))
    assert [len(set(found[:5])), len(set(found[5:10])), len(set(found))] == [1, 1, 3]
    assert report.comparison is not None
    assert report.comparison.runs.colours == found
    assert report.comparison.seeds is not None
    assert report.comparison.seeds.table.colours == [found[0], found[5]]
    assert not report.comparison.seeds.are_all


def test_a_task_has_a_score_for_each_agent_over_its_training_seeds() -> None:
    runs = named(seeds(*LABELS))
    fast, slow = plotted_agents(runs)
    assert (fast.name, slow.name) == LABELS
    of_task = [run.success_rate_per_task["a"] for _, run in runs[:5]]
    assert fast.scores["a"].score == pytest.approx(np.mean(of_task))
    low, high = fast.scores["a"].interval95 or (0, 0)
    assert low < fast.scores["a"].score < high
    assert [name for _, name in per_task(runs, plot_id="p", caption="").legend] == list(LABELS)


def test_runs_of_training_seeds_alone_are_compared_in_a_part_that_is_folded(
    report: Page,
) -> None:
    folded = draw_report(named(seeds(*LABELS))).html
    assert folded.index("Each training seed compared with fast · seed 0") < folded.index(
        'aria-labelledby="compared"'
    )
    assert "Each training seed compared with" not in report.html
