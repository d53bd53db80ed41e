"""Values between two configs, as Meta Arcade's."""

from __future__ import annotations

from typing import Any

import pytest

from env_adapters.environment_configs import check_interpolation, interpolate
from env_adapters.environment_configs.values import ConfigError
from tests.error_facts import raises

ALPHAS = [0.0, 0.25, 0.5, 0.75, 1.0]

# Computed by the original.
SCALARS = [
    (0, 3, [0, 1, 2, 2, 3]),
    (0, 1, [0, 0, 0, 1, 1]),
    (1, 2, [1, 1, 2, 2, 2]),
    (0.0, 1, [0.0, 0.25, 0.5, 0.75, 1.0]),
    (0, 0.9, [0, 0, 0, 1, 1]),
    (True, False, [True] * 5),
    ("a", "b", ["a"] * 5),
    ("full", 5, ["full"] * 5),
    (None, 3, [None] * 5),
    (
        [128] * 3,
        [100, 100, 255],
        [[128] * 3, [121, 121, 160], [114, 114, 192], [107, 107, 223], [100, 100, 255]],
    ),
    ({"a": 1}, {"a": 3, "b": 5}, [{"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}, {"a": 3}]),
]


@pytest.mark.parametrize(("one", "other", "wanted"), SCALARS)
def test_the_first_decides_what_a_value_is(one: Any, other: Any, wanted: list[Any]) -> None:
    check_interpolation(one, other)
    found = [interpolate(one, other, alpha) for alpha in ALPHAS]
    assert found == wanted
    assert [type(each) for each in found] == [type(each) for each in wanted]


def test_lists_in_lists_and_longer_second_lists() -> None:
    assert interpolate([[0, 1.0], [0, 0]], [[4, 2.0], [2, 4], [9]], 0.5) == [[2, 1.5], [1, 2]]


def test_beyond_its_end_it_stays() -> None:
    assert interpolate(0.0, 10.0, 1.7) == 10.0


def test_the_parameters_of_a_distribution_are_interpolated() -> None:
    one, other = (
        {"distribution": "normal", "mean": [128, 128], "std": [std, std]} for std in (0, 60)
    )
    check_interpolation(one, other)
    wanted = {"distribution": "normal", "mean": [128, 128], "std": [15, 15]}
    assert interpolate(one, other, 0.25) == wanted


UNIFORM = {"distribution": "uniform", "low": 0, "high": 1}


@pytest.mark.parametrize(
    ("one", "other", "path", "named"),
    [
        ({"a": {"b": 1}}, {"a": {"b": "full"}}, "a.b", [1, "'full'", "two finite numbers"]),
        ([1, 2], [1], "", [[1, 2], [1], "two lists"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {}]}, "a[1].b", ["second config"]),
        ({"a": 1}, {"a": UNIFORM}, "a", [1, UNIFORM, "two distributions"]),
        (UNIFORM, {"distribution": "normal", "mean": 0, "std": 1}, "", ["uniform", "normal"]),
        ({"a": {"b": 2}}, {"a": 5}, "a", ["table", 5, "two tables"]),
        (1.0, float("nan"), "", [1.0, "nan", "two finite numbers"]),
        (0, float("inf"), "", [0, "inf", "two finite numbers"]),
        (-1e308, 1e308, "", [-1e308, 1e308, "two finite numbers"]),
    ],
)
def test_where_there_is_nothing_between(one: Any, other: Any, path: str, named: list[Any]) -> None:
    with raises(ConfigError, *named, path=path):
        check_interpolation(one, other)


def test_both_names_of_the_normal_distribution_are_one_kind() -> None:
    one = {"distribution": "gaussian", "mean": 0.0, "std": 1.0}
    other = {"distribution": "normal", "mean": 4.0, "std": 3.0}
    for first, second in ((one, other), (other, one)):
        check_interpolation(first, second)
        between = interpolate(first, second, 0.5)
        assert between == {**first, "mean": 2.0, "std": 2.0}
    with raises(ConfigError, "gaussian", "uniform", path=""):
        check_interpolation(one, UNIFORM)
