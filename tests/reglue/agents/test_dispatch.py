"""The routine that answers each call, and the fate of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reglue import Agent, EndKind, Ends, Phase, Starts, Steps, TaskSpec, TensorSpec, Turn
from reglue.agents.agent import play
from reglue.errors import NotAnAgent
from reglue.messages.agent_messages import (
    Actions,
    Adapt,
    AdaptBegin,
    AgentInit,
    Call,
    Cleanup,
    Farewell,
    Freeze,
    Refusal,
    RoutineDone,
    TextMessage,
)
from reglue.spec import Arrays, Discrete, MultiBinary
from tests.error_facts import raises

SEEN, ACTION = TensorSpec("seen", "float64"), TensorSpec("action", "float32")


class Log(Agent):
    """Writes down what it is asked, and answers with `answer`."""

    def __init__(self, answer: Any = (0,)) -> None:
        self.answer = answer
        self.log: list[Any] = []

    def agent_init(self, spec: TaskSpec) -> None:
        self.log.append("init")

    def agent_start(self, observations: Arrays, starts: Starts) -> Any:
        self.log.append(("start", starts.slots.tolist(), observations["seen"].tolist()))
        return self.answer

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Any:
        self.log.append(
            ("step", steps.slots.tolist(), observations["seen"].tolist(), rewards.tolist())
        )
        return self.answer

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        self.log.append(
            ("end", ends.slots.tolist(), observations["seen"].tolist(), rewards.tolist())
        )

    def agent_freeze(self) -> None:
        self.log.append("freeze")

    def agent_message(self, message: str) -> str:
        return message[::-1]

    def agent_cleanup(self) -> None:
        self.log.append("cleanup")

    def adapt_begin(self) -> None:
        self.log.append("adapt_begin")

    def adapt(self) -> None:
        self.log.append("adapt")


def turn(*, ends: int = 0, steps: int = 0, starts: int = 0, phase: Phase = Phase.TRAIN) -> Turn:
    """Slots count up over ends, steps and starts; row i sees i and earned i / 2."""
    slots = np.arange(ends + steps + starts, dtype=np.uint32)
    return Turn(
        phase,
        Ends(slots[:ends], np.full(ends, EndKind.TRUNCATED, np.uint8)),
        Steps(slots[ends : ends + steps], np.zeros(steps, np.uint8)),
        Starts(slots[ends + steps :], np.zeros(starts, np.uint64)),
        np.arange(ends + steps) / 2,
        {"seen": np.arange(len(slots), dtype=np.float64)},
    )


def replied(agent: Agent, turn: Turn, *actions: TensorSpec) -> Actions:
    """The SDK's reply, made of an agent's answer to its first turn."""
    play(agent, AgentInit(TaskSpec((SEEN,), actions or (ACTION,))))
    reply = play(agent, turn)
    assert isinstance(reply, Actions)
    return reply


def answered(answer: Any, *actions: TensorSpec, rows: int = 1) -> Mapping[str, npt.NDArray[Any]]:
    """The same of an answer to `rows` starts."""
    return replied(Log(answer), turn(starts=rows), *actions).arrays


# Turns.


def test_a_turn_calls_end_then_step_then_start_with_their_own_rows() -> None:
    replied(agent := Log([0]), turn(ends=1, steps=1, starts=1))
    assert agent.log[1:] == [
        ("end", [0], [0.0], [0.0]),
        ("step", [1], [1.0], [0.5]),
        ("start", [2], [2.0]),
    ]


def test_routines_without_rows_are_not_called() -> None:
    replied(agent := Log([0]), turn(steps=1))
    assert [entry[0] for entry in agent.log[1:]] == ["step"]


def test_the_actions_of_steps_come_before_those_of_starts() -> None:
    class Two(Log):
        def agent_step(self, *_: Any) -> Any:
            return [1, 2]

        def agent_start(self, *_: Any) -> Any:
            return [3]

    assert replied(Two(), turn(steps=2, starts=1)).arrays["action"].tolist() == [1, 2, 3]


def test_steps_and_starts_are_joined_tensor_by_tensor() -> None:
    actions = (TensorSpec("arm", "float32", (1,)), TensorSpec("grip", "bool", (), MultiBinary()))
    agent = Log({"arm": [[0.5]], "grip": [True]})
    reply = replied(agent, turn(steps=1, starts=1), *actions)
    assert reply.arrays["arm"].tolist() == [[0.5], [0.5]]
    assert reply.arrays["grip"].tolist() == [True, True]


def test_a_dict_from_one_routine_alone_is_refused() -> None:
    class HalfNamed(Log):
        def agent_start(self, *_: Any) -> Any:
            return {"action": [3]}

    with raises(NotAnAgent, "dict"):
        replied(HalfNamed([0]), turn(steps=1, starts=1))


def test_ends_alone_are_answered_by_no_rows() -> None:
    assert replied(Log([0]), turn(ends=2), PAIR).arrays["action"].size == 0


def test_the_phase_is_set_before_the_turn_is_played() -> None:
    class Phased(Log):
        def agent_start(self, *_: Any) -> Any:
            self.log.append(self.phase)
            return [0]

    replied(agent := Phased(), turn(starts=1, phase=Phase.ADAPT))
    assert agent.log[-1] is Phase.ADAPT


# Casts.


@pytest.mark.parametrize(
    ("given", "tensor", "cast"),
    [
        (np.array([0.1]), ACTION, [np.float32(0.1)]),
        (np.array([1.5], ">f4"), ACTION, [1.5]),
        ([1e300], ACTION, [np.inf]),  # for the glue to refuse
        ([2, 0], TensorSpec("action", "uint8", (), Discrete(3)), [2, 0]),
        ([2.0], TensorSpec("action", "int64", (), Discrete(3)), [2]),
    ],
)
def test_numbers_are_cast_to_the_specs(given: Any, tensor: TensorSpec, cast: list[float]) -> None:
    array = answered(given, tensor, rows=len(given))["action"]
    assert (str(array.dtype), array.tolist()) == (tensor.dtype, cast)


@pytest.mark.parametrize("value", [1.5, float("nan"), 256, -1])
def test_a_number_that_an_int_tensor_cannot_hold_is_refused(value: float) -> None:
    with raises(NotAnAgent, "'action'", "uint8"):
        answered([value], TensorSpec("action", "uint8", (), Discrete(3)))


def test_a_masked_number_is_no_action() -> None:
    given = np.ma.masked_array([0.5, 0.5], mask=[False, True])
    with raises(NotAnAgent, "'action'", got="masked elements"):
        answered(given, ACTION, rows=2)
    unmasked = np.ma.masked_array([0.5, 0.5], mask=False)
    assert answered(unmasked, ACTION, rows=2)["action"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_agent_may_write_to_its_array_again(dtype: str) -> None:
    given = np.array([1.5], dtype)
    array = answered(given, ACTION)["action"]
    given[:] = 0.0
    assert array.tolist() == [1.5]


# Shapes.

PAIR = TensorSpec("action", "float32", (2,))


@pytest.mark.parametrize(
    ("tensor", "rows", "shape"),
    [
        (PAIR, 4, (2, 4)),  # transposed: as many bytes, other numbers
        (PAIR, 2, (4,)),
        (PAIR, 3, (2, 2)),
        (PAIR, 3, (1, 2)),
        (PAIR, 2, (2,)),
        (PAIR, 2, ()),
        (PAIR, 1, (0,)),
        (TensorSpec("action", "float32", (2, 3)), 2, (2, 3, 2)),
        (ACTION, 2, (2, 2)),
    ],
    ids=str,
)
def test_actions_of_another_shape_are_refused(
    tensor: TensorSpec, rows: int, shape: tuple[int, ...]
) -> None:
    with raises(NotAnAgent, "'action'", shape, (rows, *tensor.shape)):
        answered(np.zeros(shape, np.float32), tensor, rows=rows)


@pytest.mark.parametrize(
    ("tensor", "rows", "shape"),
    [
        (PAIR, 1, (2,)),
        (ACTION, 1, ()),
        (ACTION, 3, (3, 1)),
        (TensorSpec("action", "float32", (1,)), 3, (3,)),
        (TensorSpec("action", "float32", (2, 1)), 3, (3, 2)),
        (PAIR, 0, (0,)),
    ],
    ids=str,
)
def test_axes_of_length_one_may_be_missing_or_too_many(
    tensor: TensorSpec, rows: int, shape: tuple[int, ...]
) -> None:
    """They change the order of no number."""
    given = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    arrays = answered(given, tensor, rows=rows)
    assert arrays["action"].shape == (rows, *tensor.shape)
    assert arrays["action"].tobytes() == given.tobytes()


def test_rows_of_different_lengths_are_refused() -> None:
    with raises(NotAnAgent, "'action'"):
        answered([[1.0, 2.0], [3.0]], PAIR, rows=2)


def test_steps_and_starts_of_different_shapes_are_refused() -> None:
    class Two(Log):
        def agent_step(self, *_: Any) -> Any:
            return [[1.0, 2.0]]

    with raises(NotAnAgent, (1, 2), (1,)):
        replied(Two([3.0]), turn(steps=1, starts=1), PAIR)


def test_no_rows_are_answered_by_none_of_the_specs_shape() -> None:
    assert answered({}, PAIR, rows=0)["action"].shape == (0, 2)


# What is seen.


def test_what_an_agent_sees_is_its_own_to_write_to() -> None:
    class Scribbling(Log):
        def agent_step(self, rewards: Any, observations: Arrays, steps: Steps) -> Any:
            rewards -= rewards.mean()
            observations["seen"][:] = 0.0
            return [0]

    agent = Scribbling()
    play(agent, AgentInit(TaskSpec((SEEN,), (ACTION,))))
    sent = turn(steps=1)
    sent.rewards[:] = sent.observations["seen"][:] = 5.0
    for array in (sent.rewards, sent.observations["seen"]):
        array.setflags(write=False)
    replied(Scribbling(), sent)
    assert (sent.rewards.tolist(), sent.observations["seen"].tolist()) == ([5.0], [5.0])


# Several tensors, and answers that are none.

ARM, GRIP = TensorSpec("arm", "float32", (2,)), TensorSpec("grip", "int8", (), Discrete(2))


def test_several_tensors_are_answered_by_name() -> None:
    arrays = answered({"grip": [1], "arm": [[0, 1]]}, ARM, GRIP)
    assert list(arrays) == ["arm", "grip"]
    assert arrays["arm"].tolist() == [[0, 1]]


@pytest.mark.parametrize("answer", [{"arm": [[0, 0]]}, {"arm": [[0, 0]], "grip": [0], "leg": [0]}])
def test_missing_and_unknown_tensors_are_named(answer: dict[str, Any]) -> None:
    with raises(NotAnAgent, [*answer], ["arm", "grip"]):
        answered(answer, ARM, GRIP)


def test_one_array_where_several_are_wanted_is_refused() -> None:
    with raises(NotAnAgent, "arm"):
        answered([[0, 0]], ARM, GRIP)


def test_an_agent_that_forgets_to_return_is_told() -> None:
    """NumPy would make a NaN of None."""
    with raises(NotAnAgent, None):
        answered(None, ACTION)


def test_slots_that_the_agent_gives_up_are_passed_on() -> None:
    class GivingUp(Log):
        def turn(self, turn: Turn) -> Actions:
            return Actions({"action": np.zeros(1)}, abandon=(0,))

    assert replied(GivingUp(), turn(starts=1)).abandon == (0,)


def test_slots_that_the_agent_holds_are_passed_on() -> None:
    class Waiting(Log):
        def turn(self, turn: Turn) -> Actions:
            return Actions({"action": np.zeros(1)}, held=(0,))

    assert replied(Waiting(), turn(starts=1)).held == (0,)


# Other calls.


@pytest.mark.parametrize(
    ("call", "routine"),
    [
        (Freeze(), "freeze"),
        (AdaptBegin(), "adapt_begin"),
        (Adapt(), "adapt"),
        (Cleanup(), "cleanup"),
    ],
)
def test_a_call_is_carried_out_by_its_routine(call: Call, routine: str) -> None:
    agent = Log()
    assert play(agent, call) == RoutineDone()
    assert agent.log == [routine]


def test_init_sets_the_spec_first() -> None:
    class Reading(Log):
        def agent_init(self, spec: TaskSpec) -> None:
            self.log.append(self.spec is spec)

    agent = Reading()
    play(agent, AgentInit(TaskSpec((SEEN,), (SEEN,))))
    assert agent.log == [True]


def test_a_message_is_answered_by_a_message() -> None:
    assert play(Log(), TextMessage("abc")) == TextMessage("cba")


@pytest.mark.parametrize("call", [Refusal(1, "WRONG_SIZE", "a", "b"), Farewell("bye")])
def test_a_refusal_and_a_farewell_are_not_answered(call: Call) -> None:
    assert play(Log(), call) is None
