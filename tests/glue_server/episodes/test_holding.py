"""Slots in which the agent does not act yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glue_server import Glue, Outcome
from reglue import Phase
from reglue.errors import BadAgentReply
from reglue.messages.agent_messages import Actions
from tests.error_facts import raises
from tests.glue_server.playing import (
    Follower,
    Scripted,
    by_k,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    played,
    rows_of,
    still,
)

Choice = Callable[[list[int]], tuple[int, ...]]


class Holding(Follower):
    """Acts as a Follower, in some of the slots, which `choose` draws."""

    def __init__(self, choose: Choice) -> None:
        self._choose = choose

    def turn(self, turn: Any) -> Any:
        asked = [*turn.steps.slots.tolist(), *turn.starts.slots.tolist()]
        action = np.asarray(super().turn(turn))
        return Actions({"action": action}, held=self._choose(asked)) if asked else {}


def some(seed: int) -> Choice:
    rng = np.random.default_rng(seed)

    def choose(asked: list[int]) -> tuple[int, ...]:
        count = int(rng.integers(0, max(1, len(asked))))
        return tuple(rng.permutation(asked)[:count].tolist())

    return choose


@pytest.mark.parametrize("partial", [False, True], ids=["lockstep", "groups"])
@pytest.mark.parametrize("seed", range(5))
def test_holding_changes_no_row(seed: int, partial: bool) -> None:
    agent = Holding(some(seed))
    agent.partial_turns = partial
    assert played(agent, corridor_pool(3), cells()) == played(Follower(), corridor_pool(3), cells())


def test_a_held_start_is_told_again_as_it_was() -> None:
    def turn(turn: Any) -> Actions:
        first = turn.starts.slots.tolist() == [0, 1] and len(agent.turns) == 1
        return Actions({"action": still(turn)}, held=(1,) if first else ())

    agent = Scripted(turn)
    played(agent, corridor_pool(2), [cell(variant=2), cell(variant=2)])
    first, second, *_ = agent.turns
    assert (second.steps.slots.tolist(), second.starts.slots.tolist()) == ([0], [1])
    assert second.starts.seeds.tolist() == first.starts.seeds[1:].tolist()
    seen = "observation"
    assert np.array_equal(second.observations[seen][1], first.observations[seen][1])


def test_a_held_step_is_told_again_with_its_reward() -> None:
    def turn(turn: Any) -> Actions:
        third = len(agent.turns) == 3
        return Actions({"action": still(turn) + 1}, held=(0,) if third else ())

    agent = Scripted(turn)
    rows = played(agent, corridor_pool(2), [cell(variant=2), cell(variant=2)], Phase.TRAIN)
    held, again = agent.turns[2], agent.turns[3]
    assert held.steps.slots.tolist() == again.steps.slots.tolist() == [0, 1]
    assert held.rewards[0] == again.rewards[0]
    seen = "observation"
    assert np.array_equal(held.observations[seen][0], again.observations[seen][0])
    assert not np.array_equal(held.observations[seen][1], again.observations[seen][1])
    assert [row.steps for row in rows] == [5, 5]


@pytest.mark.parametrize("partial", [False, True], ids=["lockstep", "groups"])
def test_a_slot_may_be_abandoned_while_all_others_are_held(partial: bool) -> None:
    """In groups the other group's only episode is over by then: nothing else is under way."""
    done: list[int] = []

    def turn(turn: Any) -> Actions:
        taken = turn.observations["observation"][len(turn.ends), 0] if rows_of(turn) else 0
        if 0 not in turn.steps.slots or taken != 3 or done:
            return Actions({"action": still(turn)})
        done.append(1)
        held = tuple(turn.steps.slots.tolist())[1:]
        return Actions({"action": still(turn)}, abandon=(0,), held=held)

    agent = Scripted(turn)
    agent.partial_turns = partial
    wanted = [cell(variant=each) for each in (2, 2, 0, 0)]
    rows = played(agent, corridor_pool(4), wanted)
    assert [(row.status, row.steps) for row in rows] == [
        ("agent_abandoned", 3),
        ("ok", 5),
        ("ok", 1),
        ("ok", 1),
    ]


def refused(**named: tuple[int, ...]) -> tuple[Outcome, list[str]]:
    """The first episode of an agent that names those slots at once."""
    agent = Scripted(lambda turn: Actions({"action": still(turn)}, **named))
    glue, port = glue_of(agent, corridor_pool(2))
    [row, *_] = by_k(glue.play(in_turn([cell(), cell()]), Phase.TRAIN))
    return row, port.refusals


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"held": (0, 1)}, "got all slots of the turn held, wanted an action for one or more"),
        ({"held": (7,)}, "got hold (7,), wanted slots of this turn"),
        ({"held": (0,), "abandon": (0,)}, "slots [0] held and abandoned"),
    ],
    ids=["all", "another", "both"],
)
def test_what_cannot_be_held_is_refused(named: dict[str, tuple[int, ...]], words: str) -> None:
    row, refusals = refused(**named)
    assert row.status == "agent_error"
    assert words in row.detail
    assert refusals


def test_a_program_that_calls_the_routines_has_an_action_for_each_slot() -> None:
    agent = Scripted(lambda turn: Actions({"action": np.zeros(2, np.int64)}, held=(1,)))
    with Glue(environment="gridworld", agent=agent, slots=2) as rl:
        rl.init()
        with raises(BadAgentReply, "program", code="OUT_OF_DOMAIN", got="held slots"):
            rl.start()
