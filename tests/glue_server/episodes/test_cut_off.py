"""Orders with a step limit: the episode is cut off, and to the agent that is no end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glue_server import NextOrder, Order
from glue_server.episodes.recording import CUT_OFF
from reglue import EndKind, Phase
from tests.glue_server.playing import Scripted, by_k, cell, corridor_pool, glue_of, rows_of, still


def limited(*limits: int) -> NextOrder:
    """An episode of five steps for each limit."""
    given = iter([Order(0, k, cell(variant=2), 7, max_steps=n) for k, n in enumerate(limits)])
    return lambda slot: next(given, None)


@pytest.mark.parametrize(("limit", "steps"), [(1, 1), (3, 3), (5, 5), (9, 5), (0, 5)])
def test_an_episode_has_no_more_steps_than_its_order_allows(limit: int, steps: int) -> None:
    glue, _ = glue_of(Scripted(still), corridor_pool())
    [row] = glue.play(limited(limit), Phase.TRAIN)
    assert (row.status, row.steps, row.return_) == ("ok", steps, float(steps))


def test_a_cut_off_is_no_end_to_the_agent() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    list(glue.play(limited(2, 0), Phase.TRAIN))
    assert len(agent.ends) == 1  # of the second episode


def test_the_agent_is_told_the_last_reward_before_the_next_start() -> None:
    """Start, step 1, step 2 (whose action is not played), then a start on the live slot."""
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    list(glue.play(limited(2, 1), Phase.TRAIN))
    kinds = [(len(t.ends), len(t.steps), len(t.starts)) for t in agent.turns]
    assert kinds == [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0)]
    assert agent.turns[2].rewards.tolist() == [1.0]


def test_an_action_that_is_not_played_is_not_in_the_row() -> None:
    chosen = iter(range(9))
    agent = Scripted(lambda turn: np.full((rows_of(turn), 1), next(chosen) / 10))
    glue, _ = glue_of(agent, corridor_pool())
    [row] = glue.play(limited(3), Phase.TRAIN)
    assert np.frombuffer(row.actions, "<f4").tolist() == np.array([0.0, 0.1, 0.2], "<f4").tolist()


def test_an_end_at_the_limit_is_an_end() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    list(glue.play(limited(5), Phase.TRAIN))
    assert len(agent.ends) == 1


def test_slots_are_cut_off_each_for_itself() -> None:
    glue, _ = glue_of(Scripted(still), corridor_pool(2))
    rows = by_k(glue.play(limited(2, 4, 3), Phase.TRAIN))
    assert [row.steps for row in rows] == [2, 4, 3]


def test_every_reward_is_in_the_row_and_sums_to_its_return() -> None:
    def wavering(turn: Any) -> Any:
        return np.full((rows_of(turn), 1), 0.1 * len(agent.turns))

    agent = Scripted(wavering)
    glue, _ = glue_of(agent, corridor_pool())
    for row in glue.play(limited(4, 0), Phase.TRAIN):
        rewards = np.frombuffer(row.rewards, "<f8")
        assert len(rewards) == row.steps
        assert sum(rewards.tolist(), start=0.0) == pytest.approx(row.return_, abs=1e-15)


def truncated(*limits: int) -> NextOrder:
    """As `limited`, but that the agent is told."""
    orders = limited(*limits)
    return lambda slot: (order := orders(slot)) and replace(order, truncates=True)


def test_an_order_may_say_that_the_agent_is_told_truncated() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    rows = list(glue.play(truncated(3, 2), Phase.TRAIN))
    assert [(row.status, row.steps, row.detail) for row in rows] == [
        ("ok", 3, CUT_OFF),
        ("ok", 2, CUT_OFF),
    ]
    ends = [turn for turn in agent.turns if len(turn.ends)]
    assert [turn.ends.kinds.tolist() for turn in ends] == [[EndKind.TRUNCATED]] * 2
    assert [turn.rewards[0] for turn in ends] == [1.0, 1.0]
    assert len(ends[0].starts) == 1  # the next one begins in the same turn


def test_an_end_at_the_limit_is_the_environments_own() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    [row] = glue.play(truncated(5), Phase.TRAIN)
    assert (row.steps, row.detail) == (5, "")


def test_of_several_slots_those_at_their_limit_are_truncated() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool(3))
    given = iter([truncated(2)(0), limited(2)(0), truncated(4)(0)])
    orders = [replace(o, k=k) for k, o in enumerate(given) if o]
    left = iter(orders)
    rows = by_k(glue.play(lambda slot: next(left, None), Phase.TRAIN))
    assert [(row.steps, row.detail) for row in rows] == [(2, CUT_OFF), (2, ""), (4, CUT_OFF)]
    assert sum(len(turn.ends) for turn in agent.turns) == 2  # the second was cut off silently
