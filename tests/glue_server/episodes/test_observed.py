"""The parts that are recorded hold the agent's observations and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell
from glue_server import Order, Outcome
from glue_server.episodes import observed
from reglue import Phase
from tests.glue_server.playing import (
    Follower,
    Partial,
    Scripted,
    by_k,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    rows_of,
)


class Kept:
    """The parts of all episodes, in memory."""

    def __init__(self) -> None:
        self.parts: dict[int, list[bytes]] = {}

    def next_number(self) -> int:
        self.parts[number := len(self.parts) + 1] = []
        return number

    def take(self, number: int, place: int, rows: bytes) -> None:
        assert place == len(self.parts[number])
        self.parts[number].append(rows)

    def episode(self, outcome: Outcome) -> tuple[list[list[float]], list[float], list[float]]:
        """Observations, rewards and actions of a Corridor."""
        assert outcome.observed is not None
        assert outcome.observed.parts == len(self.parts[outcome.observed.number])
        whole = b"".join(self.parts[outcome.observed.number])
        seen = (outcome.steps + 1) * 16
        rewards = seen + outcome.steps * 8
        return (
            np.frombuffer(whole[:seen], "<f8").reshape(-1, 2).tolist(),
            np.frombuffer(whole[seen:rewards], "<f8").tolist(),
            np.frombuffer(whole[rewards:], "<f4").tolist(),
        )


def recorded(
    agent: Any, slots: int, wanted: Sequence[Cell], phase: Phase = Phase.EVALUATE
) -> tuple[list[Outcome], Kept]:
    glue, _ = glue_of(agent, corridor_pool(slots))
    glue.observed_to = kept = Kept()
    return by_k(glue.play(in_turn(wanted), phase)), kept


class Scribbling(Follower):
    """Overwrites what it saw once it has acted."""

    def turn(self, turn: Any) -> Any:
        answer = super().turn(turn)
        for rows in (turn.rewards, *turn.observations.values()):
            rows[...] = -1.0
        return answer


@pytest.mark.parametrize(("agent", "slots"), [(Follower, 4), (Partial, 5), (Scribbling, 3)])
def test_it_does_not_depend_on_slots_groups_and_what_agents_do_to_arrays(
    agent: type[Follower], slots: int
) -> None:
    outcomes, kept = recorded(agent(), slots, cells())
    alone, kept_alone = recorded(Follower(), 1, cells())
    assert [*map(kept.episode, outcomes)] == [*map(kept_alone.episode, alone)]


def test_it_is_what_was_seen_chosen_and_earned() -> None:
    """A Corridor shows the steps taken and the sum of actions, and pays 1 + 0.1 × action."""
    [outcome], kept = recorded(Follower(), 1, [cell(variant=2)])
    observations, rewards, actions = kept.episode(outcome)
    sums = [0.0, *np.cumsum(np.array(actions, np.float64)).tolist()]
    assert observations == [[float(step), pytest.approx(sums[step])] for step in range(6)]
    assert rewards == [1.0 + 0.1 * action for action in actions]
    assert np.frombuffer(outcome.actions, "<f4").tolist() == actions


@pytest.mark.parametrize("part_bytes", [1, 16, 40, 96])
def test_a_long_episode_comes_in_parts(monkeypatch: Any, part_bytes: int) -> None:
    whole, kept_whole = recorded(Follower(), 2, cells())
    monkeypatch.setattr(observed, "PART_BYTES", part_bytes)
    outcomes, kept = recorded(Follower(), 2, cells())
    assert [*map(kept.episode, outcomes)] == [*map(kept_whole.episode, whole)]
    most = max(1, part_bytes // 16) * 16
    assert all(len(part) <= most for parts in kept.parts.values() for part in parts[:-1])
    assert any(len(parts) > 1 for parts in kept.parts.values())


@pytest.mark.parametrize(
    ("variant", "terminated", "truncated"), [(0, True, False), (2, False, True), (3, True, True)]
)
def test_it_says_how_the_episode_ended(variant: int, terminated: bool, truncated: bool) -> None:
    [outcome], _ = recorded(Follower(), 1, [cell(variant=variant)])
    assert outcome.observed is not None
    assert (outcome.observed.terminated, outcome.observed.truncated) == (terminated, truncated)


def test_an_episode_that_is_cut_off_has_its_last_observation_and_no_end() -> None:
    glue, _ = glue_of(Follower(), corridor_pool())
    glue.observed_to = kept = Kept()
    orders = iter([Order(0, 0, cell(variant=2), 7, max_steps=3)])
    [outcome] = glue.play(lambda _slot: next(orders, None), Phase.TRAIN)
    assert [row[0] for row in kept.episode(outcome)[0]] == [0.0, 1.0, 2.0, 3.0]
    assert outcome.observed is not None
    assert (outcome.observed.terminated, outcome.observed.truncated) == (False, False)


def test_a_fault_of_the_agent_leaves_what_came_before() -> None:
    def fails_at_third(turn: Any) -> Any:
        return np.full((rows_of(turn), 1), np.nan if len(agent.turns) == 3 else 0.5)

    agent = Scripted(fails_at_third)
    [outcome], kept = recorded(agent, 1, [cell(variant=2)])
    assert outcome.status == "agent_error"
    observations, rewards, actions = kept.episode(outcome)
    assert (len(observations), len(rewards), actions) == (3, 2, [0.5, 0.5])


def test_an_episode_that_could_not_begin_has_nothing() -> None:
    outcomes, kept = recorded(Follower(), 1, [cell(variant=9), cell(variant=0)])
    assert outcomes[0].observed is None
    assert outcomes[1].steps == 1
    assert len(kept.parts) == 1
