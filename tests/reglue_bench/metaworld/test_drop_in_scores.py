"""Scores of episodes that were written down, as `metaworld.evaluation` 3.1.1 had them.

Computed with its own function on sub-environments that give a reward of 1 a step, end at
the step of success, and else after 5 steps.
"""

from __future__ import annotations

import numpy as np
import pytest

from reglue_bench.metaworld.drop_in_scores import Evaluation, averaged, scored
from reglue_bench.results.upstream import FirstFinished

pytestmark = pytest.mark.slow

HORIZON = 5


def play(names: list[str], successes: list[list[int | None]], quota: int) -> Evaluation:
    """The score; `successes` are the steps at which episodes succeed, by sub-environment."""
    finished = FirstFinished(names, quota)
    flags: list[list[bool]] = [[] for _ in names]
    returns: list[list[float]] = [[] for _ in names]
    for env, steps in enumerate(successes):
        for place in range(20):
            step = steps[min(place, len(steps) - 1)]
            if not finished.may_count(env):
                break
            finished.finish(env, step or HORIZON)
            flags[env].append(step is not None)
            returns[env].append(float(step or HORIZON))
    return scored(names, finished, flags, returns)


def test_one_sub_environment() -> None:
    mean, mean_return, rates, returns = play(["reach-v3"], [[2, None, 5]], 3)
    assert (mean, mean_return) == (2 / 3, 4.0)
    assert (rates, returns) == ({"reach-v3": 2 / 3}, {"reach-v3": [2.0, 5.0, 5.0]})


def test_two_tasks() -> None:
    mean, mean_return, rates, returns = play(["reach-v3", "push-v3"], [[1], [None]], 2)
    assert (mean, mean_return) == (0.5, 3.0)
    assert rates == {"push-v3": 0.0, "reach-v3": 1.0}
    assert returns == {"push-v3": [5.0, 5.0], "reach-v3": [1.0, 1.0]}


def test_success_is_counted_once() -> None:
    assert play(["reach-v3"], [[2]], 1) == (1.0, 2.0, {"reach-v3": 1.0}, {"reach-v3": [2.0]})


def test_three_of_four_that_fail_may_count_as_none() -> None:
    """Upstream's bias: the fast one fills the quota of the name."""
    mean, _, _, _ = play(["reach-v3"] * 4, [[1], [None], [None], [None]], 3)
    assert mean == 1.0


@pytest.mark.parametrize(("first", "wanted"), [(np.float32(1.0), np.float32(0.1)), (1.0, 0.1)])
def test_returns_of_one_step_share_the_type_of_the_first(first: float, wanted: float) -> None:
    """As VectorEnv._add_info makes its array."""
    finished = FirstFinished(["reach-v3", "push-v3"], quota=1)
    finished.finish(0, 3)
    finished.finish(1, 3)
    _, _, _, returns = scored(["reach-v3", "push-v3"], finished, [[True]] * 2, [[first], [0.1]])
    assert returns == {"reach-v3": [1.0], "push-v3": [float(wanted)]}


def test_evaluations_are_averaged_task_by_task() -> None:
    rows: list[Evaluation] = [(1.0, 4.0, {"a": 1.0}, {}), (0.5, 2.0, {"a": 0.5}, {})]
    assert averaged(["a"], rows) == (0.75, 3.0, {"a": 0.75})
