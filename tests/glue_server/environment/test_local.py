"""Environments in this process, behind a port: as over a wire, and never trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from env_adapters import Cell, Step
from glue_server import EnvironmentCalls, LocalEnvironmentPort
from reglue import TaskSpec, TensorSpec
from reglue.environments.environment import Earned, Environment
from reglue.environments.slot_worlds import Worlds
from reglue.errors import EnvironmentFault
from reglue.messages.agent_messages import Phase, TextMessage
from reglue.messages.environment_messages import (
    EnvironmentInit,
    EnvironmentReady,
    Play,
    Played,
)
from reglue.spec import Array, Arrays
from tests.error_facts import raises
from tests.glue_server.environment.halls import SPEC, Hall, ask, exchange, pool_over
from tests.glue_server.playing import SOLVED, Follower, cell, cells, corridor_pool, local, played
from tests.worlds import Corridor, Faulty, Houseless, SaysUnrepeatable, Walk

# What is promised.


def test_a_pool_over_a_port_plays_the_rows_of_plain_worlds() -> None:
    alone = played(Follower(), corridor_pool(1), cells())
    pool = pool_over(Worlds(Corridor(solved=SOLVED)), slots=3)
    assert played(Follower(), pool, cells()) == alone
    assert pool.executed == sum(row.steps for row in alone)


def test_a_pool_over_a_port_knows_the_tasks() -> None:
    assert pool_over(Worlds(Corridor(solved=SOLVED))).ready.variants == {"walk": 5, "run": 5}


def test_worlds_of_one_task_step_together_and_rows_keep_their_order() -> None:
    """Memory that such worlds share, as a simulator's model, is then in the processor's cache."""
    stepped: list[str] = []

    class Noted(Walk):
        def step(self, action: Arrays) -> Step:
            assert self._cell is not None
            stepped.append(self._cell.task)
            return super().step(action)

    class Notes(Corridor):
        def world(self) -> Walk:
            return Noted(self)

    worlds = Worlds(Notes(solved={"b": [0], "a": [0]}))
    worlds.spec = worlds.env_init(4)
    nobody = np.zeros(0, np.uint32)
    starts = {slot: Cell(task, 0, 0, 0, Phase.TRAIN) for slot, task in enumerate("baba")}
    worlds.play(Play(nobody, {}, starts))
    action = {"action": np.array([[0.0], [0.1], [0.2], [0.3]], np.float32)}
    answer = worlds.play(Play(np.arange(4, dtype=np.uint32), action, {}))
    assert stepped == ["a", "a", "b", "b"]
    assert answer.rewards.tolist() == [1.0 + 0.1 * float(each) for each in action["action"][:, 0]]


def test_rows_come_in_the_order_of_the_play() -> None:
    pool = pool_over(Hall())
    exchange(pool, starts=[0, 1])
    exchange(pool, steps=[1])
    answer = exchange(pool, steps=[1, 0])
    assert answer.observations["observation"].tolist() == [[2.0, 0.0], [1.0, 0.0]]
    assert answer.rewards.tolist() == [2.0, 1.0]


def test_steps_and_starts_share_a_call() -> None:
    pool = pool_over(Hall())
    exchange(pool, starts=[1])
    answer = exchange(pool, steps=[1], starts=[0])
    assert answer.observations["observation"].tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_plays_of_several_slots_may_be_under_way() -> None:
    pool = pool_over(Hall())
    exchange(pool, starts=[0, 1])
    exchange(pool, steps=[1])
    for slot in (1, 0):
        action = {"action": np.zeros((1, 1), np.float32)}
        pool.send(Play(np.array([slot], np.uint32), action, {}))
    assert [pool.receive().rewards.tolist() for _ in range(2)] == [[2.0], [1.0]]


def test_an_environment_may_write_to_its_arrays_again() -> None:
    """As over a wire: what it answered stays what it was."""

    class Thrifty(Hall):
        _own: Played

        def play(self, play: Play) -> Played:
            played = super().play(play)
            if not play.starts:
                self._own.observations["observation"][:] += 1.0
                self._own.rewards[:] += 1.0
                return self._own
            self._own = Played.blank(self.spec, Play(np.zeros(1, np.uint32), {}, {}))
            return played

    answers_stay_as_they_were(Thrifty())


def test_env_step_may_answer_with_the_same_arrays_again() -> None:
    class Thrifty(Hall):
        def env_step(self, actions: Arrays, slots: Array) -> Earned:
            self._taken += 1.0
            return Earned(self._taken[:, 0], {"observation": self._taken})

    answers_stay_as_they_were(Thrifty())


def answers_stay_as_they_were(thrifty: Environment) -> None:
    """Each step adds 1 to all that it answers with; the first answer is not changed by the next."""
    pool = pool_over(thrifty, slots=1)
    exchange(pool, starts=[0])
    answers = [exchange(pool, steps=[0]) for _ in range(2)]
    assert [each.rewards.tolist() for each in answers] == [[1.0], [2.0]]
    assert [each.observations["observation"].tolist() for each in answers] == [
        [[1.0, 1.0]],
        [[2.0, 2.0]],
    ]


def test_what_worlds_answer_is_fresh_and_not_copied_again() -> None:
    class Remembering(Worlds):
        last: Played

        def play(self, play: Play) -> Played:
            self.last = super().play(play)
            return self.last

    worlds = Remembering(Corridor(solved=SOLVED))
    assert exchange(pool_over(worlds), starts=[0, 1]) is worlds.last


def test_observations_come_in_the_order_of_the_spec() -> None:
    """As over a wire: an agent may join them one behind the other."""
    pair = TaskSpec((TensorSpec("a", "float64"), TensorSpec("b", "float64")), SPEC.actions)

    class Backwards(Environment):
        def env_init(self, slots: int) -> TaskSpec:
            return pair

        def play(self, play: Play) -> Played:
            blank = Played.blank(self.spec, play)
            return replace(blank, observations=dict(reversed([*blank.observations.items()])))

    assert [*exchange(pool_over(Backwards()), starts=[0]).observations] == ["a", "b"]


def test_worlds_may_share_the_array_that_they_answer_with() -> None:
    pool = pool_over(Worlds(Shared()))
    exchange(pool, starts=[0, 1])
    answers = [exchange(pool, steps=[0, 1]) for _ in range(2)]
    assert [each.observations["observation"].tolist() for each in answers] == [
        [[3.0, 3.0], [4.0, 4.0]],
        [[5.0, 5.0], [6.0, 6.0]],
    ]


class Shared:
    """A suite and its worlds at once: counts starts and steps in one array."""

    spec = SPEC
    variants: ClassVar[Mapping[str, int]] = {"task": 1}
    standardizes = True

    def __init__(self) -> None:
        self._seen = np.zeros(2)

    def world(self) -> Shared:
        return self

    def start(self, cell: Cell) -> Arrays:
        self._seen += 1.0
        return {"observation": self._seen}

    def step(self, action: Arrays) -> Step:
        return Step(0.0, self.start(cell()), False, False, False)

    def close(self) -> None:
        pass


def test_closing_a_pool_cleans_its_environment_up_once() -> None:
    hall = Hall()
    pool = pool_over(hall)
    pool.close()
    pool.close()
    assert hall.cleaned == 1


def test_a_port_that_is_closed_cleans_up_what_nobody_has() -> None:
    hall = Hall()
    port = LocalEnvironmentPort(hall, "hall")
    EnvironmentCalls(port).ask(EnvironmentInit(1), EnvironmentReady)
    port.close("enough")
    port.close("enough")
    assert hall.cleaned == 1


def test_a_cleanup_that_fails_is_no_reason_to_stay(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(Hall):
        def env_cleanup(self) -> None:
            raise OSError("the key is lost")

    pool_over(Stuck()).close()
    assert "the key is lost" in caplog.text


def test_worlds_pass_a_message_to_each_that_is_there_and_the_first_answers() -> None:
    heard: list[tuple[int, str]] = []

    class Talker(Walk):
        def __init__(self, corridor: Corridor, number: int) -> None:
            super().__init__(corridor)
            self._number = number

        def message(self, text: str) -> str:
            heard.append((self._number, text))
            return f"{self._number} heard {text}"

    class Talkers(Corridor):
        made = 0

        def world(self) -> Walk:
            self.made += 1
            return Talker(self, self.made)

    pool = pool_over(Worlds(Talkers(solved=SOLVED)), slots=4)
    exchange(pool, starts=[3, 1])
    assert pool.ask(TextMessage("hi"), TextMessage).text == "1 heard hi"
    assert heard == [(1, "hi"), (3, "hi"), (2, "hi")], "in the order of slots"


def test_worlds_without_answers_answer_nothing() -> None:
    pool = corridor_pool(2)
    assert pool.ask(TextMessage("hi"), TextMessage).text == ""


# What it raises.


def test_whatever_it_raises_is_its_fault_with_the_lines() -> None:
    class Broken(Hall):
        def env_message(self, message: str) -> str:
            return str(1 / 0)

    with raises(EnvironmentFault, "return str(1 / 0)", "ZeroDivisionError"):
        ask(Broken(), TextMessage("hi"), TextMessage)


def test_worlds_that_cannot_be_made_are_the_fault_of_their_slots() -> None:
    """As in workers."""
    pool = pool_over(Worlds(Houseless(solved=SOLVED)))
    assert "OSError: no bricks" in exchange(pool, starts=[1]).faults[1]


def test_a_start_that_failed_is_tried_again_also_where_no_episode_is_played_again() -> None:
    """The agent has seen nothing of it."""

    class Stuck(Walk):
        def start(self, cell: Cell) -> Arrays:
            if suite.fails:
                suite.fails = False
                raise RuntimeError("the door is stuck")
            return super().start(cell)

    class FailsOnce(SaysUnrepeatable):
        fails = True

        def world(self) -> Walk:
            return Stuck(self)

    suite = FailsOnce(solved=SOLVED)
    (row,) = played(Follower(), local(suite), [cell(variant=1)])
    assert not suite.fails
    assert row.status == "ok"


def test_an_environment_that_raises_in_play_fails_in_every_slot_that_was_asked() -> None:
    class Falling(Hall):
        def env_step(self, actions: Arrays, slots: Array) -> Earned:
            raise RuntimeError("the floor gave way")

    pool = pool_over(Falling(), slots=3)
    exchange(pool, starts=[0, 1, 2])
    faults = exchange(pool, starts=[0], steps=[1, 2]).faults
    assert {*faults} == {0, 1, 2}
    assert all("the floor gave way" in what for what in faults.values())


def test_an_action_that_an_environment_cannot_play_stays_the_agents() -> None:
    """Also where the environment answers with arrays that it may write to again."""

    class Strict(Hall):
        def play(self, play: Play) -> Played:
            faults = dict.fromkeys(play.slots.tolist(), "a move against the rules")
            blank = Played.blank(self.spec, play, faults)
            return replace(blank, illegal=frozenset(faults))

    pool = pool_over(Strict())
    exchange(pool, starts=[0, 1])
    assert exchange(pool, steps=[1]).illegal == {1}


@pytest.mark.parametrize("fault", ["raises", "nan", "wrong shape", "no observation"])
def test_a_worlds_fault_is_its_own_slots_and_as_in_a_local_pool(fault: str) -> None:
    said = []
    for pool in (
        pool_over(Worlds(Faulty(faults=[fault, ""]))),
        local(Faulty(faults=[fault, ""]), 2),
    ):
        cells = {0: cell(variant=0), 1: cell(variant=1)}
        pool.send(Play(np.zeros(0, np.uint32), {}, cells))
        pool.receive()
        for _ in range(2):
            faults = exchange(pool, steps=[0, 1]).faults
        assert {*faults} == {0}
        said.append(faults[0].splitlines()[-1])
        pool.close()
    assert said[0] == said[1]
