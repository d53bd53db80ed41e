"""Answers of environments become ends and steps of the next turn."""

from __future__ import annotations

import numpy as np

from glue_server.agent.turn_rows import ends_and_steps
from reglue import EndKind
from reglue.messages.environment_messages import Played

SLOTS = np.array([1, 3, 4, 6], np.uint32)
FLAGS = np.array([0, 2, 0, 2], np.uint8)


def played(*, terminated: list[int], truncated: list[int]) -> Played:
    """Rows that tell their slots; those at these places are over."""
    rows = np.arange(4)
    return Played(
        rewards=SLOTS.astype(np.float64) * 10,
        observations={"seen": SLOTS.astype(np.float64)},
        terminated=np.isin(rows, terminated),
        truncated=np.isin(rows, truncated),
        success=np.zeros(4, np.bool_),
    )


def test_where_nothing_ends_all_go_on() -> None:
    ends, steps = ends_and_steps(SLOTS, FLAGS, played(terminated=[], truncated=[]), None)
    assert ends is None
    assert (steps.slots.tolist(), steps.marks.tolist()) == ([1, 3, 4, 6], [0, 2, 0, 2])


def test_what_is_over_is_an_end_of_its_kind() -> None:
    """An episode that is both has terminated: there is nothing to bootstrap from."""
    answer = played(terminated=[1, 3], truncated=[2, 3])
    ends, steps = ends_and_steps(SLOTS, FLAGS, answer, None)
    assert ends is not None
    assert (ends.slots.tolist(), ends.rewards.tolist()) == ([3, 4, 6], [30.0, 40.0, 60.0])
    kinds = [EndKind.TERMINATED, EndKind.TRUNCATED, EndKind.TERMINATED]
    assert ends.marks.tolist() == kinds
    assert ends.observations["seen"].tolist() == [3.0, 4.0, 6.0]
    assert (steps.slots.tolist(), steps.marks.tolist()) == ([1], [0])
    assert steps.observations["seen"].tolist() == [1.0]


def test_a_slot_whose_environment_failed_ends_void_and_shows_nothing() -> None:
    answer = played(terminated=[0], truncated=[])
    void = np.array([False, False, True, False])
    ends, steps = ends_and_steps(SLOTS, FLAGS, answer, void)
    assert ends is not None
    assert (ends.slots.tolist(), ends.rewards.tolist()) == ([1, 4], [10.0, 0.0])
    assert ends.marks.tolist() == [EndKind.TERMINATED, EndKind.VOID]
    assert ends.observations["seen"].tolist() == [1.0, 0.0]
    assert steps.slots.tolist() == [3, 6]
    assert answer.observations["seen"].tolist() == [1.0, 3.0, 4.0, 6.0]
