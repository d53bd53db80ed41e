"""Checks of an environment's answers: numbers, flags, and the domains of its tensors."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from reglue import TaskSpec, TensorSpec
from reglue.environments.validation import (
    DomainCheck,
    conforming_array,
    conforming_flag,
    conforming_reward,
    conforming_step,
    say_unknown_names,
)
from reglue.environments.world import Step
from reglue.error_message import brief
from reglue.errors import NotAnEnvironment
from reglue.spec import Box, Discrete, Domain, MultiBinary, MultiDiscrete
from tests.error_facts import raises

TRUE = [True, 1, 1.0, np.True_, np.float32(1), np.array(1.0), np.array([True]), np.uint8(1)]
FALSE = [False, 0, -0.0, np.False_, np.array(0), np.array([[0]])]
NO_FLAGS = [np.nan, "False", "1", -1, 0.2, 2, [], np.array([]), np.ones(2), None, {}, 1j, np.inf]


@pytest.mark.parametrize("flag", [*TRUE, *FALSE], ids=repr)
def test_a_flag_is_a_boolean_or_its_number(flag: Any) -> None:
    assert conforming_flag("done", flag) is any(flag is each for each in TRUE)


@pytest.mark.parametrize("flag", NO_FLAGS, ids=repr)
def test_anything_else_is_no_flag(flag: Any) -> None:
    with raises(NotAnEnvironment, "done", "True or False"):
        conforming_flag("done", flag)


@pytest.mark.parametrize(
    "reward", [2.5, np.float32(2.5), np.array(2.5), np.array([2.5]), np.array([[2.5]])], ids=repr
)
def test_one_number_is_a_reward(reward: Any) -> None:
    assert (type(got := conforming_reward(reward)), got) == (float, 2.5)


@pytest.mark.parametrize("reward", [3, np.int64(3), np.uint64(3), 3.0])
def test_an_integer_is_a_reward(reward: Any) -> None:
    assert conforming_reward(reward) == 3.0


@pytest.mark.parametrize(
    ("reward", "got", "wanted"),
    [
        (np.array([1.0, 2.0]), "shape (2,)", "number"),
        (np.array([]), "shape (0,)", "number"),
        ("1.5", "'1.5'", "number"),
        (None, "None", "number"),
        (1 + 2j, "(1+2j)", "number"),
        ([1, [2, 3]], "[1, [2, 3]]", "number"),
        (10**400, brief(10**400), "number"),
        (np.nan, "nan", "finite number"),
        (np.float32(-np.inf), "np.float32(-inf)", "finite number"),
        (np.array([np.nan]), "array([nan])", "finite number"),
    ],
)
def test_anything_else_is_no_reward(reward: Any, got: str, wanted: str) -> None:
    with raises(NotAnEnvironment, "reward", got, wanted):
        conforming_reward(reward)


@pytest.mark.parametrize("field", ["terminated", "truncated", "success"])
def test_each_flag_of_a_step_is_checked(field: str) -> None:
    flags: dict[str, Any] = dict.fromkeys(("terminated", "truncated", "success"), np.False_)
    with raises(NotAnEnvironment, field, "True or False", got="nan"):
        conforming_step(Step(reward=1.0, observation={}, **{**flags, field: np.nan}))
    good = conforming_step(Step(reward=1, observation={}, **{**flags, field: np.array([1.0])}))
    assert (good.terminated, good.truncated, good.success).count(True) == 1
    assert getattr(good, field) is True


def spec_of(*tensors: TensorSpec, slots: int = 3) -> TaskSpec:
    return TaskSpec(tensors, (TensorSpec("action", "int64", (), Discrete(2)),), slots=slots)


@pytest.mark.parametrize(
    ("domain", "dtype", "good", "bad", "what"),
    [
        (Discrete(5), "int64", 4, 5, "'o': got 5, wanted 0 to 4"),
        (Discrete(5), "uint8", 0, 255, "'o': got 255, wanted 0 to 4"),
        (Discrete(3, -1), "int32", -1, -2, "'o': got -2, wanted -1 to 1"),
        (MultiDiscrete((2, 3)), "int64", [1, 2], [1, 3], "'o'[1]: got 3, wanted 0 to 2"),
        (MultiBinary(), "int8", [[1, 0]], [[1, -1]], "'o'[0, 1]: got -1, wanted 0 to 1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("slots", [3, 2**17])  # few rows, and more than are worth a copy
def test_a_number_that_a_domain_lacks_is_a_mistake(
    domain: Domain, dtype: str, good: Any, bad: Any, what: str, slots: int
) -> None:
    shape = np.shape(good)
    check = DomainCheck(spec_of(TensorSpec("o", dtype, shape, domain), slots=slots))
    rows = np.array([good, bad, good], dtype)
    assert check.mistakes({"o": rows}, [7, 5, 6]) == {5: f"observation {what}"}
    assert check.mistakes({"o": rows}, [7, 5, 6], failed={5}) == {}
    assert check.mistakes({"o": rows[:1]}, [5]) == {}
    assert not check.outside


BOX = Box((0.0,), (10.0,))


@pytest.mark.parametrize("value", [-0.5, 10.5, np.nan, np.inf])
def test_what_is_outside_a_box_is_passed_on_said_and_counted(
    caplog: pytest.LogCaptureFixture, value: float
) -> None:
    check = DomainCheck(spec_of(TensorSpec("o", "float32", (2,), BOX)))
    rows = np.array([[0, 10], [5, value], [-0.0, 1]], np.float32)
    with caplog.at_level(logging.WARNING, "reglue"):
        for _ in range(120):
            assert check.mistakes({"o": rows}, [0, 1, 2]) == {}
    assert (check.outside, check.outside_last) == ({"o": 120}, 1)
    assert [record.args[1] for record in caplog.records if record.args] == [1, 10, 100]  # type: ignore[index]
    assert f"observation 'o'[1]: got {value}, wanted 0.0 to 10.0" in caplog.messages[0]


def test_nan_where_it_stands_for_nothing_is_not_counted_and_numbers_outside_are() -> None:
    spec = spec_of(TensorSpec("o", "float64", (2,), Box((1.0,), ())))
    rows = np.array([[np.nan, 2.0], [np.nan, 0.0], [np.nan, np.nan]])
    for nullable, outside in (({"o"}, 1), (set[str](), 3)):
        check = DomainCheck(spec, nullable)
        assert check.mistakes({"o": rows}, [0, 1, 2]) == {}
        assert check.outside_last == outside


def test_rows_without_an_observation_are_not_counted() -> None:
    check = DomainCheck(spec_of(TensorSpec("o", "float64", (), Box((1.0,), ()))))
    assert check.mistakes({"o": np.zeros(3)}, [0, 1, 2], failed={0, 2}) == {}
    assert (check.outside, check.outside_last) == ({"o": 1}, 1)
    assert check.mistakes({"o": np.ones(1)}, [0]) == {}
    assert (check.outside, check.outside_last) == ({"o": 1}, 0)


@pytest.mark.parametrize(
    ("tensor", "limits"),
    [
        (TensorSpec("o", "uint8", (2,), Box((0.0,), (255.0,))), None),
        (TensorSpec("o", "int64", (), Box((), (2.0**63,))), None),
        (TensorSpec("o", "bool", (2,), MultiBinary()), None),
        (TensorSpec("o", "bool", ()), None),
        (TensorSpec("o", "int8", (), Box((-0.5,), (200.0,))), (0, 127)),
        (TensorSpec("o", "uint64", (), Box((1.0,), ())), (1, 2**64 - 1)),
        (TensorSpec("o", "float32", (), Box((-1e300,), (0.1,))), (-np.inf, np.float32(0.1))),
        (TensorSpec("o", "float64"), (-np.inf, np.inf)),
    ],
    ids=str,
)
def test_limits_are_the_ends_of_what_is_legal_in_the_dtype(
    tensor: TensorSpec, limits: tuple[Any, Any] | None
) -> None:
    found = tensor.limits
    assert found is None or {end.dtype for end in found} == {tensor.numpy_dtype}
    assert found == limits


def test_a_masked_number_is_no_number() -> None:
    with raises(NotAnEnvironment, "masked", "one number"):
        conforming_reward(np.ma.masked)
    with raises(NotAnEnvironment, "masked", "float32"):
        conforming_array("x", np.ma.array([1.0, 2.0], mask=[False, True]), np.dtype("float32"))
    whole = np.ma.array([1.0, 2.0])
    assert conforming_array("x", whole, np.dtype("float64")).tolist() == [1.0, 2.0]


def test_a_finite_number_does_not_become_infinite() -> None:
    float32 = np.dtype("float32")
    with raises(NotAnEnvironment, "1e+300", "float32"):
        conforming_array("x", np.array(1e300), float32)
    for passed in ([0.1, np.inf], [np.nan, 1.0], [3e38, 3e38]):
        found = conforming_array("x", np.array(passed), float32)
        np.testing.assert_array_equal(found, np.array(passed).astype(np.float32))


def test_integers_that_a_float_rounds_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        conforming_array("count of steps", np.array([2**24 + 1]), np.dtype("float32"))
        conforming_array("count of steps", np.array([2**24]), np.dtype("float32"))
    (said,) = caplog.messages
    assert "count of steps: integers of int64 change in float32" in said


def test_names_that_nobody_declared_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        say_unknown_names({"seen": 1, "hint of a test": 2}, ["seen"])
        say_unknown_names({"seen": 1}, ["seen"])
    (said,) = caplog.messages
    assert "hint of a test" in said
