"""Curves over training steps: on the page, over training seeds, and in the terminal."""

from __future__ import annotations

from pathlib import Path

from reglue_bench import evaluate
from reglue_bench.plots.curves import step_lines
from reglue_bench.plots.learning_plots import training_plots
from reglue_bench.renderers.kinds import PERFORMANCE
from reglue_bench.report.page import draw_report
from reglue_bench.results.result import Result
from reglue_bench.terminal.summary import training_lines
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import online_plan, play


def trained(seed: int = 0, label: str = "seeded") -> Result:
    return evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Seeded(),
        environment_args={"solved": {"a": [1, 3, 0], "b": [5, 0, 2]}},
        train_steps=60,
        eval_every=30,
        eval_episodes=4,
        slots=2,
        workers=0,
        training_seed=seed,
        label=label,
    )


def test_the_page_shows_checkpoints_and_training_over_steps() -> None:
    result = trained()
    ids = [plot.id for plot in training_plots([("", result)], prefix="run-0")]
    curves = [f"run-0-{w}-{m}" for w in ("checkpoint", "training") for m in ("success", "return")]
    assert ids == curves
    page = draw_report([("", result)]).html
    assert "60 of 60 steps" in page
    assert all(each in page for each in curves)


def test_runs_of_one_label_are_training_seeds_of_one_line() -> None:
    runs = [("one", trained(1)), ("two", trained(2)), ("other", trained(1, "other"))]
    checkpoint, *_ = training_plots(runs, prefix="compare")
    assert [name for _, name in checkpoint.legend] == ["seeded", "other"]
    assert "2 training seeds" in checkpoint.summary
    comparison = draw_report(runs).comparison
    assert comparison is not None
    assert "compare-checkpoint-success" in [plot.id for plot in comparison.plots]


def test_training_seeds_of_one_label_share_the_colour_of_their_learning_curves(
    tmp_path: Path,
) -> None:
    runs: list[Result] = []
    for label, seed in (("a", 1), ("a", 2), ("b", 1)):
        result = play(tmp_path / f"{label}{seed}", online_plan(runs=2), Seeded())
        agent = result.agent.model_copy(update={"label": label, "training_seed": seed})
        runs.append(result.model_copy(update={"agent": agent}))
    named = [(f"{each.agent.label}{each.agent.training_seed}", each) for each in runs]
    [curve, *_] = PERFORMANCE.plots(named, [0, 1, 2], "x")
    first, second, other = (shade for shade, _ in curve.legend)
    assert first == second != other


def test_a_line_has_the_steps_at_which_every_run_has_episodes() -> None:
    lines = step_lines([{10: 1.0, 30: 3.0}, {10: 2.0, 20: 5.0, 30: 7.0}], "return")
    assert lines is not None
    assert lines.ends == [10, 30]
    assert lines.whole.tolist() == [[1.0, 3.0], [2.0, 7.0]]
    assert step_lines([{20: 1.0}, {10: 1.0}], "return") is None
    assert step_lines([{}], "success") is None


def test_the_terminal_says_how_long_it_trained_and_draws_what_came_of_it() -> None:
    lines = training_lines(trained())
    assert lines[0] == "trained for 60 of 60 steps, 12 episodes"
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "training return",
        "training success",
        "checkpoint return",
        "checkpoint success",
    ]


def test_a_run_without_training_has_none_of_it() -> None:
    assert not training_plots([("", evaluate_only())], prefix="run-0")
    assert not training_lines(evaluate_only())


def evaluate_only() -> Result:
    return evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Seeded(),
        environment_args={"solved": {"a": [1]}},
        workers=0,
    )
