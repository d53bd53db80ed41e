"""Rows of half steps: whose they are, and which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reglue.errors import OutOfDomain, RoutineRefused
from tests.glue_server.routines.lab import begun, refused, seen, started


def test_rows_of_env_step_belong_to_the_slots_in_their_order() -> None:
    bench = begun(slots=3)
    bench.env_start()
    step = bench.env_step({"push": [[0.1], [0.2]]}, [2, 0])
    assert (step.slots, np.round(step.rewards, 6).tolist()) == ((2, 0), [0.1, 0.2])


def test_an_agent_is_told_a_programs_observations_and_rewards() -> None:
    bench = begun()
    bench.agent_start(seen(3, 4))
    bench.agent_step([2.5], seen(5, 6))
    bench.agent_end([-1.0], seen(7, 8), truncated=True)
    assert [turn.observations["seen"].tolist() for turn in bench.actor.turns] == [
        [[3.0, 4.0]],
        [[5.0, 6.0]],
        [[7.0, 8.0]],
    ]
    assert [turn.rewards.tolist() for turn in bench.actor.turns] == [[], [2.5], [-1.0]]


@pytest.mark.parametrize(
    ("given", "kind", "got"),
    [
        ({}, RoutineRefused, "arrays []"),
        ({"pull": [0.0]}, RoutineRefused, "arrays ['pull']"),
        ({"push": [0.0, 0.0]}, RoutineRefused, "'push' of shape (2,), float64"),
        ({"push": "hard"}, OutOfDomain, "'push' = 'hard'"),
        ({"push": [None]}, OutOfDomain, "'push' = [None]"),
        ({"push": [np.nan]}, OutOfDomain, "'push' = [nan]"),
    ],
)
def test_actions_that_do_not_fit_are_the_callers(
    given: Any, kind: type[Exception], got: str
) -> None:
    bench = started()
    refused(bench, lambda: bench.env_step(given), kind, "'push'", got)
    assert bench.port.refusals == []


@pytest.mark.parametrize(
    ("rewards", "rows", "kind", "named"),
    [
        ([0.0], {}, RoutineRefused, ["arrays []", ["seen"]]),
        ([0.0], {"seen": [0.0]}, RoutineRefused, ["'seen' of shape (1,)"]),
        ([0.0, 0.0], seen(0, 0), RoutineRefused, ["rewards of shape (2,)", (1,)]),
        ([np.inf], seen(0, 0), OutOfDomain, ["rewards [inf]"]),
    ],
)
def test_rewards_and_observations_that_do_not_fit_are_the_callers(
    rewards: Any, rows: Any, kind: type[Exception], named: list[object]
) -> None:
    bench = started()
    refused(bench, lambda: bench.agent_step(rewards, rows), kind, *named)
    refused(bench, lambda: bench.agent_end(rewards, rows), kind, *named)


def test_rows_for_the_agent_belong_to_the_slots_in_their_order() -> None:
    bench = begun(slots=3)
    chosen = bench.agent_start({"seen": [[2, 2], [0, 0]]}, [2, 0])
    assert chosen["push"].tolist() == [[0.125], [0.5]]
    assert bench.actor.turns[-1].observations["seen"].tolist() == [[0.0, 0.0], [2.0, 2.0]]
    bench.agent_step([0.2, 0.1], {"seen": [[2, 2], [0, 0]]}, [2, 0])
    assert bench.actor.turns[-1].rewards.tolist() == [0.1, 0.2]
