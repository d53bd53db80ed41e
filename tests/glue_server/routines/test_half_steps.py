"""The half steps: each touches its half alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reglue import EndKind
from reglue.errors import (
    OutOfDomain,
    OutOfOrder,
    RoutineRefused,
)
from tests.glue_server.routines.lab import (
    begun,
    ends_of,
    refused,
    seen,
    started,
)


def test_env_start_and_env_step_leave_the_agent_alone() -> None:
    bench = begun()
    first = bench.env_start()
    assert (first.observations["seen"].tolist(), dict(first.actions)) == ([[0.0, 0.0]], {})
    step = bench.env_step({"push": [0.75]})
    assert (step.rewards.tolist(), dict(step.actions)) == ([0.75], {})
    assert bench.asked() == ([("play", [], [0]), ("play", [0], [])], [])
    assert bench.counts() == [(0.75, 2, 0)]
    bench.lab.fate = {0: "ends"}
    bench.env_step({"push": [1]})
    assert bench.counts() == [(1.75, 2, 1)]
    refused(bench, lambda: bench.env_step({"push": [1]}), OutOfOrder, "RL_env_step", "slot 0")


def test_rows_of_env_step_belong_to_the_slots_in_their_order() -> None:
    bench = begun(slots=3)
    bench.env_start()
    step = bench.env_step({"push": [[0.1], [0.2]]}, [2, 0])
    assert (step.slots, np.round(step.rewards, 6).tolist()) == ((2, 0), [0.1, 0.2])


def test_what_agent_start_chose_is_what_step_plays() -> None:
    bench = begun()
    bench.env_start()
    refused(bench, bench.step, OutOfOrder, "slot 0", "RL_start", "RL_agent_start")
    assert bench.agent_start(seen(0, 0))["push"].tolist() == [[0.5]]
    assert bench.step().rewards.tolist() == [0.5]


def test_an_agent_may_act_where_no_episode_is_on() -> None:
    bench = begun()
    bench.agent_start(seen(3, 4))
    bench.agent_step([2.5], seen(5, 6))
    bench.agent_end([-1.0], seen(7, 8), truncated=True)
    assert bench.asked() == (
        [],
        [("turn", [], [], [0]), ("turn", [], [0], []), ("turn", [0], [], [])],
    )
    assert [turn.observations["seen"].tolist() for turn in bench.actor.turns] == [
        [[3.0, 4.0]],
        [[5.0, 6.0]],
        [[7.0, 8.0]],
    ]
    assert [turn.rewards.tolist() for turn in bench.actor.turns] == [[], [2.5], [-1.0]]
    assert ends_of(bench.actor) == [(0, EndKind.TRUNCATED)]
    assert bench.counts() == [(0.0, 0, 0)]


@pytest.mark.parametrize("routine", ["agent_step", "agent_end"])
def test_an_agent_that_has_not_started_takes_no_step_and_no_end(routine: str) -> None:
    bench = begun()
    bench.env_start()
    refused(
        bench,
        lambda: getattr(bench, routine)([0.0], seen(0, 0)),
        OutOfOrder,
        f"RL_{routine}",
        "slot 0",
    )


def test_half_steps_of_an_agent_of_whole_turns_name_every_slot_in_which_it_acts() -> None:
    bench = started(slots=2)
    for routine in (
        lambda: bench.agent_start(seen(0, 0)),
        lambda: bench.agent_step([0.0], seen(0, 0)),
        lambda: bench.agent_end([0.0], seen(0, 0)),
    ):
        refused(bench, routine, OutOfOrder, "slots [1]")
    bench.agent_end([0.0, 0.0], seen(0, 0, 2), [0, 1])


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


def test_half_steps_without_a_slot_are_refused() -> None:
    bench = started()
    refused(bench, lambda: bench.env_step({"push": []}, []), OutOfDomain, "no slots")
    refused(bench, lambda: bench.agent_start({"seen": []}, []), OutOfDomain, "no slots")


def test_rows_for_the_agent_belong_to_the_slots_in_their_order() -> None:
    bench = begun(slots=3)
    chosen = bench.agent_start({"seen": [[2, 2], [0, 0]]}, [2, 0])
    assert chosen["push"].tolist() == [[0.125], [0.5]]
    assert bench.actor.turns[-1].observations["seen"].tolist() == [[0.0, 0.0], [2.0, 2.0]]
    bench.agent_step([0.2, 0.1], {"seen": [[2, 2], [0, 0]]}, [2, 0])
    assert bench.actor.turns[-1].rewards.tolist() == [0.1, 0.2]
