"""The cost of an evaluation, counted: turns, steps and starts. No clock is looked at.

What it costs to ask a frozen agent again is counted in test_repeatability.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reglue import Turn
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play

LONG = {"walk": [0] * 12}  # twelve goals, each episode of 5 steps


class Tallied(Seeded):
    """Counts what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: Counter[str] = Counter()

    def turn(self, turn: Turn) -> Any:
        self.told.update(
            turns=1, ends=len(turn.ends), steps=len(turn.steps), starts=len(turn.starts)
        )
        return super().turn(turn)


class InGroups(Tallied):
    partial_turns = True


def told(folder: Path, agent: Tallied, *, slots: int, workers: int = 0, **plan: Any) -> Any:
    given = corridor_plan(slots=slots, solved=LONG, num_episodes=12, **plan)
    result = play(folder, given, agent, workers=workers, repeat_check=False)
    assert result.complete
    assert result.steps.executed == result.steps.counted == 60
    return dict(agent.told)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("slots", [1, 3, 4, 6, 12])
def test_a_slot_ends_and_begins_in_one_turn(tmp_path: Path, slots: int, workers: int) -> None:
    """One turn a step of a slot, and one for the last ends."""
    counts = told(tmp_path, Tallied(), slots=slots, workers=workers)
    rounds = 12 // slots
    assert counts == {"turns": 5 * rounds + 1, "ends": 12, "steps": 48, "starts": 12}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("slots", [2, 4, 6, 12])
def test_two_groups_take_a_turn_each_and_waste_no_step(
    tmp_path: Path, slots: int, workers: int
) -> None:
    """An episode's start comes a turn behind the end before it."""
    counts = told(tmp_path, InGroups(), slots=slots, workers=workers)
    rounds = 12 // slots
    assert counts == {"turns": 2 * 6 * rounds, "ends": 12, "steps": 48, "starts": 12}


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_wave_plays_what_the_plan_says_and_no_more(tmp_path: Path, workers: int) -> None:
    """In groups each half has turns of its own while adapting, too; what is played is the same."""
    plan = corridor_plan("meta-learning", solved=LONG, slots=4, num_evals=3)
    planned = 12 * (2 + 3) * 5  # trials, episodes of a trial, steps of an episode
    whole, in_groups = Tallied(), InGroups()
    played = [
        play(tmp_path / type(agent).__name__, plan, agent, workers=workers)
        for agent in (whole, in_groups)
    ]
    assert [each.steps.executed for each in played] == [each.steps.counted for each in played]
    assert [each.steps.counted for each in played] == [planned, planned]
    told = {"ends": 60, "steps": 240, "starts": 60}
    assert whole.told == told | {"turns": 3 * ((2 * 5 + 1) + (3 * 5 + 1))}
    assert in_groups.told == told | {"turns": 3 * 2 * (2 + 3) * 6}
