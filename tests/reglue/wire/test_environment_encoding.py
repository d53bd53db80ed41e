"""Messages between the glue and an environment survive their journey; others are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.error_message import printable
from reglue.errors import BadReply
from reglue.messages.agent_messages import (
    Cleanup,
    Farewell,
    Fault,
    Phase,
    Refusal,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import (
    Cell,
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import environment_pb2 as pb
from reglue.wire.environment_encoding import (
    decode_environment_call,
    decode_environment_reply,
    encode_environment_call,
    encode_environment_reply,
)
from tests.reglue.wire.bits import bits
from tests.reglue.wire.wire_strategies import TOLD, WORDS, arrays_of, task_specs

SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("done", "int8"),), slots=3)
UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)
CALLS: st.SearchStrategy[EnvironmentCall] = st.one_of(
    st.builds(EnvironmentInit, UINT32),
    st.builds(GetState, UINT32),
    st.builds(SetState, UINT32, st.binary()),
    st.builds(GetRandomSeed, UINT32),
    st.builds(SetRandomSeed, UINT32, st.binary()),
    st.builds(StandardizeRandomness, UINT64),
    st.builds(TextMessage, WORDS),
    st.just(Cleanup()),
    st.builds(Refusal, UINT64, st.sampled_from(["OUT_OF_ORDER", "UNKNOWN_KEY"]), TOLD, TOLD),
    st.builds(Farewell, TOLD),
)
TASKS = st.dictionaries(WORDS, st.integers(1, 2**32 - 1), min_size=1, max_size=3)
FLAG = st.booleans()
REPLIES: st.SearchStrategy[EnvironmentReply] = st.one_of(
    st.builds(
        EnvironmentReady,
        task_specs(),
        TASKS,
        restores=FLAG,
        portable=FLAG,
        seeds=FLAG,
        standardizes=FLAG,
        tells_success=FLAG,
        raw_actions=FLAG,
        whole_turns=FLAG,
        repeatable=FLAG,
    ),
    st.builds(Snapshot, st.binary()),
    st.builds(TextMessage, WORDS),
    st.just(RoutineDone()),
    st.builds(Refusal, UINT64, st.just("NOT_SUPPORTED"), TOLD, TOLD),
    st.builds(Fault, TOLD),
)
CELLS = st.builds(
    Cell, WORDS, UINT32, UINT64, UINT64, st.sampled_from(Phase), UINT64, st.booleans()
)


@st.composite
def plays(draw: st.DrawFn, spec: TaskSpec) -> Play:
    places = draw(st.permutations(range(spec.slots)))
    steps = draw(st.integers(0, spec.slots))
    starts = places[steps:][: draw(st.integers(0, spec.slots))]
    return Play(
        np.array(places[:steps], np.uint32),
        draw(arrays_of(spec.actions, steps)) if steps else {},
        {slot: draw(CELLS) for slot in starts},
    )


@st.composite
def played(draw: st.DrawFn, spec: TaskSpec, play: Play) -> Played:
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    slots = [*play.slots.tolist(), *play.starts]
    one, two, three = [np.array(draw(st.tuples(*[FLAG] * steps)), np.bool_) for _ in range(3)]
    rewards = draw(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * steps))
    faulty = draw(st.sets(st.sampled_from(slots))) if slots else set()
    return Played(
        np.array(rewards, np.float64),
        draw(arrays_of(spec.observations, rows)),
        one,
        two,
        three,
        faults={slot: draw(WORDS) for slot in sorted(faulty)},
    )


@given(UINT64, CALLS)
def test_a_call_is_the_same_after_its_journey(seq: int, call: EnvironmentCall) -> None:
    sent = encode_environment_call(seq, call, None).SerializeToString()
    message = pb.EnvironmentCall.FromString(sent)
    assert message.seq == seq
    assert decode_environment_call(message, None) == call


@given(UINT64, REPLIES)
def test_a_reply_is_the_same_after_its_journey(seq: int, reply: EnvironmentReply) -> None:
    sent = encode_environment_reply(seq, reply, None).SerializeToString()
    message = pb.EnvironmentReply.FromString(sent)
    assert message.seq == seq
    assert decode_environment_reply(message, Cleanup(), None) == reply


@given(st.data(), task_specs())
def test_a_play_and_its_answer_are_the_same_after_their_journey(
    data: st.DataObject, spec: TaskSpec
) -> None:
    play = data.draw(plays(spec))
    call = encode_environment_call(1, play, spec).SerializeToString()
    got = decode_environment_call(pb.EnvironmentCall.FromString(call), spec)
    assert bits(got) == bits(play)
    answer = data.draw(played(spec, play))
    reply = encode_environment_reply(1, answer, spec).SerializeToString()
    back = decode_environment_reply(pb.EnvironmentReply.FromString(reply), play, spec)
    clean = {slot: printable(what) for slot, what in answer.faults.items()}
    assert bits(back) == bits(replace(answer, faults=clean))


# What does not fit.

PLAY = Play(
    np.array([0, 2], np.uint32),
    {"done": np.array([1, 2], np.int8)},
    {1: Cell("walk", 0, 1, 2, Phase.TRAIN)},
)
PLAYED = Played.blank(SPEC, PLAY)


def bad_play(change: Callable[[pb.Play], object]) -> BadReply:
    message = encode_environment_call(1, PLAY, SPEC)
    change(message.play)
    with pytest.raises(BadReply) as error:
        decode_environment_call(message, SPEC)
    return error.value


def bad_answer(change: Callable[[pb.Played], object]) -> BadReply:
    message = encode_environment_reply(1, PLAYED, SPEC)
    change(message.played)
    with pytest.raises(BadReply) as error:
        decode_environment_reply(message, PLAY, SPEC)
    return error.value


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda play: play.step_slots.__setitem__(0, 3), "OUT_OF_DOMAIN", "slot 3"),
        (lambda play: play.step_slots.__setitem__(0, 1), "WRONG_SIZE", "each once"),
        (lambda play: play.start_slots.append(2), "WRONG_SIZE", "a cell a start"),
        (lambda play: play.cells.pop(), "WRONG_SIZE", "a cell a start"),
        (lambda play: play.actions.__setitem__(0, b"\1"), "WRONG_SIZE", "1 bytes of 'done'"),
        (lambda play: play.actions.append(b""), "WRONG_SIZE", "2 tensors"),
        (lambda play: setattr(play.cells[0], "phase", 9), "OUT_OF_DOMAIN", "phase 9"),
    ],
)
def test_a_play_that_does_not_fit_is_refused(
    change: Callable[[pb.Play], object], code: str, words: str
) -> None:
    bad = bad_play(change)
    assert bad.code == code
    assert words in str(bad)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda played: setattr(played, "rewards", bytes(8)), "WRONG_SIZE", "8 bytes of 'rewards'"),
        (
            lambda played: setattr(played, "rewards", np.array([np.nan, 0.0]).tobytes()),
            "NOT_FINITE",
            "rewards",
        ),
        (lambda played: played.observations.pop(), "WRONG_SIZE", "0 tensors"),
        (lambda played: setattr(played, "flags", b"\0\0"), "WRONG_SIZE", "2 flags"),
        (
            lambda played: setattr(played, "flags", b"\0\0\1"),
            "OUT_OF_DOMAIN",
            "env_start never ends an episode",
        ),
        (lambda played: played.faults.add(slot=7, what="x"), "OUT_OF_DOMAIN", "faults of slots"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    change: Callable[[pb.Played], object], code: str, words: str
) -> None:
    bad = bad_answer(change)
    assert bad.code == code
    assert words in str(bad)


def test_a_faulty_slots_reward_is_not_looked_at() -> None:
    failed = replace(PLAYED, rewards=np.array([np.nan, 1.0]), faults={0: "broke"})
    message = encode_environment_reply(1, failed, SPEC)
    got = decode_environment_reply(message, PLAY, SPEC)
    assert isinstance(got, Played)
    assert got.faults == {0: "broke"}


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [pb.EnvironmentTask(name="a", variants=1)] * 2,
        [pb.EnvironmentTask(name="a", variants=0)],
    ],
    ids=["none", "twice", "no variants"],
)
def test_tasks_that_make_no_sense_are_refused(tasks: list[pb.EnvironmentTask]) -> None:
    message = encode_environment_reply(1, EnvironmentReady(SPEC, {"walk": 1}), None)
    del message.ready.tasks[:]
    message.ready.tasks.extend(tasks)
    with pytest.raises(BadReply) as refusal:
        decode_environment_reply(message, EnvironmentInit(1), None)
    assert refusal.value.code == "OUT_OF_DOMAIN"
    assert refusal.value.got.startswith("tasks ")


def test_calls_that_are_unknown_or_come_too_early_are_refused() -> None:
    for message, got in (
        (pb.EnvironmentCall(seq=1), "an unknown call"),
        (encode_environment_call(1, PLAY, SPEC), "play before init"),
    ):
        with pytest.raises(BadReply) as refusal:
            decode_environment_call(message, None)
        assert (refusal.value.code, refusal.value.got) == ("WRONG_KIND", got)


def test_replies_that_are_unknown_or_answer_another_call_are_refused() -> None:
    for message, call, got in (
        (pb.EnvironmentReply(seq=1), PLAY, "an unknown reply"),
        (encode_environment_reply(1, PLAYED, SPEC), Cleanup(), "played"),
    ):
        with pytest.raises(BadReply) as refusal:
            decode_environment_reply(message, call, SPEC)
        assert (refusal.value.code, refusal.value.got) == ("WRONG_KIND", got)
