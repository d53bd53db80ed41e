"""Outcomes kept in little memory are those that were added, without actions and rewards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glue_server import Order, Outcome
from reglue_bench.procedures.compact_outcomes import CompactOutcomes, InOrder
from tests.glue_server.playing import cell


def order(k: int) -> Order:
    return Order(0, k, cell(variant=k % 3), start_seed=k)


ADDED = [
    Outcome(order(7), "ok", success=True, return_=0.1, steps=3, clipped=1, first_success=2),
    Outcome(order(2), "agent_abandoned", return_=-1.5, steps=1, detail="gave it up", rewards=b"r"),
    Outcome(order(4), "ok", return_=2.0, steps=9, detail="cut off"),
]


@pytest.fixture
def kept() -> CompactOutcomes:
    found = CompactOutcomes(order)
    for outcome in ADDED:
        found.add(outcome)
    return found


def test_they_come_back_by_k_without_actions_and_rewards(kept: CompactOutcomes) -> None:
    bare = [replace(outcome, actions=b"", rewards=b"") for outcome in ADDED]
    assert list(kept.in_order()) == sorted(bare, key=lambda outcome: outcome.order.k)
    assert len(kept) == 3


def test_they_follow_those_that_are_kept_whole(kept: CompactOutcomes) -> None:
    first = [Outcome(order(0), "ok", actions=b"x"), Outcome(order(1), "ok")]
    together = InOrder(first, kept)
    assert [outcome.order.k for outcome in together] == [0, 1, 2, 4, 7]
    assert len(together) == 5
    assert together[0] is first[0]
    assert together[-1].order.k == 7
    assert [outcome.order.k for outcome in together[1:3]] == [1, 2]
