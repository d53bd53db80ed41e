"""The task sets that names of benchmarks stand for."""

from __future__ import annotations

import pytest
from metaworld import env_dict

from env_adapters.metaworld import ALL_TASKS, catalogue, task_set
from reglue.errors import BadArgument, UnknownName, UsageError
from tests.error_facts import raises


def test_all_tasks_are_metaworlds_sorted() -> None:
    assert tuple(sorted(env_dict.ALL_V3_ENVIRONMENTS)) == ALL_TASKS


@pytest.mark.parametrize("name", ["MT10", "MT25", "MT50"])
def test_a_multi_task_set_has_metaworlds_tasks_in_its_order(name: str) -> None:
    assert task_set(name).tasks == tuple(getattr(env_dict, f"{name}_V3"))


@pytest.mark.parametrize("name", ["ML10", "ML25", "ML45"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_meta_learning_split_has_metaworlds_tasks_in_its_order(name: str, split: str) -> None:
    assert task_set(name, split).tasks == tuple(getattr(env_dict, f"{name}_V3")[split])


@pytest.mark.parametrize(
    ("name", "split"), [("MT10", "train"), ("MT1:reach-v3", "train"), ("ML1:reach-v3", "test")]
)
def test_mt_plays_train_and_ml_plays_test_unless_told_otherwise(name: str, split: str) -> None:
    assert task_set(name).split == split


@pytest.mark.parametrize(
    ("name", "visible"), [("MT10", True), ("MT:push-v3", True), ("ML10", False)]
)
def test_the_goal_is_visible_in_mt_and_hidden_in_ml(name: str, visible: bool) -> None:
    assert task_set(name).goal_visible is visible


def test_one_task_is_a_set() -> None:
    assert task_set("MT1:push-v3").tasks == ("push-v3",)


def test_an_own_list_keeps_its_order() -> None:
    assert task_set("MT:push-v3,reach-v3").tasks == ("push-v3", "reach-v3")


@pytest.mark.parametrize(
    ("split", "tasks"), [("train", ("push-v3", "reach-v3")), ("test", ("sweep-v3",))]
)
def test_own_lists_name_their_splits(split: str, tasks: tuple[str, ...]) -> None:
    assert task_set("ML:train=push-v3,reach-v3+test=sweep-v3", split).tasks == tasks


def test_the_split_that_is_not_played_may_be_left_out() -> None:
    assert task_set("ML:test=sweep-v3").tasks == ("sweep-v3",)


@pytest.mark.parametrize(
    ("name", "split", "named"),
    [
        ("ML:train=sweep-v3", None, ["test=<task>,…"]),
        ("ML:train=push-v3+test=push-v3,reach-v3", None, ["push-v3", "in train", "in test"]),
        ("MT10", "test", ["split 'test'", "train"]),
        ("MT1:reach-v3", "test", ["split 'test'", "train"]),
        ("MT:reach-v3", "test", ["split 'test'", "train"]),
        ("ML10", "tset", ["split 'tset'", "train or test"]),
        ("MT1:", None, ["0 tasks", 1]),
        ("MT1:push-v3,reach-v3", None, ["2 tasks", 1]),
        ("MT:push-v3,push-v3", None, ["twice"]),
        ("ML:push-v3", None, ["ML:train=<task>,…+test=<task>,…"]),
        ("ML:test=,", None, ["0 tasks"]),
    ],
)
def test_splits_and_lists_that_cannot_be_played_are_refused(
    name: str, split: str | None, named: list[object]
) -> None:
    with raises(BadArgument, name, *named):
        task_set(name, split)


def test_one_task_is_named_after_the_colon() -> None:
    with raises(UsageError, got="'MT1'", wanted="MT1:<task>"):
        task_set("MT1")


def test_an_unknown_benchmark_lists_the_near_ones() -> None:
    with raises(UnknownName, "MT10", got="MT11"):
        task_set("MT11")


@pytest.mark.parametrize("name", ["MT1:reech-v3", "MT:push-v3,reech-v3", "ML:test=reech-v3"])
def test_an_unknown_task_lists_the_near_ones(name: str) -> None:
    with raises(UnknownName, "did you mean reach-v3", got="reech-v3"):
        task_set(name)


@pytest.mark.parametrize("name", ["MT10:reach-v3", "ML10:test", "reach-v3", "", ":"])
def test_a_name_of_another_form_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName):
        task_set(name)


def test_every_whole_name_in_the_catalogue_is_a_set() -> None:
    names = [name for name in catalogue() if ":" not in name]
    assert [task_set(name).label for name in names] == names
