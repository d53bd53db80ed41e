"""Messages of steps are read and written without protobuf, and are the same to the bit."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STARTS,
    Actions,
    Budget,
    Numbered,
    Phase,
    Steps,
    Turn,
)
from reglue.messages.environment_messages import Play, Played
from reglue.messages.experiment_messages import RLStep, Stepped
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from reglue.wire.agent_encoding import decode_call, decode_reply, encode_call, encode_reply
from reglue.wire.environment_encoding import (
    decode_environment_call,
    decode_environment_reply,
    encode_environment_call,
    encode_environment_reply,
)
from reglue.wire.experiment_encoding import decode_answer, encode_answer, encode_experiment_call
from reglue.wire.layout import Layout, Repeats, numbered
from reglue.wire.repeated_messages import (
    decode_repeated_actions,
    decode_repeated_play,
    decode_repeated_played,
    decode_repeated_stepped,
    decode_repeated_turn,
    encode_repeated_actions,
    encode_repeated_play,
    encode_repeated_played,
    encode_repeated_step,
    encode_repeated_stepped,
    encode_repeated_turn,
    is_repeated_step,
    see_actions,
    see_play,
    see_played,
    see_stepped,
    see_turn,
)
from tests.reglue.wire.bits import bits
from tests.reglue.wire.wire_strategies import arrays_of, task_specs

UINT64 = st.integers(1, 2**64 - 1)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
BUDGETS = st.builds(Budget, st.none() | st.integers(0, 2**40), st.none() | st.integers(0, 2**40))


def rewards(data: st.DataObject, rows: int) -> np.ndarray[Any, Any]:
    return np.array(data.draw(st.tuples(*[FLOAT] * rows)), np.float64)


def flags(data: st.DataObject, rows: int) -> np.ndarray[Any, Any]:
    return np.array(data.draw(st.tuples(*[st.booleans()] * rows)), np.bool_)


def has_bytes(spec: TaskSpec) -> bool:
    return all(tensor.row_bytes for tensor in (*spec.observations, *spec.actions))


def changed(data: st.DataObject, message: bytes) -> bytes:
    """Somewhere, by a byte more, less or other."""
    at = data.draw(st.integers(0, len(message) - 1))
    return message[:at] + data.draw(st.binary(max_size=2)) + message[at + 1 :]


@given(st.data(), task_specs())
def test_turns_that_come_again_are_what_protobuf_makes_of_them(
    data: st.DataObject, spec: TaskSpec
) -> None:
    rows, phase = data.draw(st.integers(1, spec.slots)), data.draw(st.sampled_from(Phase))
    steps = Steps(np.arange(rows, dtype=np.uint32), np.zeros(rows, np.uint8))
    budget, repeats = data.draw(BUDGETS), Repeats()
    for sent in range(4):
        seen = data.draw(arrays_of(spec.observations, rows))
        turn = Turn(phase, NO_ENDS, steps, NO_STARTS, rewards(data, rows), seen)
        seq = data.draw(UINT64)
        content = encode_call(Numbered(seq, turn, budget), spec).SerializeToString()
        message = agent_pb2.AgentCall.FromString(content)
        at = len(numbered(seq))
        again = decode_repeated_turn(seq, content, at, spec, repeats)
        parsed = decode_call(message, spec)
        assert (again is not None) == (
            sent > 1 and has_bytes(TaskSpec(spec.observations, spec.observations))
        )
        if again is not None:
            assert bits(again) == bits(parsed)
            assert isinstance(again.call, Turn)
            assert all(each.flags.writeable for each in again.call.observations.values())
        other = changed(data, content)
        if other.startswith(numbered(seq)):
            found = decode_repeated_turn(seq, other, at, spec, repeats)
            if found is not None:
                other_call = decode_call(agent_pb2.AgentCall.FromString(other), spec)
                assert bits(found) == bits(other_call)
        see_turn(parsed, message, spec, repeats)


@given(st.data(), task_specs())
def test_turns_are_written_as_protobuf_writes_them(data: st.DataObject, spec: TaskSpec) -> None:
    """Also those of groups of slots that take turns, with their flags, phases and budgets."""
    groups = data.draw(st.lists(st.integers(1, spec.slots), min_size=1, max_size=3))
    marks = st.lists(st.integers(0, 3), min_size=spec.slots, max_size=spec.slots)
    kinds = [(rows, data.draw(marks), data.draw(BUDGETS)) for rows in groups]
    phases, repeats, read = st.sampled_from([Phase.TRAIN, Phase.EVALUATE]), Repeats(), Repeats()
    for rows, flags_of, budget in 4 * kinds:
        steps = Steps(np.arange(rows, dtype=np.uint32), np.array(flags_of[:rows], np.uint8))
        seen, seq = data.draw(arrays_of(spec.observations, rows)), data.draw(UINT64)
        turn = Turn(data.draw(phases), NO_ENDS, steps, NO_STARTS, rewards(data, rows), seen)
        call = Numbered(seq, turn, budget)
        written = encode_repeated_turn(call, spec, repeats)
        assert written == encode_call(call, spec).SerializeToString()
        message = agent_pb2.AgentCall.FromString(written)
        again = decode_repeated_turn(seq, written, len(numbered(seq)), spec, read)
        parsed = decode_call(message, spec)
        if again is None:
            see_turn(parsed, message, spec, read)
        else:
            assert bits(again) == bits(parsed)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_groups_that_take_turns_have_a_layout_each(groups: int) -> None:
    spec = TaskSpec(
        (TensorSpec("seen", "float32", (2,)),), (TensorSpec("a", "uint8", (1,)),), slots=groups
    )
    written, read = Repeats(), Repeats()
    for sent in range(4 * groups):
        steps = Steps(np.array([sent % groups], np.uint32), np.zeros(1, np.uint8))
        seen = {"seen": np.full((1, 2), sent, np.float32)}
        turn = Turn(Phase.EVALUATE, NO_ENDS, steps, NO_STARTS, np.zeros(1), seen)
        content = encode_repeated_turn(Numbered(sent + 1, turn, Budget()), spec, written)
        call = decode_repeated_turn(sent + 1, content, len(numbered(sent + 1)), spec, read)
        assert (call is not None) == (sent >= 2 * groups)
        if call is None:
            message = agent_pb2.AgentCall.FromString(content)
            see_turn(decode_call(message, spec), message, spec, read)
        else:
            assert bits(call) == bits(Numbered(sent + 1, turn, Budget()))


@given(st.data(), task_specs())
def test_actions_are_written_and_read_as_by_protobuf(data: st.DataObject, spec: TaskSpec) -> None:
    repeats, read = Repeats(), Repeats()
    for rows in data.draw(st.lists(st.integers(1, 2), min_size=4, max_size=8)):
        reply, seq = Actions(data.draw(arrays_of(spec.actions, rows))), data.draw(UINT64)
        written = encode_repeated_actions(seq, reply, spec, repeats)
        assert written == encode_reply(seq, reply, spec).SerializeToString()
        message = agent_pb2.AgentReply.FromString(written)
        at = len(numbered(seq))
        again = decode_repeated_actions(written, at, rows, spec, read)
        if again is not None:
            assert bits(again) == bits(decode_reply(message, spec, rows))
        assert decode_repeated_actions(written, at, rows + 1, spec, read) is None
        see_actions(message, rows, spec, read)


@given(st.data(), task_specs())
def test_plays_that_come_again_are_what_protobuf_makes_of_them(
    data: st.DataObject, spec: TaskSpec
) -> None:
    rows, repeats, written = data.draw(st.integers(1, spec.slots)), Repeats(), Repeats()
    for sent in range(4):
        slots, seq = np.arange(rows, dtype=np.uint32), data.draw(UINT64)
        play = Play(slots, data.draw(arrays_of(spec.actions, rows)), {})
        content = encode_environment_call(seq, play, spec).SerializeToString()
        message = environment_pb2.EnvironmentCall.FromString(content)
        at = len(numbered(seq))
        again = decode_repeated_play(content, at, spec, repeats)
        parsed = decode_environment_call(message, spec)
        assert (again is not None) == (sent > 1 and all(each.row_bytes for each in spec.actions))
        if again is not None:
            assert bits(again) == bits(parsed)
        see_play(parsed, message, spec, repeats)
        assert encode_repeated_play(seq, play, spec, written) == content


@given(st.data(), task_specs())
def test_what_was_played_is_written_and_read_as_by_protobuf(
    data: st.DataObject, spec: TaskSpec
) -> None:
    repeats, read = Repeats(), Repeats()
    for rows in data.draw(st.lists(st.integers(1, spec.slots), min_size=4, max_size=8)):
        seen = data.draw(arrays_of(spec.observations, rows))
        one, two, three = [flags(data, rows) for _ in range(3)]
        reply, seq = Played(rewards(data, rows), seen, one, two, three), data.draw(UINT64)
        written = encode_repeated_played(seq, reply, spec, repeats)
        assert written == encode_environment_reply(seq, reply, spec).SerializeToString()
        play = Play(np.arange(rows, dtype=np.uint32), {}, {})
        message, at = environment_pb2.EnvironmentReply.FromString(written), len(numbered(seq))
        again = decode_repeated_played(written, at, play, spec, read)
        if again is not None:
            assert bits(again) == bits(decode_environment_reply(message, play, spec))
        see_played(message, play, spec, read)


def test_a_reward_that_is_not_finite_is_left_to_who_says_so() -> None:
    spec = TaskSpec((TensorSpec("seen", "uint8", (1,)),), (TensorSpec("a", "uint8", (1,)),))
    play, repeats = Play(np.zeros(1, np.uint32), {}, {}), Repeats()
    found = []
    for reward in (1.0, 1.0, 1.0, np.inf, np.nan):
        played = Played.blank(spec, play)
        played.rewards[:] = reward
        message = encode_environment_reply(1, played, spec)
        content = message.SerializeToString()
        found.append(decode_repeated_played(content, 2, play, spec, repeats))
        see_played(message, play, spec, repeats)
    assert [each is not None for each in found] == [False, False, True, False, False]


def test_answers_written_in_another_order_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that orders fields as no other does costs no layout at each step."""
    spec = TaskSpec((TensorSpec("seen", "uint8", (1,)),), (TensorSpec("a", "uint8", (1,)),))
    made, repeats = [], Repeats()
    monkeypatch.setattr(Layout, "__init__", lambda *_: made.append(1))
    for _ in range(5):
        message = encode_reply(1, Actions({"a": np.zeros((1, 1), np.uint8)}), spec)
        see_actions(message, 1, spec, repeats)
    assert len(made) == 1


