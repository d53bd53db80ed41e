"""Suites go by names."""

from __future__ import annotations

import pytest

from env_adapters.suites import BUILT_IN, known_suite, suite_name
from reglue.errors import UnknownName, UsageError


@pytest.mark.parametrize("name", [*BUILT_IN, "gymnasium:CartPole-v1", "arcade:pong", "MT10"])
def test_a_known_name_is_a_suite(name: str) -> None:
    known = known_suite(name)
    assert known == suite_name(name)
    assert known is not None
    assert known.build().variants


@pytest.mark.parametrize("name", ["MLab.py:World", "MThing:World", "my_env.py:World", "MTen"])
def test_other_names_are_nobodys(name: str) -> None:
    assert known_suite(name) is None


def test_a_name_with_a_class_is_a_factory() -> None:
    suite = suite_name("MLab.py:World", {"size": 8})
    assert (suite.factory, suite.config) == ("MLab.py:World", {"size": 8})


def test_arguments_are_added() -> None:
    suite = suite_name("arcade:pong", {"continuous": True})
    assert suite.config["config"] == "pong"
    assert suite.config["continuous"] is True


def test_a_task_set_has_goals_of_a_seed_and_a_split() -> None:
    test = known_suite("ML10", {"seed": 3})
    train = known_suite("ML10", {"seed": 3, "split": "train"})
    assert test is not None
    assert train is not None
    assert (len(test.config["goals"]), len(train.config["goals"])) == (5, 10)
    with pytest.raises(UsageError, match="got seed 'x', wanted an integer from 0"):
        known_suite("ML10", {"seed": "x"})


@pytest.mark.parametrize("name", ["pong", "MTen", "gridwrld", ""])
def test_an_unknown_name_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(UnknownName, match=f"there is no environment '{name}'"):
        suite_name(name)
