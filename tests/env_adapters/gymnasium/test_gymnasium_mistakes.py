"""Results of an environment of Gymnasium's are checked: a mistake is a fault of its episode."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters import Cell
from env_adapters.gymnasium.gymnasium_suite import suite_of
from glue_server import LocalEnvironmentPort
from reglue.environments.slot_worlds import Worlds
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Play, Played
from tests.glue_server.playing import calls_of

UNIT = spaces.Box(0, 10, (2,), np.float32)


class Saying(gymnasium.Env[Any, Any]):
    """Says in each step what it was made with, and ends after its third."""

    action_space = spaces.Discrete(2)

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.observation_space: Any = answer.get("space", UNIT)
        self._answer = answer
        self._steps = 0

    def reset(self, **_given: Any) -> Any:
        self._steps = 0
        seen = self._answer.get("first", self._answer.get("observation", np.ones(2, np.float32)))
        return self._answer.get("reset", (seen, {}))

    def step(self, action: Any) -> Any:
        self._steps += 1
        is_over = self._steps == 3
        said = {
            "reward": 1.0,
            "terminated": is_over,
            "truncated": False,
            "info": {},
            **self._answer,
        }
        seen = said.get("observation", np.ones(2, np.float32))
        parts = (seen, *(said[each] for each in ("reward", "terminated", "truncated", "info")))
        return said.get("step", parts)


def played(answer: Mapping[str, Any], phase: Phase = Phase.TRAIN) -> list[Played]:
    """Its start and its steps, until it ends or fails."""
    suite = suite_of(Saying, {"answer": answer})
    assert suite is not None
    pool = calls_of(LocalEnvironmentPort(Worlds(suite), "ours"), 1)
    slot, none = np.zeros(1, np.uint32), np.zeros(0, np.uint32)
    pool.send(Play(none, {}, {0: Cell("Saying", 0, 1, 0, phase)}))
    answers = [pool.receive()]
    while not (answers[-1].faults or (answers[-1].terminated | answers[-1].truncated).any()):
        pool.send(Play(slot, {"action": np.zeros(1, np.int64)}, {}))
        answers.append(pool.receive())
    return answers


def fault_of(answer: Mapping[str, Any]) -> str:
    said = played(answer)[-1].faults[0]
    assert "Traceback" not in said
    return said


SUCCESSES = [True, 1, 1.0, np.True_, np.array(1.0), np.array([True])]
FAILURES = [False, 0, 0.0, np.False_, np.array([0]), None]


@pytest.mark.parametrize("name", ["success", "is_success"])
@pytest.mark.parametrize("flag", [*SUCCESSES, *FAILURES], ids=repr)
def test_a_success_is_true_or_one(name: str, flag: Any) -> None:
    answers = played({"info": {name: flag}}, Phase.EVALUATE)
    is_success = any(flag is each for each in SUCCESSES)
    assert answers[1].success.tolist() == [is_success]
    assert len(answers) - 1 == (1 if is_success else 3)


@pytest.mark.parametrize("name", ["success", "is_success"])
@pytest.mark.parametrize(
    "flag", [np.nan, "False", -1, 0.2, [], np.array([]), np.ones(2), {}], ids=repr
)
def test_anything_else_is_a_fault_that_names_the_key(name: str, flag: Any) -> None:
    assert fault_of({"info": {name: flag}}).startswith(f"info['{name}']: got ")


def test_flags_that_contradict_each_other_are_a_fault() -> None:
    said = fault_of({"info": {"success": True, "is_success": np.False_}})
    assert said.startswith("info: got {'is_success': False, 'success': True}, wanted ")


@pytest.mark.parametrize("other", [1.0, None])
def test_two_flags_may_agree_and_one_may_be_unknown(other: Any) -> None:
    assert played({"info": {"success": True, "is_success": other}})[1].success.tolist() == [True]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ({"info": None}, "step()'s info: got None, wanted a dict"),
        ({"reset": (np.ones(2, np.float32), None)}, "reset()'s info: got None, wanted a dict"),
        ({"reset": np.ones(2, np.float32)}, "reset() returned array("),
        ({"step": (np.ones(2, np.float32), 1.0, False, {})}, "step() returned (array("),
        ({"reward": np.array([1.0, 2.0])}, "reward: got an array of shape (2,), wanted one number"),
        ({"reward": "1.5"}, "reward: got '1.5', wanted one number"),
        ({"reward": np.inf}, "reward: got inf, wanted a finite number"),
        ({"terminated": np.nan}, "terminated: got nan, wanted True or False"),
        ({"truncated": "no"}, "truncated: got 'no', wanted True or False"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(answer: Mapping[str, Any], what: str) -> None:
    assert fault_of(answer).startswith(what)


def test_an_array_of_one_number_is_a_reward() -> None:
    assert played({"reward": np.array([2.5])})[1].rewards.tolist() == [2.5]


def bytes_of(*shape: int) -> spaces.Box:
    return spaces.Box(0, 10, shape, np.uint8)


MISFITS: list[tuple[Any, Any, str]] = [
    (bytes_of(2), np.array([-1, 3]), "wanted numbers that are the same in uint8"),
    (bytes_of(2), np.array([300, 3]), "the same in uint8"),
    (bytes_of(9, 9), np.full((9, 9), -1), "got [[-1 -1 -1 -1 -1 -1 -1 -1 -1] [-1"),
    (bytes_of(2), np.array([0.25, 0.75]), "the same in uint8"),
    (bytes_of(2), ["3", "4"], "the same in uint8"),
    (spaces.Box(-5, 5, (2,), np.int32), np.array([1.0, np.nan]), "the same in int32"),
    (spaces.Discrete(5), 2.7, "the same in int64"),
    (spaces.Discrete(5), 9, "got 9, wanted 0 to 4"),
    (spaces.Discrete(5, start=2), 1, "got 1, wanted 2 to 6"),
    (spaces.MultiDiscrete([2, 3]), [1, 3], "[1]: got 3, wanted 0 to 2"),
    (spaces.MultiDiscrete([2, 3], start=[1, 4]), [3, 4], "[0]: got 2, wanted 0 to 1"),
    (spaces.MultiBinary(2), np.array([7, 0]), "[0]: got 7, wanted 0 to 1"),
    (spaces.MultiBinary(2), np.array([1, -1]), "[1]: got -1, wanted 0 to 1"),
    (UNIT, np.ones(3, np.float32), "got shape (3,), wanted (2,)"),
    (UNIT, None, "of dtype object"),
    (spaces.Text(4, charset="ab"), "abc", "got 'abc', wanted one of Text("),
    (spaces.Text(4, charset="ab"), "ababa", "got 'ababa', wanted one of Text("),
    (spaces.Text(4, charset="ab"), np.zeros(4, np.float32), "wanted one of Text("),
    (spaces.Dict(a=spaces.Discrete(2)), {"b": 1}, "observation 'a': got {'b': 1}, wanted one of"),
    (spaces.Tuple((spaces.Discrete(2),)), 1, "observation '0': got 1, wanted one of"),
]


@pytest.mark.parametrize(("space", "observation", "what"), MISFITS, ids=str)
def test_an_observation_that_its_space_does_not_hold_is_a_fault(
    space: Any, observation: Any, what: str
) -> None:
    said = fault_of({"space": space, "observation": observation})
    assert said.startswith("observation '")
    assert what in said


def test_it_is_a_fault_of_a_later_step_too() -> None:
    answers = played({"space": spaces.Discrete(5), "first": 4, "observation": 5})
    assert [bool(each.faults) for each in answers] == [False, True]


@pytest.mark.parametrize(
    ("space", "observation", "seen"),
    [
        (bytes_of(2), np.array([3.0, 10.0]), [3, 10]),
        (bytes_of(2), [np.int64(3), True], [3, 1]),
        (UNIT, [0, 10], [0, 10]),
        (UNIT, np.array([99.0, np.nan]), [99, np.nan]),
        (spaces.Discrete(5, dtype=np.int8), np.int64(4), 4),
        (spaces.MultiDiscrete([2, 3], start=[1, 4]), np.array([2, 4]), [1, 0]),
        (spaces.Text(3), "ab", [97, 98, 0]),
    ],
    ids=str,
)
def test_an_observation_that_can_be_the_same_in_its_space_is_played(
    space: Any, observation: Any, seen: Any
) -> None:
    answers = played({"space": space, "observation": observation})
    assert len(answers) == 4
    for answer in answers:
        np.testing.assert_array_equal(answer.observations["observation"], [seen])


def test_numbers_outside_a_box_are_said_once_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "reglue"):
        played({"observation": np.array([1, 99], np.float32)})
    assert len(caplog.records) == 1
    assert "observation 'observation'[1]: got 99.0, wanted 0.0 to 10.0" in caplog.messages[0]


def test_an_observation_is_a_copy() -> None:
    own = np.ones(2, np.float32)
    suite = suite_of(Saying, {"answer": {"observation": own}})
    assert suite is not None
    first = suite.world().start(Cell("Saying", 0, 1, 0, Phase.TRAIN))
    own[:] = 5
    assert first["observation"].tolist() == [1, 1]
