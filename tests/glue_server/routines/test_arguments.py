"""A program's arrays are taken in the spec's dtypes, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glue_server.agent.actions import ActionChecks
from glue_server.routines.arguments import checked_actions, checked_observations
from reglue import Discrete, MultiBinary, TaskSpec, TensorSpec
from reglue.errors import OutOfDomain, RoutineRefused
from tests.error_facts import raises

SPEC = TaskSpec(
    observations=(TensorSpec("level", "uint8", (2,)), TensorSpec("is_open", "bool")),
    actions=(
        TensorSpec("move", "int32", (), Discrete(3)),
        TensorSpec("grip", "int8", (2,), MultiBinary()),
    ),
)


def given(level: Any, is_open: Any) -> Any:
    return checked_observations(
        SPEC, {"level": np.asarray(level), "is_open": np.asarray(is_open)}, 2
    )


def test_numbers_are_cast_where_they_stay_what_they_are() -> None:
    rows = given([[1.0, 2.0], [3, 4]], [0, 1])
    assert (rows["level"].dtype, rows["level"].tolist()) == (np.uint8, [[1, 2], [3, 4]])
    assert (rows["is_open"].dtype, rows["is_open"].tolist()) == (np.bool_, [False, True])


def test_rows_may_come_flat() -> None:
    assert given([1, 2, 3, 4], [[0], [1]])["level"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "level", [[[256, 0], [0, 0]], [[-1, 0], [0, 0]], [[0.5, 0], [0, 0]], [[np.nan, 0], [0, 0]]]
)
def test_numbers_that_would_change_are_refused(level: Any) -> None:
    with raises(OutOfDomain, "'level'", "uint8"):
        given(level, [0, 1])


@pytest.mark.parametrize("level", [[["a", "b"], ["c", "d"]], [[None] * 2] * 2, [[1j] * 2] * 2])
def test_what_is_no_number_is_refused(level: Any) -> None:
    with raises(RoutineRefused, "'level'", (2, 2), "uint8"):
        given(level, [0, 1])


def test_actions_are_looked_at_as_an_agents_are() -> None:
    legal = {"move": np.array([2]), "grip": np.array([0, 1])}
    checks = ActionChecks(SPEC)
    actions = checked_actions(checks, legal, 1)
    assert {name: rows.tolist() for name, rows in actions.items()} == {
        "move": [2],
        "grip": [[0, 1]],
    }
    for wrong in ({"move": np.array([3])}, {"grip": np.array([0, 2])}):
        with pytest.raises(OutOfDomain):
            checked_actions(checks, legal | wrong, 1)
