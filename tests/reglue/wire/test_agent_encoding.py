"""Calls and replies as messages, and messages that are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import BadReply, SpecError
from reglue.messages.agent_messages import (
    Actions,
    Adapt,
    AdaptBegin,
    AgentInit,
    Budget,
    Call,
    Cleanup,
    EndKind,
    Ends,
    Farewell,
    Fault,
    Freeze,
    Numbered,
    Phase,
    Refusal,
    Reply,
    RoutineDone,
    Starts,
    Steps,
    TextMessage,
    Turn,
)
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.agent_encoding import decode_call, decode_reply, encode_call, encode_reply
from tests.error_facts import raises
from tests.reglue.wire.wire_strategies import TOLD, WORDS, arrays_of, task_specs, turns

SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("done", "int8"),), slots=3)
UINT64 = st.integers(0, 2**64 - 1)
BUDGETS = st.builds(Budget, *[st.none() | UINT64] * 4)
CODES = st.sampled_from(
    [name.removeprefix("REFUSAL_CODE_") for name, _ in session_pb2.RefusalCode.items()]
)
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(AgentInit, task_specs()),
    st.sampled_from([Freeze(), AdaptBegin(), Adapt(), Cleanup()]),
    st.builds(TextMessage, WORDS),
    st.builds(Refusal, UINT64, CODES, TOLD, TOLD),
    st.builds(Farewell, TOLD),
)
REPLIES: st.SearchStrategy[Reply] = st.one_of(
    st.just(RoutineDone()), st.builds(TextMessage, WORDS), st.builds(Fault, TOLD)
)


def turn(change: Callable[[pb.Turn], None] = lambda turn: None) -> pb.AgentCall:
    """A call whose turn has one end, one step and one start, changed by `change`."""
    numbered = Numbered(
        1,
        Turn(
            Phase.TRAIN,
            Ends(np.array([0], np.uint32), np.array([EndKind.VOID], np.uint8)),
            Steps(np.array([1], np.uint32), np.array([2], np.uint8)),
            Starts(np.array([2], np.uint32), np.array([2**64 - 1], np.uint64)),
            np.array([1.0, 2.0]),
            {"seen": np.zeros((3, 2), np.float32)},
        ),
    )
    call = encode_call(numbered, SPEC)
    change(call.turn)
    return call


@given(UINT64, CALLS, BUDGETS)
def test_a_call_is_the_same_after_its_journey(seq: int, call: Call, budget: Budget) -> None:
    numbered = Numbered(seq, call, budget)
    message = pb.AgentCall.FromString(encode_call(numbered, None).SerializeToString())
    assert decode_call(message, SPEC) == numbered


@given(st.data(), task_specs())
def test_a_turn_is_the_same_after_its_journey(data: st.DataObject, spec: TaskSpec) -> None:
    sent = data.draw(turns(spec))
    message = encode_call(Numbered(1, sent), spec).SerializeToString()
    got = decode_call(pb.AgentCall.FromString(message), spec).call
    assert isinstance(got, Turn)
    assert bits(got) == bits(replace(sent, rewards=shown(sent, spec)))


def shown(sent: Turn, spec: TaskSpec) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The rewards that an agent may see."""
    withheld = sent.phase is Phase.EVALUATE and not spec.rewards_in_evaluation
    return np.full(sent.rewards.shape, np.nan) if withheld else sent.rewards


def bits(sent: Turn) -> list[object]:
    """All that a turn holds, comparable to the bit."""
    parts = (sent.ends, sent.steps, sent.starts)
    arrays = [getattr(part, field.name) for part in parts for field in fields(part)]
    named = [*sent.observations.values()]
    return [
        sent.phase,
        [*sent.observations],
        [(a.dtype, a.shape, a.tobytes()) for a in [*arrays, sent.rewards, *named]],
    ]


@given(UINT64, REPLIES)
def test_a_reply_is_the_same_after_its_journey(seq: int, reply: Reply) -> None:
    message = pb.AgentReply.FromString(encode_reply(seq, reply, None).SerializeToString())
    assert message.seq == seq
    assert decode_reply(message, SPEC, 0) == reply


@given(st.data(), task_specs(), st.integers(0, 4))
def test_actions_are_the_same_after_their_journey(
    data: st.DataObject, spec: TaskSpec, rows: int
) -> None:
    arrays = data.draw(arrays_of(spec.actions, rows))
    slots = st.lists(st.integers(0, 2**32 - 1), max_size=rows).map(tuple)
    abandon, held = data.draw(slots), data.draw(slots)
    message = encode_reply(1, Actions(arrays, abandon, held), spec).SerializeToString()
    got = decode_reply(pb.AgentReply.FromString(message), spec, rows)
    assert isinstance(got, Actions)
    assert (got.abandon, got.held) == (abandon, held)
    assert {name: each.tobytes() for name, each in got.arrays.items()} == {
        name: each.tobytes() for name, each in arrays.items()
    }


def test_withheld_rewards_do_not_travel() -> None:
    withholding = replace(SPEC, rewards_in_evaluation=False)
    sent = decode_call(turn(), SPEC).call
    assert isinstance(sent, Turn)
    judged = Numbered(1, replace(sent, phase=Phase.EVALUATE))
    assert encode_call(judged, withholding).turn.rewards == b""


