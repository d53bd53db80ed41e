"""Goals are the ones that Meta-World's own classes draw."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from env_adapters.metaworld import ALL_TASKS, draw_goals, task_set, task_sets
from env_adapters.metaworld.library import metaworld
from reglue.errors import BadArgument
from tests.error_facts import raises


def goals_of(tasks: Iterable[Any]) -> dict[str, list[bytes]]:
    """Upstream's list of Tasks as the bits of each task's goals."""
    found: dict[str, list[bytes]] = {}
    for task in tasks:
        found.setdefault(task.env_name, []).append(
            pickle.loads(task.data)["rand_vec"].tobytes()  # noqa: S301 - made in this process
        )
    return found


def bits(drawn: Mapping[str, Iterable[Any]]) -> dict[str, list[bytes]]:
    return {task: [np.array(goal).tobytes() for goal in each] for task, each in drawn.items()}


@pytest.mark.parametrize("task", ALL_TASKS)
def test_goals_drawn_without_physics_are_those_of_resets(
    task: str, five_goals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_goals(task_set(f"MT1:{task}"), 11)
    monkeypatch.setattr(task_sets, "is_verified", lambda: False)
    assert bits(drawn) == bits(draw_goals(task_set(f"MT1:{task}"), 11))


def test_mt1_has_the_goals_of_mt1() -> None:
    drawn = draw_goals(task_set("MT1:peg-insert-side-v3"), 3)
    assert bits(drawn) == goals_of(metaworld().MT1("peg-insert-side-v3", seed=3).train_tasks)


@pytest.fixture
def five_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five goals a task, on both sides, where fifty would only take time."""
    monkeypatch.setattr(metaworld(), "_N_GOALS", 5)
    monkeypatch.setattr(task_sets, "VARIANTS", 5)


def test_mt10_has_the_goals_of_mt10(five_goals: None) -> None:
    drawn = bits(draw_goals(task_set("MT10"), 42))
    reference = goals_of(metaworld().MT10(seed=42).train_tasks)
    assert list(drawn.items()) == list(reference.items())


@pytest.mark.slow
def test_both_splits_of_ml1_have_its_goals() -> None:
    reference = metaworld().ML1("push-v3", seed=4)
    for split in ("train", "test"):
        drawn = draw_goals(task_set("ML1:push-v3", split), 4)
        assert bits(drawn) == goals_of(getattr(reference, f"{split}_tasks"))


def test_ml10_test_has_the_test_goals_of_ml10(five_goals: None) -> None:
    reference = goals_of(metaworld().ML10(seed=5).test_tasks)
    assert bits(draw_goals(task_set("ML10"), 5)) == reference


@pytest.mark.slow
def test_own_meta_learning_lists_have_the_goals_of_custom_ml() -> None:
    reference = metaworld().CustomML(["reach-v3", "drawer-open-v3"], ["coffee-button-v3"], seed=6)
    name = "ML:train=reach-v3,drawer-open-v3+test=coffee-button-v3"
    assert bits(draw_goals(task_set(name, "train"), 6)) == goals_of(reference.train_tasks)
    assert bits(draw_goals(task_set(name, "test"), 6)) == goals_of(reference.test_tasks)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 8])
def test_an_own_multi_task_list_has_each_tasks_goals_from_the_seed_plus_its_place(
    seed: int,
) -> None:
    drawn = bits(draw_goals(task_set("MT:reach-v3,drawer-open-v3"), seed))
    first = metaworld().MT1("reach-v3", seed=seed)
    second = metaworld().MT1("drawer-open-v3", seed=seed + 1)
    assert drawn == goals_of([*first.train_tasks, *second.train_tasks])


def test_the_global_generator_is_left_as_it_was() -> None:
    before = np.random.get_state(legacy=False)["state"]["key"].tolist()  # noqa: NPY002
    draw_goals(task_set("MT1:reach-v3"), 1)
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == before  # noqa: NPY002


def test_every_task_has_fifty_goals() -> None:
    assert len(draw_goals(task_set("MT1:drawer-open-v3"), 1)["drawer-open-v3"]) == 50


def test_progress_counts_tasks(five_goals: None) -> None:
    seen: list[tuple[int, int]] = []
    draw_goals(task_set("MT:reach-v3,push-v3"), 1, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(("name", "seed"), [("MT1:reach-v3", -1), ("ML1:reach-v3", 2**32 - 1)])
def test_a_seed_out_of_range_is_refused(name: str, seed: int) -> None:
    with raises(BadArgument, name, "0 to", got=f"seed {seed}"):
        draw_goals(task_set(name), seed)