@given(st.data(), task_specs())
def test_steps_that_come_again_are_what_protobuf_makes_of_them(
    data: st.DataObject, spec: TaskSpec
) -> None:
    rows, repeats, written = data.draw(st.integers(1, spec.slots)), Repeats(), Repeats()
    for sent in range(4):
        stepped = Stepped(
            tuple(range(rows)),
            rewards(data, rows),
            data.draw(arrays_of(spec.observations, rows)),
            flags(data, rows),
            flags(data, rows),
            flags(data, rows),
            data.draw(arrays_of(spec.actions, rows)),
        )
        seq = data.draw(UINT64)
        content = encode_answer(seq, stepped, spec).SerializeToString()
        message = experiment_pb2.ExperimentReply.FromString(content)
        again = decode_repeated_stepped(content, len(numbered(seq)), spec, repeats)
        parsed = decode_answer(message, RLStep(), spec)
        assert (again is not None) == (sent > 1 and has_bytes(spec))
        if again is not None:
            assert bits(again) == bits(parsed)
        see_stepped(parsed, message, spec, repeats)
        assert encode_repeated_stepped(seq, stepped, spec, written) == content
        assert not is_repeated_step(seq, content)


@given(UINT64, st.lists(st.integers(0, 7), max_size=3))
def test_a_step_is_asked_for_as_protobuf_writes_it(seq: int, slots: list[int]) -> None:
    call = RLStep(tuple(slots))
    written = encode_experiment_call(seq, call, None).SerializeToString()
    assert encode_repeated_step(seq, call, None) == written
    assert is_repeated_step(seq, written) == (not slots)
    assert not is_repeated_step(seq - 1, written)


def test_rows_are_copied_once() -> None:
    """An image of a megabyte is a megabyte more, not two for a while."""
    size = 2**20
    spec = TaskSpec((TensorSpec("image", "uint8", (size,)),), (TensorSpec("a", "uint8", (1,)),))
    steps, repeats = Steps(np.zeros(1, np.uint32), np.zeros(1, np.uint8)), Repeats()
    seen = {"image": np.zeros((1, size), np.uint8)}
    turn = Turn(Phase.EVALUATE, NO_ENDS, steps, NO_STARTS, np.zeros(1), seen)
    content = encode_call(Numbered(1, turn, Budget()), spec).SerializeToString()
    message = agent_pb2.AgentCall.FromString(content)
    parsed = decode_call(message, spec)
    for _ in range(2):
        see_turn(parsed, message, spec, repeats)
    tracemalloc.start()
    again = decode_repeated_turn(1, content, len(numbered(1)), spec, repeats)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again is not None
    assert size <= most < 1.5 * size
