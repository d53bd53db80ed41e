"""Messages between a benchmark program and the glue survive their journey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import (
    AgentFault,
    AgentTimeout,
    BadAgentReply,
    BadReply,
    EnvironmentFault,
    NotSupported,
    OutOfDomain,
    OutOfOrder,
    ReglueError,
    RoutineRefused,
    UnknownKey,
)
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Freeze,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment_messages import (
    Acted,
    Answer,
    Counts,
    EnvMessage,
    EpisodePlayed,
    ExperimentCall,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
    SnapshotKey,
    Started,
    Stepped,
    Tasks,
)
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.wire.experiment_encoding import (
    decode_answer,
    decode_experiment_call,
    encode_answer,
    encode_experiment_call,
    encode_failure,
)
from tests.error_facts import raises
from tests.reglue.wire.bits import bits
from tests.reglue.wire.wire_strategies import WORDS, arrays_of, task_specs

SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("done", "int8"),), slots=3)
UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)
GOALS = st.none() | st.builds(Goal, WORDS, UINT32)
SLOTS = st.lists(UINT32, max_size=4).map(tuple)
CALLS: st.SearchStrategy[ExperimentCall] = st.one_of(
    st.builds(RLInit, st.integers(1, 2**32 - 1), UINT64, WORDS, UINT32),
    st.builds(RLStart, SLOTS, GOALS),
    st.builds(RLStep, SLOTS),
    st.builds(RLEpisode, UINT64, SLOTS, GOALS),
    st.builds(RLIterateGoal, SLOTS),
    st.builds(RLCounts, UINT32),
    st.sampled_from([Cleanup(), Freeze(), AdaptBegin(), Adapt(), RLTasks()]),
    st.builds(StandardizeRandomness, UINT64),
    st.builds(GetState, UINT32),
    st.builds(RLSetState, UINT32, WORDS),
    st.builds(GetRandomSeed, UINT32),
    st.builds(RLSetRandomSeed, UINT32, WORDS),
    st.builds(TextMessage, WORDS),
    st.builds(EnvMessage, WORDS),
    st.builds(RLEnvStart, SLOTS, GOALS),
)
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    task_specs(),
    st.builds(Counts, st.floats(allow_nan=False), UINT64, UINT64, st.booleans()),
    st.builds(Tasks, st.dictionaries(WORDS, UINT32, max_size=4)),
    st.builds(SnapshotKey, WORDS.filter(bool)),
    st.builds(TextMessage, WORDS),
    st.just(RoutineDone()),
)
CALL_OF: Mapping[type, ExperimentCall] = {
    TaskSpec: RLInit(1, 0),
    Counts: RLCounts(0),
    Tasks: RLTasks(),
    SnapshotKey: GetState(0),
    TextMessage: EnvMessage(""),
}
"""The call that each answers; Cleanup, where none is named."""


def travelled(call: ExperimentCall, spec: TaskSpec | None) -> ExperimentCall:
    sent = encode_experiment_call(7, call, spec).SerializeToString()
    message = pb.ExperimentCall.FromString(sent)
    assert message.seq == 7
    return decode_experiment_call(message, spec)


def answered(answer: Answer, call: ExperimentCall, spec: TaskSpec | None) -> Answer:
    sent = encode_answer(7, answer, spec).SerializeToString()
    message = pb.ExperimentReply.FromString(sent)
    assert message.seq == 7
    return decode_answer(message, call, spec)


@given(CALLS)
def test_a_call_is_the_same_after_its_journey(call: ExperimentCall) -> None:
    assert travelled(call, None) == call


@given(ANSWERS)
def test_an_answer_is_the_same_after_its_journey(answer: Answer) -> None:
    call = CALL_OF.get(type(answer), Cleanup())
    assert answered(answer, call, None) == answer


@given(st.data(), task_specs())
def test_half_steps_are_the_same_after_their_journey(data: st.DataObject, spec: TaskSpec) -> None:
    slots = data.draw(st.lists(UINT32, min_size=1, max_size=spec.slots).map(tuple))
    seen = data.draw(arrays_of(spec.observations, len(slots)))
    rewards = np.array(data.draw(st.tuples(*[st.floats()] * len(slots))), np.float64)
    calls: list[ExperimentCall] = [
        RLEnvStep(slots, data.draw(arrays_of(spec.actions, len(slots)))),
        RLAgentStart(slots, seen),
        RLAgentStep(slots, rewards, seen),
        RLAgentEnd(slots, rewards, seen, data.draw(st.booleans())),
    ]
    for call in calls:
        assert bits(travelled(call, spec)) == bits(call)


@given(st.data(), task_specs())
def test_rows_are_the_same_after_their_journey(data: st.DataObject, spec: TaskSpec) -> None:
    slots = data.draw(st.lists(UINT32, max_size=spec.slots).map(tuple))
    rows = len(slots)
    seen, chosen = (
        data.draw(arrays_of(spec.observations, rows)),
        data.draw(arrays_of(spec.actions, rows)),
    )
    one, two, three = [
        np.array(data.draw(st.tuples(*[st.booleans()] * rows)), np.bool_) for _ in range(3)
    ]
    rewards = np.array(data.draw(st.tuples(*[st.floats()] * rows)), np.float64)
    answers: list[tuple[Answer, ExperimentCall]] = [
        (Started(slots, seen, chosen), RLStart()),
        (Started(slots, seen, {}), RLEnvStart()),
        (Stepped(slots, rewards, seen, one, two, three, chosen), RLStep()),
        (Stepped(slots, rewards, seen, one, two, three, {}), RLEnvStep(slots, {})),
        (EpisodePlayed(slots, one, two, three), RLEpisode(0)),
        (Acted(slots, chosen), RLAgentStart(slots, {})),
    ]
    for answer, call in answers:
        assert bits(answered(answer, call, spec)) == bits(answer)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (OutOfOrder(got="RL_step", wanted="RL_start first"), OutOfOrder),
        (UnknownKey(got="a key", wanted="another"), UnknownKey),
        (NotSupported(got="env_get_state", wanted="one that can"), NotSupported),
        (OutOfDomain(got="slot 9", wanted="0"), OutOfDomain),
        (RoutineRefused(got="3 bytes", wanted="4"), RoutineRefused),
        (AgentFault("it broke"), AgentFault),
        (AgentTimeout("too slow"), AgentFault),
        (BadAgentReply("NOT_FINITE", got="nan", wanted="a number"), AgentFault),
        (EnvironmentFault("the floor gave way"), EnvironmentFault),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_what_a_routine_raises_is_raised_at_the_other_end(
    raised: ReglueError, kind: type[ReglueError]
) -> None:
    message = encode_failure(7, raised)
    with pytest.raises(kind) as error:
        decode_answer(message, Cleanup(), SPEC)
    assert type(error.value) is kind
    assert str(error.value) == str(raised)


STEP = RLAgentStep((0, 2), np.zeros(2), {"seen": np.zeros((2, 2), np.float32)})


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (
            lambda call: setattr(call.agent_step, "rewards", bytes(8)),
            "8 bytes of 'rewards', 1 rows",
        ),
        (lambda call: call.agent_step.observations.pop(), "0 tensors"),
        (lambda call: call.agent_step.slots.pop(), "16 bytes of 'rewards', 2 rows"),
        (lambda call: call.agent_step.ClearField("slots"), "agent_step of no slots"),
        (lambda call: call.ClearField("agent_step"), "an unknown call"),
    ],
)
def test_a_half_step_that_does_not_fit_is_refused(change: Any, got: str) -> None:
    message = encode_experiment_call(1, STEP, SPEC)
    change(message)
    with raises(BadReply, got=got):
        decode_experiment_call(message, SPEC)


def test_a_half_step_before_init_is_out_of_order() -> None:
    with raises(BadReply, "RL_init", code="OUT_OF_ORDER"):
        decode_experiment_call(encode_experiment_call(1, STEP, SPEC), None)


def test_arrays_of_other_names_are_not_sent() -> None:
    """The glue then says how many tensors it wanted."""
    wrong = RLEnvStep((0,), {"gone": np.zeros(1)})
    with raises(BadReply, got="0 tensors"):
        travelled(wrong, SPEC)


def test_the_answer_to_another_routine_is_refused() -> None:
    with raises(BadReply, got="RoutineDone", wanted="Started"):
        answered(RoutineDone(), RLStart(), SPEC)


def test_a_refusal_keeps_its_code() -> None:
    """Also one that has no error of its own."""
    raised = RoutineRefused(got="nan", wanted="a number")
    raised.code = "NOT_FINITE"
    with pytest.raises(RoutineRefused) as error:
        decode_answer(encode_failure(7, raised), Cleanup(), SPEC)
    assert error.value.code == "NOT_FINITE"


def test_an_unknown_reply_is_refused() -> None:
    with raises(BadReply, got="an unknown reply"):
        decode_answer(pb.ExperimentReply(seq=1), Cleanup(), SPEC)
