"""`--estimator metaworld` against `metaworld.evaluation`: the same episodes, the same rates."""

from __future__ import annotations

from typing import Any

import metaworld.evaluation
import numpy as np
import pytest

from reglue.errors import UsageError
from reglue.examples.expert import ExpertAgent
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results.scores import SuccessScore
from reglue_bench.settings import Settings
from reglue_bench.terminal.summary import notes
from tests.error_facts import raises
from tests.reglue_bench.metaworld.metaworld_vector_envs import (
    HIDDEN,
    TASKS,
    Experts,
    meta_learning,
    multi_task,
)

pytestmark = pytest.mark.slow

GOALS = 50


def test_multi_task_draws_goals_as_upstream_does() -> None:
    """With replacement, each task by its own seed; success rates are equal."""
    envs = multi_task(goals=GOALS)
    _, _, rates, wanted = metaworld.evaluation.evaluation(Experts(envs), envs, 4)
    envs.close()
    result = evaluate(
        f"MT:{','.join(TASKS)}",
        agent=ExpertAgent(),
        estimator="metaworld",
        seed=5,
        num_episodes=4,
        episode_horizon=60,
        reveal_tasks=True,
        workers=0,
    )
    upstream = result.score_as(SuccessScore).upstream
    assert upstream is not None
    assert upstream.success_rate_per_task == rates
    for task in TASKS:
        each = [row.return_ for row in result.episodes if row.task == task]
        assert sorted(each) == pytest.approx(sorted(wanted[task]), rel=1e-6)  # theirs: float32
    assert any(note.startswith("metaworld.evaluation counts") for note in notes(result))


def test_meta_learning_counts_the_first_to_finish() -> None:
    """Both numbers come from one run: fast successes crowd out slow failures in upstream's."""
    options: dict[str, Any] = {"train_envs": ["window-open-v3"], "test_envs": HIDDEN}
    options |= {"split": "test", "meta_batch_size": 8, "total_tasks_per_cls": 40}
    strengths = [1.0, 0.3, 0.0, 0.0] * 2
    counts: dict[str, Any] = {"num_evals": 2, "adaptation_steps": 1, "adaptation_episodes": 1}
    envs = meta_learning(goals=GOALS, **options)
    mean, _, rates = metaworld.evaluation.metalearning_evaluation(
        Experts(envs, np.float32, strengths), envs, **counts, evaluation_episodes=3
    )
    result = evaluate(
        f"ML:train=window-open-v3+test={','.join(HIDDEN)}",
        agent=Experts(envs, np.float32, strengths),
        estimator="metaworld",
        seed=5,
        meta_batch_size=8,
        episode_horizon=60,
        workers=0,
        **counts,
    )
    envs.close()
    upstream = result.score_as(SuccessScore).upstream
    assert upstream is not None
    assert upstream.success_rate_per_task == pytest.approx(rates)
    assert upstream.mean_success_rate == pytest.approx(mean)
    assert result.mean_success_rate < mean


def plan(benchmark: str, **options: Any) -> Any:
    return make_plan(Settings(benchmark=benchmark, estimator="metaworld", **options))


def test_the_estimator_is_part_of_the_plan() -> None:
    ours = make_plan(Settings(benchmark="MT1:reach-v3"))
    assert ours.sha256 != plan("MT1:reach-v3").sha256
    assert ours.goals_sha256 == plan("MT1:reach-v3").goals_sha256


def test_meta_learning_shares_goals_between_sub_environments() -> None:
    """Each of 4 has every fourth goal of the first 40; ten evaluations play all."""
    procedure: Any = procedure_of(plan("ML1:reach-v3", meta_batch_size=4))
    assert procedure.units == 10
    waves = [[trial.variant for trial in procedure.trials(unit)] for unit in range(10)]
    assert sorted(each for wave in waves for each in wave) == list(range(40))
    assert all(variant % 4 == slot for wave in waves for slot, variant in enumerate(wave))


def test_a_meta_batch_that_does_not_divide_is_refused() -> None:
    with raises(UsageError, "meta_batch_size=3", 1, 40, settings={"estimator", "meta_batch_size"}):
        plan("ML1:reach-v3", meta_batch_size=3)


def test_other_environments_have_no_such_estimator() -> None:
    with raises(UsageError, "multi-task:mountain-car", settings={"environment_args", "estimator"}):
        plan("multi-task:mountain-car")