def test_a_long_fault_is_cut_to_what_the_contract_allows() -> None:
    assert len(encode_reply(1, Fault("x" * 10_000), None).fault.what) == 4096


# Malformed calls.


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: setattr(t, "phase", 0), "phase 0"),
        (lambda t: setattr(t, "phase", 9), "phase 9"),
        (lambda t: t.end_kinds.__setitem__(0, 7), "end kinds [7]"),
        (lambda t: t.end_kinds.__setitem__(0, 0), "end kinds [0]"),
        (lambda t: t.end_kinds.__setitem__(0, -1), "end kinds [-1]"),
        (lambda t: t.end_slots.__setitem__(0, 3), "slot 3"),
        (lambda t: t.step_slots.__setitem__(0, 2**32 - 1), "slot 4294967295"),
        (lambda t: t.start_slots.__setitem__(0, 3), "slot 3"),
        (lambda t: t.end_kinds.append(1), "2 entries"),
        (lambda t: t.step_flags.append(0), "2 entries"),
        (lambda t: t.start_seeds.pop(), "0 entries"),
        (lambda t: setattr(t, "rewards", bytes(15)), "15 bytes of 'rewards'"),
        (lambda t: setattr(t, "rewards", bytes(24)), "24 bytes of 'rewards', 3 rows"),
        (lambda t: setattr(t, "rewards", b""), "0 bytes of 'rewards', 0 rows"),
        (lambda t: t.observations.__setitem__(0, bytes(23)), "23 bytes of 'seen'"),
        (lambda t: t.observations.append(b""), "2 tensors"),
        (lambda t: t.observations.pop(), "0 tensors"),
    ],
)
def test_a_malformed_turn_is_refused(change: Callable[[pb.Turn], None], named: str) -> None:
    with raises(BadReply, named):
        decode_call(turn(change), SPEC)


def test_nobody_can_write_to_the_slots_of_a_turn_that_was_read() -> None:
    """Turns that name the same slots share them."""
    got = decode_call(turn(), SPEC).call
    assert isinstance(got, Turn)
    assert not any(array.flags.writeable for array in (got.steps.slots, got.steps.flags))


def test_rewards_that_the_spec_withholds_are_refused() -> None:
    withholding = replace(SPEC, rewards_in_evaluation=False)
    with pytest.raises(BadReply) as refusal:
        decode_call(turn(lambda t: setattr(t, "phase", 3)), withholding)
    error = refusal.value
    assert (error.code, error.got, error.wanted) == ("WRONG_SIZE", "16 bytes of 'rewards'", "0")


@pytest.mark.parametrize("name", ["turn", "freeze", "adapt_begin", "adapt", "cleanup"])
def test_a_routine_before_init_is_refused(name: str) -> None:
    call = pb.AgentCall()
    getattr(call, name).SetInParent()
    with pytest.raises(BadReply) as refusal:
        decode_call(call, None)
    error = refusal.value
    assert (error.code, error.got, error.wanted) == ("WRONG_KIND", f"{name} before init", "init")


def test_an_empty_call_is_refused() -> None:
    with pytest.raises(BadReply) as refusal:
        decode_call(pb.AgentCall(seq=1), SPEC)
    error = refusal.value
    assert (error.code, error.got, error.wanted) == (
        "WRONG_KIND",
        "an unknown call",
        "one of protocol 1.0",
    )


def test_an_init_with_a_bad_spec_is_refused() -> None:
    with pytest.raises(SpecError):
        decode_call(pb.AgentCall(init=pb.AgentInit()), None)


def test_a_refusal_of_a_later_version_keeps_its_words() -> None:
    refusal = session_pb2.Refusal(of_seq=4, code=99, got="a", wanted="b")  # type: ignore[arg-type]
    assert decode_call(pb.AgentCall(refusal=refusal), None).call == Refusal(
        4, "UNSPECIFIED", "a", "b"
    )


# Malformed replies.


@pytest.mark.parametrize("reply", [pb.AgentReply(seq=1), pb.AgentReply(hello=pb.AgentHello())])
def test_what_answers_no_call_is_refused(reply: pb.AgentReply) -> None:
    with pytest.raises(BadReply) as refusal:
        decode_reply(reply, SPEC, 1)
    assert refusal.value.code == "WRONG_KIND"


@given(st.lists(st.binary(max_size=8), max_size=3), st.integers(0, 3))
def test_actions_of_any_bytes_are_taken_if_they_fit_and_refused_if_not(
    entries: list[bytes], rows: int
) -> None:
    reply = pb.AgentReply(actions=pb.Actions(actions=entries))
    if [len(entry) for entry in entries] == [rows]:  # one int8 a row
        decode_reply(reply, SPEC, rows)
    else:
        with pytest.raises(BadReply) as refusal:
            decode_reply(reply, SPEC, rows)
        assert refusal.value.code == "WRONG_SIZE"


def test_flags_of_later_versions_are_ignored() -> None:
    message = turn(lambda t: t.step_flags.__setitem__(0, 2**20 + 2))
    got = decode_call(message, SPEC).call
    assert isinstance(got, Turn)
    assert got.steps.flags.tolist() == [2]
