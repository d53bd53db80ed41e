"""Answers of environments are never trusted: each mistake is named, and is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, Step
from glue_server import EnvironmentCalls, LocalEnvironmentPort
from reglue import TaskSpec, TensorSpec
from reglue.environments.environment import Earned, Environment
from reglue.environments.slot_worlds import Worlds
from reglue.errors import BadReply, EnvironmentFault, NotSupported, OutOfDomain, OutOfOrder
from reglue.messages.agent_messages import Cleanup, Refusal, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    GetState,
    Play,
    Played,
    Snapshot,
)
from reglue.spec import Array, Arrays
from tests.error_facts import assert_named, raises
from tests.glue_server.environment.halls import SPEC, Hall, ask, exchange, pool_over


class Liar(Hall):
    """Answers a step with what `lie` makes of a good answer."""

    def __init__(self, lie: Callable[[Played], Any]) -> None:
        super().__init__()
        self._lie = lie

    def play(self, play: Play) -> Played:
        good = super().play(play)
        answer: Played = self._lie(good) if len(play.slots) else good
        return answer


LIES: Mapping[str, tuple[Callable[[Played], Any], list[str]]] = {
    "nothing": (lambda good: None, ["nothing"]),
    "RoutineDone": (lambda good: RoutineDone(), ["RoutineDone", "Played"]),
    "a row too few": (
        lambda good: replace(good, observations={"observation": np.zeros((1, 2))}),
        ["'observation' of shape (1, 2), float64", "(2, 2), float64"],
    ),
    "another dtype": (
        lambda good: replace(good, observations={"observation": np.zeros((2, 2), np.float32)}),
        ["'observation' of shape (2, 2), float32"],
    ),
    "no arrays": (
        lambda good: replace(good, observations={"observation": [[0, 0]] * 2}),  # type: ignore[dict-item]
        ["observation", "an array"],
    ),
    "another name": (
        lambda good: replace(good, observations={"sight": np.zeros((2, 2))}),
        ["observation = None"],
    ),
    "a reward too many": (
        lambda good: replace(good, rewards=np.zeros(3)),
        ["'rewards' of shape (3,)"],
    ),
    "flags that are numbers": (
        lambda good: replace(good, terminated=np.zeros(2)),  # type: ignore[arg-type]
        ["'terminated' of shape (2,), float64", "(2,), bool"],
    ),
    "a reward that is none": (
        lambda good: replace(good, rewards=np.array([0.0, np.nan])),
        ["reward nan", "slot 1"],
    ),
    "faults of others": (
        lambda good: replace(good, faults={2: "him"}),
        ["faults", "slots [2]"],
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_does_not_fit_is_the_fault_of_every_slot_asked(lie: str) -> None:
    make, named = LIES[lie]
    pool = pool_over(Liar(make), slots=3)
    exchange(pool, starts=[0, 1, 2])
    faults = exchange(pool, steps=[0, 1]).faults
    assert {*faults} == {0, 1}
    for what in faults.values():
        assert_named(named, what)


def test_an_answer_that_cannot_be_looked_at_is_a_fault() -> None:
    lie = Liar(lambda good: replace(good, observations=None))  # type: ignore[arg-type]
    pool = pool_over(lie, slots=1)
    exchange(pool, starts=[0])
    with raises(EnvironmentFault, "AttributeError"):
        exchange(pool, steps=[0])


def test_rows_of_a_slot_that_failed_may_hold_anything() -> None:
    pool = pool_over(
        Liar(lambda good: replace(good, rewards=np.array([0.0, np.inf]), faults={1: "fell"}))
    )
    exchange(pool, starts=[0, 1])
    assert dict(exchange(pool, steps=[0, 1]).faults) == {1: "fell"}


@pytest.mark.parametrize(
    "promise", [None, "VERSION RL-Glue-3.0"], ids=["none", "a task spec string"]
)
def test_a_promise_that_is_no_spec_is_a_fault(promise: Any) -> None:
    hall = Hall()
    hall.env_init = lambda slots: promise  # type: ignore[method-assign]
    with raises(EnvironmentFault, "spec", repr(promise), "reglue.TaskSpec"):
        pool_over(hall)


class Promising:
    """A port whose environment promises `ready`, and hears what was refused."""

    hello = LocalEnvironmentPort(Hall(), "hall").hello
    renews = False
    blank = ()
    is_away = False
    where = "nowhere"

    def __init__(self, reply: EnvironmentReply | BadReply) -> None:
        self._reply = reply
        self.refusals: list[str] = []

    def send(self, call: EnvironmentCall) -> None:
        pass

    def filenos(self) -> Sequence[int]:
        return ()

    def is_ready(self) -> bool:
        return True

    def renew(self, slot: int) -> None:
        pass

    def receive(self, timeout_s: float) -> EnvironmentReply:
        if isinstance(self._reply, BadReply):
            raise self._reply
        return self._reply

    def refuse(self, refused: BadReply) -> None:
        self.refusals.append(refused.code)

    def close(self, reason: str) -> None:
        pass


@pytest.mark.parametrize(
    ("ready", "named"),
    [
        (EnvironmentReady(SPEC.with_slots(3), {"walk": 1}), ["3 slots", 2]),
        (EnvironmentReady(SPEC.with_slots(2), {}), ["tasks {}"]),
        (EnvironmentReady(SPEC.with_slots(2), {"walk": 0}), ["tasks {'walk': 0}"]),
        (RoutineDone(), ["RoutineDone", "EnvironmentReady"]),
    ],
)
def test_a_promise_that_cannot_be_played_is_a_fault(
    ready: EnvironmentReply, named: list[object]
) -> None:
    with raises(EnvironmentFault, *named):
        EnvironmentCalls(Promising(ready)).init(2)


def test_an_environment_is_told_why_its_answer_was_not_taken() -> None:
    port = Promising(BadReply("WRONG_SIZE", got="3 bytes", wanted="4"))
    with raises(EnvironmentFault, "3 bytes", 4):
        EnvironmentCalls(port).ask(TextMessage("hi"), TextMessage)
    assert port.refusals == ["WRONG_SIZE"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [("OUT_OF_DOMAIN", OutOfDomain), ("OUT_OF_ORDER", OutOfOrder), ("NOT_SUPPORTED", NotSupported)],
)
def test_a_refusal_is_raised_as_the_error_of_its_code(code: str, kind: type[Exception]) -> None:
    with raises(kind, code=code, got="this", wanted="that"):
        EnvironmentCalls(Promising(Refusal(0, code, "this", "that"))).ask(Cleanup(), RoutineDone)


def test_a_state_that_is_not_bytes_is_a_fault() -> None:
    class Pickler(Hall):
        def env_get_state(self, slot: int) -> Any:
            return {"slot": slot}

    environment = Pickler()
    port = LocalEnvironmentPort(environment, "pickler")
    EnvironmentCalls(port).ask(EnvironmentInit(1), EnvironmentReady)
    with raises(EnvironmentFault, "dict", "bytes"):
        EnvironmentCalls(port).ask(GetState(0), Snapshot)


def test_a_message_that_is_not_answered_is_answered_by_nothing() -> None:
    class Silent(Hall):
        def env_message(self, message: str) -> Any:
            return None

    assert ask(Silent(), TextMessage("hi"), TextMessage).text == ""


def test_a_message_that_is_answered_by_a_number_is_a_fault() -> None:
    class Counting(Hall):
        def env_message(self, message: str) -> Any:
            return 3

    with raises(EnvironmentFault, "int", "string"):
        ask(Counting(), TextMessage("hi"), TextMessage)


# What fits no TaskSpec is told in a sentence.

WHOLE = TaskSpec((TensorSpec("seen", "int8", (2,)),), SPEC.actions)
REAL = TaskSpec((TensorSpec("seen", "float32", (2,)),), SPEC.actions)
BENT: list[tuple[TaskSpec, Any, list[object]]] = [
    (WHOLE, [1.7, 0], ["int8"]),
    (WHOLE, [np.nan, 0], ["int8"]),
    (WHOLE, [300, 0], ["int8"]),
    (WHOLE, ["3", "4"], ["int8"]),
    (REAL, [None, 0], ["dtype object", "float32"]),
    (REAL, ["3", "4"], ["float32"]),
    (REAL, [[1], [1, 2]], ["float32"]),
    (REAL, [1.0], ["shape", 1, 2]),
]


class Showing:
    """A suite, its world and its step: whatever they are given."""

    variants: Mapping[str, int] = {"show": 1}
    standardizes = True

    def __init__(self, spec: Any, first: Any, then: Any = None) -> None:
        self.spec, self.first, self.then = spec, first, then

    def world(self) -> Any:
        return self

    def start(self, cell: Cell) -> Any:
        return self.first

    def step(self, action: Arrays) -> Any:
        return self.then

    def close(self) -> None:
        pass


class ShowingHall(Hall):
    def __init__(self, spec: TaskSpec, row: Any) -> None:
        super().__init__()
        self._spec, self._row = spec, row

    def env_init(self, slots: int) -> TaskSpec:
        return self._spec

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        return {"seen": [self._row] * len(cells)}


def fault_of(environment: Environment, *, steps: bool = False) -> str:
    """The words of its fault, at its start or at its first step."""
    pool = pool_over(environment, slots=1)
    answer = exchange(pool, starts=[0])
    if steps:
        answer = exchange(pool, steps=[0])
    return answer.faults[0]


@pytest.mark.parametrize(("spec", "row", "named"), BENT)
def test_an_observation_that_a_cast_would_bend_is_a_fault(
    spec: TaskSpec, row: Any, named: list[object]
) -> None:
    for environment in (Worlds(Showing(spec, {"seen": row})), ShowingHall(spec, row)):
        said = fault_of(environment)
        assert_named(["'seen'", *named], said)
        assert "Traceback" not in said


def test_whole_numbers_may_come_in_another_dtype() -> None:
    pool = pool_over(Worlds(Showing(WHOLE, {"seen": [1.0, True]})), slots=1)
    assert exchange(pool, starts=[0]).observations["seen"].tolist() == [[1, 1]]


GOOD = {"seen": [0, 0]}


@pytest.mark.parametrize(
    ("then", "named"),
    [
        (None, ["step()", None, "reglue.Step"]),
        ((GOOD, 1.0, False, False, {}), ["step()", "reglue.Step"]),
        (Step(1.0, [0, 0], False, False, False), [[0, 0]]),  # type: ignore[arg-type]
        (Step(1.0, {"sen": [0, 0]}, False, False, False), [["sen"], "'seen'"]),
        (Step("1", GOOD, False, False, False), ["reward", "'1'"]),  # type: ignore[arg-type]
        (Step(None, GOOD, False, False, False), ["reward", None]),  # type: ignore[arg-type]
    ],
)
def test_a_worlds_mistake_is_told_in_a_sentence(then: Any, named: list[object]) -> None:
    said = fault_of(Worlds(Showing(WHOLE, GOOD, then)), steps=True)
    assert_named(named, said)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("earned", "named"),
    [
        (None, ["env_step()", None, "reglue.Earned"]),
        (Earned("a", {"observation": [[0, 0]]}), ["env_step", "rewards", "a"]),
        (Earned([0, 0], {"observation": [[0, 0]]}), ["rewards", (2,), (1,)]),
        (Earned(0, {}), [[], "'observation'"]),
    ],
)
def test_an_environments_mistake_is_told_in_a_sentence(earned: Any, named: list[object]) -> None:
    class Mistaken(Hall):
        def env_step(self, actions: Arrays, slots: Array) -> Earned:
            taken: Earned = earned
            return taken

    said = fault_of(Mistaken(), steps=True)
    assert_named(named, said)
    assert "\n" not in said


def test_a_suite_without_a_spec_is_told_in_a_sentence() -> None:
    with raises(EnvironmentFault, "spec", None):
        pool_over(Worlds(Showing(None, GOOD)))
