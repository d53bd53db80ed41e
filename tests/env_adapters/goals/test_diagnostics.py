"""Numbers of rollouts, named and computed as multiworld's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env_adapters.goals import (
    GoalEnvironment,
    ImageEnv,
    Point2D,
    get_generic_path_information,
)
from env_adapters.goals.diagnostics import statistics
from reglue.errors import BadArgument
from tests.env_adapters.goals.cases import CASES
from tests.error_facts import raises

STATISTICS: dict[str, tuple[Any, dict[str, bool]]] = {
    "number": (3.0, {}),
    "empty": ([], {}),
    "array": (np.array([[1, 2], [3, 4]]), {}),
    "list_of_lists": ([[1, 2], [3]], {}),
    "list_numbers": ([1, 2, 3], {}),
    "size1_hide": (np.array([5.0]), {}),
    "size1_show": (np.array([5.0]), {"of_one": True}),
    "list1_hide": ([5.0], {}),
    "tuple": ((np.array([1.0, 2]), np.array([3.0, 3])), {}),
    "nomaxmin": ([1, 3], {"min_max": False}),
    "bool": ([True, True, False], {}),
    "np_scalar": (np.float64(2), {}),
    "list_of_vectors": ([np.array([1.0, 2]), np.array([3.0, 4])], {}),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_multiworlds(name: str) -> None:
    data, options = STATISTICS[name]
    wanted = CASES["statistics"][name]
    assert list(statistics("a", data, **options).items()) == list(wanted.items())


def rollout(**infos: list[Any]) -> dict[str, Any]:
    steps = zip(*infos.values(), strict=True)
    return {"env_infos": [dict(zip(infos, step, strict=True)) for step in steps]}


def test_all_steps_come_first_and_then_the_last_ones() -> None:
    rollouts = [
        rollout(distance_to_target=[1.0, 0.5], image_dist=[5.0, 3.0], image_success=[-1.0, 0.0]),
        rollout(distance_to_target=[2.0], image_dist=[4.0], image_success=[0.0]),
    ]
    found = ImageEnv(Point2D(), 8).get_diagnostics(rollouts)
    assert [list(item) for item in found.items()] == CASES["diagnostics of images"]
    only = [item for item in found.items() if "distance" in item[0]]
    assert list(Point2D().get_diagnostics(rollouts).items()) == only


def test_an_environment_diagnoses_nothing_by_default() -> None:
    assert not GoalEnvironment().get_diagnostics([rollout(a=[1.0])])


def test_goals_of_contexts_are_diagnosed() -> None:
    wanted = CASES["contextual and goal conditioned diagnostics"]
    seen = [{"state_observation": np.array([x, 0.0])} for x in (0, 1)]
    found = Point2D().get_contextual_diagnostics(
        [{"observations": seen}], [{"state_desired_goal": np.array([3.0, 0])}]
    )
    assert [list(item) for item in found.items()] == wanted["ctx"]
    infos = rollout(distance_to_target=[1.5, 0.5], is_success=[False, True])
    conditioned = Point2D().goal_conditioned_diagnostics([infos])
    assert [list(item) for item in conditioned.items()] == wanted["gc"]
    assert Point2D().goal_conditioned_diagnostics([infos], [np.zeros(2)]) == conditioned
    with raises(BadArgument, 1, got="2 goals"):
        Point2D().goal_conditioned_diagnostics([infos], np.zeros((2, 2)))


def test_a_rollout_without_steps_says_nothing() -> None:
    full, empty = rollout(distance_to_target=[1.0, 3.0]), rollout(distance_to_target=[])
    assert not Point2D().get_diagnostics([empty])
    assert Point2D().get_diagnostics([full, empty]) == Point2D().get_diagnostics([full])


@pytest.mark.parametrize(("contexts", "named"), [([], ["0 contexts", 1]), ([{}], ["context"])])
def test_a_rollout_without_its_context_is_refused(contexts: Any, named: list[object]) -> None:
    seen = [{"state_observation": np.zeros(2)}]
    with raises(BadArgument, *named):
        Point2D().get_contextual_diagnostics([{"observations": seen}], contexts)


def test_infos_without_what_is_diagnosed_are_refused() -> None:
    with raises(BadArgument, "env_infos", "distance_to_target"):
        Point2D().get_diagnostics([rollout(a=[1.0])])


@pytest.mark.parametrize("kind", [list, np.array])
def test_infos_may_be_a_dict_of_arrays(kind: Any) -> None:
    """Of each name's values, one a step."""
    distances = ([1.0, 0.5], [2.0])
    arrays = [{"env_infos": {"distance_to_target": kind(each)}} for each in distances]
    dicts = [rollout(distance_to_target=each) for each in distances]
    assert Point2D().get_diagnostics(arrays) == Point2D().get_diagnostics(dicts)


@pytest.mark.parametrize("infos", [None, 3, [1.0], {"distance_to_target": {}}])
def test_infos_of_another_kind_are_refused(infos: Any) -> None:
    with raises(BadArgument, "env_infos", "distance_to_target"):
        Point2D().get_diagnostics([{"env_infos": infos}])


def test_a_prefix_comes_before_each_name() -> None:
    found = Point2D().get_diagnostics([rollout(distance_to_target=[1.0])], prefix="train/")
    assert next(iter(found)) == "train/distance_to_target Mean"
    assert [*found][-1] == "Final train/distance_to_target Min"
    assert len(found) == 8


def test_generic_path_information_is_multiworlds() -> None:
    paths = [
        {"rewards": np.array([[1.0], [2.0]]), "actions": np.array([[0.0, 1], [2, 3]])},
        {"rewards": np.array([[4.0]]), "actions": np.array([[5.0, 5]])},
    ]
    wanted = CASES["generic path information of two rollouts, prefix P and none"]
    for options, numbers in zip(({"stat_prefix": "P"}, {}), wanted, strict=True):
        found = get_generic_path_information(paths, **options)
        assert [list(item) for item in found.items()] == numbers
    flat = [{**each, "rewards": each["rewards"].ravel()} for each in paths]
    assert get_generic_path_information(flat) == get_generic_path_information(paths)
    assert get_generic_path_information([]) == {"Num Paths": 0}
    with raises(BadArgument, "'actions'"):
        get_generic_path_information([{"rewards": [1.0]}])
