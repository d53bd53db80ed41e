"""Reads and writes the messages of steps by layouts: see layout.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STARTS,
    Actions,
    Budget,
    Numbered,
    Phase,
    Reply,
    Turn,
)
from reglue.messages.environment_messages import EnvironmentCall, EnvironmentReply, Play, Played
from reglue.messages.experiment_messages import Answer, ExperimentCall, RLStep, Stepped
from reglue.spec import Array, TaskSpec, TensorSpec
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from reglue.wire.agent_encoding import encode_call, encode_reply, withheld
from reglue.wire.environment_encoding import encode_environment_call, encode_environment_reply
from reglue.wire.experiment_encoding import encode_answer, encode_experiment_call
from reglue.wire.layout import FLAGS, Repeats, numbered
from reglue.wire.tensors import REWARDS, decode_flags, encode_flags


def encode_repeated_turn(call: Numbered, spec: TaskSpec | None, repeats: Repeats) -> bytes:
    """The bytes of a call, by a layout in `repeats` if one fits."""
    turn = call.call
    if spec is None or not isinstance(turn, Turn) or not _is_of_steps(turn):
        return encode_call(call, spec).SerializeToString()
    slots, flags = turn.steps.slots.tobytes(), turn.steps.flags.tobytes()
    kind = (turn.phase, slots, flags, _limits(call.budget))
    if (layout := repeats.layout(kind)) is not None:
        rows = [] if withheld(turn.phase, spec) else [turn.rewards]
        for tensor in spec.observations:
            rows.append(turn.observations[tensor.name])  # noqa: PERF401 - as in tensors.py
        if (written := layout.write(call.seq, rows)) is not None:
            return written
    message = encode_call(call, spec)
    written = message.SerializeToString()
    repeats.see(kind, None, message, message.turn, _tensors(turn.phase, spec), len(turn.steps))
    return written


def encode_repeated_actions(
    seq: int, reply: Reply, spec: TaskSpec | None, repeats: Repeats
) -> bytes:
    """The bytes of a reply, by a layout in `repeats` if one fits."""
    if type(reply) is not Actions or reply.abandon or reply.held or spec is None:
        return encode_reply(seq, reply, spec).SerializeToString()
    rows = len(next(iter(reply.arrays.values())))
    if (layout := repeats.layout(rows)) is not None:
        arrays: list[Array] = []
        for tensor in spec.actions:
            arrays.append(reply.arrays[tensor.name])  # noqa: PERF401
        if (written := layout.write(seq, arrays)) is not None:
            return written
    message = encode_reply(seq, reply, spec)
    written = message.SerializeToString()
    sizes = tuple(map(len, message.actions.actions))
    if sizes == tuple(rows * tensor.row_bytes for tensor in spec.actions):
        repeats.see(rows, None, message, message.actions, spec.actions, rows)
    return written


def decode_repeated_actions(
    message: bytes, at: int, rows: int, spec: TaskSpec, repeats: Repeats
) -> Actions | None:
    """The answer to a turn of `rows` that want an action; None unless it is like one in `repeats`.

    `at` is where the message's number ends.
    """
    found = repeats.read(message, at)
    if found is None or found[0] != rows:
        return None
    return Actions(_named(spec.actions, found[1]))


def see_actions(message: agent_pb2.AgentReply, rows: int, spec: TaskSpec, repeats: Repeats) -> None:
    """Learn the layout of actions that fit."""
    if repeats.layout(rows) is None:  # a client that writes fields in another order has none
        own = agent_pb2.AgentReply()  # to be overwritten: others may look at the message later
        own.CopyFrom(message)
        repeats.see(rows, rows, own, own.actions, spec.actions, rows)


def decode_repeated_turn(
    seq: int, message: bytes, at: int, spec: TaskSpec, repeats: Repeats
) -> Numbered | None:
    """The call of a message like those in `repeats`, whose number ends at `at`; None of another.

    Its arrays may be written to.
    """
    if (found := repeats.read(message, at)) is None:
        return None
    like, arrays = found
    turn: Turn = like.call
    first = 0
    if withheld(turn.phase, spec):
        rewards = np.full(len(turn.steps), np.nan)
    else:
        rewards, first = arrays[0], 1
    observations = _named(spec.observations, arrays[first:])
    again = Turn(turn.phase, NO_ENDS, turn.steps, NO_STARTS, rewards, observations)
    return Numbered(seq, again, like.budget)


def see_turn(
    call: Numbered, message: agent_pb2.AgentCall, spec: TaskSpec, repeats: Repeats
) -> None:
    """Learn the layout of a turn that has steps alone. The message is overwritten."""
    turn = call.call
    if not isinstance(turn, Turn) or not _is_of_steps(turn):
        return
    kind = (turn.phase, id(turn.steps), _limits(call.budget))
    like = replace(call, call=replace(turn, observations={}))
    repeats.see(kind, like, message, message.turn, _tensors(turn.phase, spec), len(turn.steps))


def _limits(budget: Budget) -> tuple[int | None, ...]:
    return budget.step_us, budget.bank_us, budget.adapt_us, budget.run_us


def _tensors(phase: Phase, spec: TaskSpec) -> tuple[TensorSpec, ...]:
    """The tensors of a turn of steps."""
    return spec.observations if withheld(phase, spec) else (REWARDS, *spec.observations)


def _is_of_steps(turn: Turn) -> bool:
    """Whether it has steps alone."""
    if turn.ends is NO_ENDS and turn.starts is NO_STARTS:  # as nearly always
        return True
    return not (len(turn.ends) or len(turn.starts))


def _named(tensors: tuple[TensorSpec, ...], arrays: list[Any]) -> dict[str, Array]:
    """The arrays by the names of their tensors."""
    named = {}
    for tensor, rows in zip(tensors, arrays, strict=True):
        named[tensor.name] = rows
    return named


def encode_repeated_play(seq: int, play: Play, spec: TaskSpec, repeats: Repeats) -> bytes:
    """The bytes of a Play, by a layout in `repeats` if one fits."""
    if play.starts:
        return encode_environment_call(seq, play, spec).SerializeToString()
    kind = play.slots.tobytes()
    if (layout := repeats.layout(kind)) is not None:
        arrays: list[Array] = []
        for tensor in spec.actions:  # here and below: as in tensors.py
            arrays.append(play.actions[tensor.name])  # noqa: PERF401
        if (written := layout.write(seq, arrays)) is not None:
            return written
    message = encode_environment_call(seq, play, spec)
    written = message.SerializeToString()
    repeats.see(kind, None, message, message.play, spec.actions, len(play.slots))
    return written


def decode_repeated_play(message: bytes, at: int, spec: TaskSpec, repeats: Repeats) -> Play | None:
    """The Play of a message like those in `repeats`, whose number ends at `at`; None of another."""
    if (found := repeats.read(message, at)) is None:
        return None
    slots, arrays = found
    return Play(slots, _named(spec.actions, arrays), {})


def see_play(
    play: EnvironmentCall,
    message: environment_pb2.EnvironmentCall,
    spec: TaskSpec,
    repeats: Repeats,
) -> None:
    """Learn the layout of a Play that has steps alone. The message is overwritten."""
    if isinstance(play, Play) and not play.starts:
        kind, rows = id(play.slots), len(play.slots)
        repeats.see(kind, play.slots, message, message.play, spec.actions, rows)


def encode_repeated_played(
    seq: int, reply: EnvironmentReply, spec: TaskSpec | None, repeats: Repeats
) -> bytes:
    """The bytes of a reply, by a layout in `repeats` if one fits."""
    if type(reply) is not Played or reply.faults or spec is None:
        return encode_environment_reply(seq, reply, spec).SerializeToString()
    rows = len(reply.rewards)
    if (layout := repeats.layout(rows)) is not None:
        entries: list[Array | bytes] = [reply.rewards]
        for tensor in spec.observations:
            entries.append(reply.observations[tensor.name])  # noqa: PERF401
        entries.append(encode_flags(reply.terminated, reply.truncated, reply.success))
        if (written := layout.write(seq, entries)) is not None:
            return written
    message = encode_environment_reply(seq, reply, spec)
    written = message.SerializeToString()
    tensors = (REWARDS, *spec.observations, FLAGS)
    sizes = (len(message.played.rewards), *map(len, message.played.observations))
    if sizes == tuple(rows * tensor.row_bytes for tensor in tensors[:-1]):  # no starts
        repeats.see(rows, None, message, message.played, tensors, rows)
    return written


def decode_repeated_played(
    message: bytes, at: int, play: Play, spec: TaskSpec, repeats: Repeats
) -> Played | None:
    """The answer to a Play of steps; None if no layout in `repeats` fits or it has faults."""
    found = repeats.read(message, at)
    if found is None or play.starts or found[0] != len(play.slots):
        return None
    rewards, *seen, flags = found[1]
    if 0 in np.isfinite(rewards).tobytes():  # who decodes all says what is wrong
        return None
    terminated, truncated, success = decode_flags(flags)
    return Played(rewards, _named(spec.observations, seen), terminated, truncated, success)


def see_played(
    message: environment_pb2.EnvironmentReply, play: Play, spec: TaskSpec, repeats: Repeats
) -> None:
    """Learn the layout of an answer to a Play of steps, without faults."""
    rows = len(play.slots)
    if not play.starts and repeats.layout(rows) is None:  # as of actions
        tensors = (REWARDS, *spec.observations, FLAGS)
        own = environment_pb2.EnvironmentReply()
        own.CopyFrom(message)
        repeats.see(rows, rows, own, own.played, tensors, rows)


def encode_repeated_step(seq: int, call: ExperimentCall, spec: TaskSpec | None) -> bytes:
    """The bytes of a call. Those of RL_step in all slots, the most frequent, are kept."""
    if type(call) is RLStep and not call.slots:
        return numbered(seq) + _STEP
    return encode_experiment_call(seq, call, spec).SerializeToString()


def is_repeated_step(seq: int, message: bytes) -> bool:
    """Whether it is call `seq`, RL_step in all slots."""
    return message == numbered(seq) + _STEP


_STEP = experiment_pb2.ExperimentCall(step=experiment_pb2.RlStep()).SerializeToString()


def decode_repeated_stepped(
    message: bytes, at: int, spec: TaskSpec, repeats: Repeats
) -> Stepped | None:
    """The answer to RLStep in a message like those in `repeats`, whose number ends at `at`; None
    of another.
    """
    if (found := repeats.read(message, at)) is None:
        return None
    slots, arrays = found
    count = len(spec.observations)
    terminated, truncated, success = decode_flags(arrays[count + 1])
    return Stepped(
        slots,
        arrays[0],
        _named(spec.observations, arrays[1 : count + 1]),
        terminated,
        truncated,
        success,
        _named(spec.actions, arrays[count + 2 :]),
    )


def encode_repeated_stepped(seq: int, answer: Stepped, spec: TaskSpec, repeats: Repeats) -> bytes:
    """The bytes of an answer to RLStep, by a layout in `repeats` if one fits."""
    if (layout := repeats.layout(answer.slots)) is not None:
        entries: list[Array | bytes] = [answer.rewards]
        for tensor in spec.observations:
            entries.append(answer.observations[tensor.name])  # noqa: PERF401
        entries.append(encode_flags(answer.terminated, answer.truncated, answer.success))
        for tensor in spec.actions:
            entries.append(answer.actions[tensor.name])  # noqa: PERF401
        if (written := layout.write(seq, entries)) is not None:
            return written
    message = encode_answer(seq, answer, spec)
    written = message.SerializeToString()
    see_stepped(answer, message, spec, repeats)
    return written


def see_stepped(
    answer: Answer, message: experiment_pb2.ExperimentReply, spec: TaskSpec, repeats: Repeats
) -> None:
    """Learn the layout of an answer to RLStep. The message is overwritten."""
    if isinstance(answer, Stepped):
        tensors = (REWARDS, *spec.observations, FLAGS, *spec.actions)
        slots = answer.slots
        repeats.see(slots, slots, message, message.stepped, tensors, len(slots))
