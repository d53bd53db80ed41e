"""Which observations are masks, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reglue.action_masks import ActionMask, action_mask
from reglue.spec import Box, Discrete, Domain, MultiBinary, MultiDiscrete, TaskSpec, TensorSpec

THREE = TensorSpec("action", "int64", (), Discrete(3, start=-1))
BITS = MultiBinary()
PAIR = TensorSpec("pair", "uint64", (2,), MultiDiscrete((2, 3)))


def spec(
    *actions: TensorSpec,
    dtype: str = "int8",
    shape: tuple[int, ...] = (3,),
    domain: Domain = BITS,
    name: str = "action_mask",
) -> TaskSpec:
    return TaskSpec((TensorSpec(name, dtype, shape, domain),), actions or (THREE,))


def mask_of(task: TaskSpec) -> ActionMask:
    mask = action_mask(task)
    assert mask is not None
    return mask


@pytest.mark.parametrize(
    ("task", "choices"),
    [
        (spec(), (3,)),
        (spec(dtype="uint8", domain=Box((0,), (1,))), (3,)),
        (spec(dtype="bool", domain=Box()), (3,)),
        (spec(TensorSpec("action", "int64", (1,), Discrete(3))), (3,)),
        (spec(PAIR, shape=(5,)), (2, 3)),
        (spec(TensorSpec("pair", "int8", (2, 1), MultiDiscrete((1, 2)))), (1, 2)),
    ],
)
def test_a_mask_has_a_number_for_each_choice(task: TaskSpec, choices: tuple[int, ...]) -> None:
    assert mask_of(task).choices == choices


@pytest.mark.parametrize(
    "task",
    [
        spec(name="mask"),
        spec(shape=(4,)),
        spec(shape=(3, 1)),
        spec(dtype="int64"),
        spec(dtype="float32", domain=Box((0,), (1,))),
        spec(dtype="int8", domain=Box((0,), (2,))),
        spec(dtype="uint8", domain=Box()),
        spec(TensorSpec("action", "float32", (3,), Box())),
        spec(TensorSpec("action", "int8", (3,), MultiBinary())),
        spec(TensorSpec("action", "int64", (3,), Discrete(1))),
        spec(TensorSpec("action", "int64", (0,), MultiDiscrete(())), shape=(0,)),
        spec(THREE, PAIR),
    ],
)
def test_what_does_not_fit_is_an_ordinary_observation(task: TaskSpec) -> None:
    assert action_mask(task) is None


def mistakes(task: TaskSpec, shown: Any, actions: Any) -> dict[int, tuple[str, str]]:
    mask, [tensor] = mask_of(task), task.actions
    allowed = mask.allowed({"action_mask": np.array(shown, np.int8).reshape(len(actions), -1)})
    return mask.mistakes(allowed, {tensor.name: np.array(actions, tensor.dtype)})


def test_a_mistake_says_what_is_legal() -> None:
    wanted = "one of [-1, 1], which 'action_mask' allows"
    assert mistakes(spec(), [[1, 0, 1], [1, 1, 1]], [0, 0]) == {0: ("'action' = [0]", wanted)}
    both = "one of [1] and [0, 2], which 'action_mask' allows"
    shown = [[0, 1, 1, 0, 1], [0, 1, 1, 0, 1], [0, 1, 1, 0, 1]]
    assert mistakes(spec(PAIR, shape=(5,)), shown, [[1, 2], [1, 1], [0, 0]]) == {
        1: ("'pair' = [1, 1]", both),
        2: ("'pair' = [0, 0]", both),
    }


def test_no_rows_have_no_mistakes() -> None:
    mask = mask_of(spec())
    none = mask.allowed({"action_mask": np.zeros((0, 3), np.int8)})
    assert mask.mistakes(none, {"action": np.zeros(0, np.int64)}) == {}
    assert mask.blocks(none).tolist() == []


def test_what_is_out_of_the_domain_is_another_mistake() -> None:
    assert mistakes(spec(), [[0, 0, 1]] * 4, [2, -2, 2**62, -(2**62)]) == {}
    numbers = [[2, 0], [0, 3], [2**64 - 1, 0]]
    assert mistakes(spec(PAIR, shape=(5,)), [[0, 1, 0, 1, 1]] * 3, numbers) == {
        row: (f"'pair' = {numbers[row]}", "one of [1] and [1, 2], which 'action_mask' allows")
        for row in range(3)
    }


def test_a_row_is_blocked_if_an_element_has_no_choice() -> None:
    one, two = mask_of(spec()), mask_of(spec(PAIR, shape=(5,)))
    assert one.blocks(np.array([[False] * 3, [False, True, False]])).tolist() == [True, False]
    rows = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 0, 1]]) != 0
    assert two.blocks(rows).tolist() == [True, True, False]


def test_the_first_action_is_the_least_legal_one() -> None:
    one, two = mask_of(spec()), mask_of(spec(PAIR, shape=(5,)))
    assert one.first(np.array([[0, 1, 1], [1, 0, 0]]) != 0).tolist() == [0, -1]
    first = two.first(np.array([[0, 1, 0, 1, 1]]) != 0)
    assert first.tolist() == [[1, 1]]
    assert first.dtype == PAIR.numpy_dtype


def test_all_legal_actions_are_drawn_equally_often() -> None:
    mask, rng = mask_of(spec(PAIR, shape=(5,))), np.random.default_rng(0)
    shown = np.array([1, 1, 1, 0, 1], np.int8)
    drawn = [tuple(mask.sample(shown, rng).tolist()) for _ in range(4000)]
    counts = {each: drawn.count(each) for each in drawn}
    assert sorted(counts) == [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert max(counts.values()) - min(counts.values()) < 200  # a deviation of 27 each
