"""Meta-World's evaluations as loops of a benchmark program: the scores of `reglue bench`."""

from __future__ import annotations

from typing import Any

import pytest

import reglue
from glue_server import Glue
from reglue.examples.expert import ExpertAgent
from reglue.examples.metaworld_evaluation import main, metalearning_eval, multi_task_eval
from reglue.examples.reach_adapt import ReachAdapt


@pytest.mark.parametrize("task", ["reach-v3", "reach-wall-v3"])
def test_the_meta_learning_loop_succeeds_where_the_driver_does(task: str) -> None:
    driven = reglue.evaluate(
        f"ML1:{task}",
        agent=ReachAdapt(),
        seed=3,
        num_evals=3,
        meta_batch_size=1,
        adaptation_episodes=1,
    )
    split: dict[str, Any] = {"split": "test", "seed": 3}
    with Glue(environment=f"ML1:{task}", environment_args=split, agent=ReachAdapt()) as rl:
        rl.init()
        rate = metalearning_eval(rl, num_evals=3, adaptation_episodes=1)
    assert rate == pytest.approx(driven.mean_success_rate, abs=1e-12)


def test_the_multi_task_loop_succeeds_where_the_driver_does() -> None:
    driven = reglue.evaluate("MT10", agent=ExpertAgent(), seed=3, num_episodes=1, slots=1)
    shown: dict[str, Any] = {"one_hot": True, "seed": 3}
    with Glue(environment="MT10", environment_args=shown, agent=ExpertAgent()) as rl:
        rl.init()
        rate = multi_task_eval(rl, num_evaluation_episodes=1)
    assert rate == pytest.approx(driven.mean_success_rate, abs=1e-12)


@pytest.mark.parametrize("arguments", [[], ["single"], ["multi-task", "0"], ["multi-task", "x"]])
def test_the_program_says_how_it_is_called(arguments: list[str]) -> None:
    assert main(arguments) == 2
