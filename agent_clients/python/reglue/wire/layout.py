"""Messages that come again and again, and differ only in their number and their rows.

A step's message has the same bytes as the one before, except for its number and the rows of its
arrays. A Layout knows where those are, so that such a message is read and written without
protobuf, at a fifth of the price. Layouts serve the turns of an agent and their answers, the Plays
of an environment and theirs, and the answers to steps of a benchmark program. All other messages go
through protobuf, and so do the first two of a kind: a Layout is made of the second.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
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
from reglue.wire.environment_encoding import encode_environment_reply
from reglue.wire.experiment_encoding import encode_experiment_call
from reglue.wire.tensors import REWARDS, decode_flags, encode_flags

_FLAGS = TensorSpec("flags", "uint8")
"""The flags' entry, of messages that have one."""

_MOST_KINDS = 4  # of messages: as many as there are groups of slots, and one more

_SEQ = 8  # the tag of field 1, a varint: the number of every call and reply


@lru_cache(2)  # a call's, and that of the answer to it
def numbered(seq: int) -> bytes:
    """The first bytes of a message with this number."""
    head = bytearray((_SEQ,))
    while seq > 127:
        head.append(seq & 127 | 128)
        seq >>= 7
    head.append(seq)
    return bytes(head)


class Layout:
    """Where the rows are in messages that are otherwise the same, behind their number.

    Args:
        message: one of them. It is overwritten.
        part: its part with the rows, which are all fields of bytes, in the order of their numbers.
        tensors: what these hold; each takes a byte or more.
        rows: how many rows of each.
    """

    def __init__(self, message: Any, part: Any, tensors: Sequence[TensorSpec], rows: int) -> None:
        message.ClearField("seq")
        zeros, ones = _filled(message, part, 0x00), _filled(message, part, 0xFF)
        differs = np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8)
        starts = (np.flatnonzero(~differs[:-1] & differs[1:]) + 1).tolist()
        assert len(starts) == len(tensors), "each tensor has a place"
        self._size = len(zeros)
        self._fixed: list[tuple[int, int, bytes]] = []  # start, stop, what is between rows
        self._rows: list[tuple[int, int, tuple[int, ...], TensorSpec]] = []  # start, bytes, shape
        at = 0
        for start, tensor in zip(starts, tensors, strict=True):
            self._fixed.append((at, start, zeros[at:start]))
            size = rows * tensor.row_bytes
            self._rows.append((start, size, (rows, *tensor.shape), tensor))
            at = start + size
        self._fixed.append((at, self._size, zeros[at:]))

    def read(self, message: bytes, at: int) -> list[Array] | None:
        """The tensors' rows, copies; None if it is another message. `at`: where its number ends."""
        if len(message) != at + self._size:
            return None
        for start, stop, content in self._fixed:
            if message[at + start : at + stop] != content:
                return None
        arrays, view = [], memoryview(message)  # a slice of bytes would be one more copy
        for start, size, shape, tensor in self._rows:
            entry = bytearray(view[at + start : at + start + size])
            array: Array = np.ndarray(shape, tensor.wire_dtype, entry)
            arrays.append(array if tensor.is_native else array.astype(tensor.numpy_dtype))
        return arrays

    def write(self, seq: int, entries: Iterable[Array | bytes]) -> bytes | None:
        """The message of that number and those rows; None if rows have another size."""
        parts = [numbered(seq)]
        for (_, _, content), (_, size, _, tensor), entry in zip(
            self._fixed, self._rows, entries, strict=False
        ):
            rows: Any = entry
            if isinstance(entry, bytes):
                fits = len(entry) == size
            else:
                rows = np.ascontiguousarray(entry, tensor.wire_dtype)
                fits = rows.nbytes == size
            if not fits:
                return None
            parts += content, rows
        parts.append(self._fixed[-1][2])
        return b"".join(parts)  # the only copy of the rows


def _filled(message: Any, part: Any, byte: int) -> bytes:
    """The message, with that byte in all its rows."""
    for field in part.DESCRIPTOR.fields:
        if field.type != field.TYPE_BYTES:
            continue
        content = getattr(part, field.name)
        if isinstance(content, bytes):
            setattr(part, field.name, bytes((byte,)) * len(content))
        else:
            content[:] = [bytes((byte,)) * len(entry) for entry in content]
    filled: bytes = message.SerializeToString()
    return filled


class Repeats:
    """The layouts of the last few kinds of messages: groups of slots take turns."""

    def __init__(self) -> None:
        # By kind, the oldest first: its layout, and what the caller keeps of a message of it.
        # None: such a message came once.
        self._kinds: dict[Hashable, tuple[Layout, Any] | None] = {}

    def layout(self, kind: Hashable) -> Layout | None:
        """The layout of a kind of messages, if such a message came twice."""
        known = self._kinds.get(kind)
        return None if known is None else known[0]

    def read(self, message: bytes, at: int) -> tuple[Any, list[Array]] | None:
        """What the caller keeps of messages like this one, and its rows; None of another one.

        `at` is where its number ends.
        """
        for known in self._kinds.values():
            if known is not None and (arrays := known[0].read(message, at)) is not None:
                return known[1], arrays
        return None

    def see(
        self,
        kind: Hashable,
        like: Any,
        message: Any,
        part: Any,
        tensors: Sequence[TensorSpec],
        rows: int,
    ) -> None:
        """A message has come, or is sent, that is of no layout. It is overwritten."""
        if kind not in self._kinds:
            if len(self._kinds) == _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
            self._kinds[kind] = None
        elif rows and all(tensor.row_bytes for tensor in tensors):
            self._kinds[kind] = Layout(message, part, tensors, rows), like


def encode_repeated_turn(call: Numbered, spec: TaskSpec | None, repeats: Repeats) -> bytes:
    """The bytes of a call, which may be like those in `repeats`."""
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
    """The bytes of a reply, which may be like those in `repeats`."""
    if type(reply) is not Actions or reply.abandon or reply.held or spec is None:
        return encode_reply(seq, reply, spec).SerializeToString()
    rows = len(next(iter(reply.arrays.values())))
    if (layout := repeats.layout(rows)) is not None:
        arrays = [reply.arrays[tensor.name] for tensor in spec.actions]
        if (written := layout.write(seq, arrays)) is not None:
            return written
    message = encode_reply(seq, reply, spec)
    written = message.SerializeToString()
    sizes = tuple(map(len, message.actions.actions))
    if sizes == tuple(rows * tensor.row_bytes for tensor in spec.actions):
        repeats.see(rows, None, message, message.actions, spec.actions, rows)
    return written


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
    observations = {}
    for tensor, rows in zip(spec.observations, arrays[first:], strict=True):
        observations[tensor.name] = rows
    again = Turn(turn.phase, NO_ENDS, turn.steps, NO_STARTS, rewards, observations)
    return Numbered(seq, again, like.budget)


def see_turn(
    call: Numbered, message: agent_pb2.AgentCall, spec: TaskSpec, repeats: Repeats
) -> None:
    """Keep a turn of steps alone, which others may be like. The message is overwritten."""
    turn = call.call
    if not isinstance(turn, Turn) or not _is_of_steps(turn):
        return
    kind = (turn.phase, id(turn.steps), _limits(call.budget))
    like = replace(call, call=replace(turn, observations={}))
    repeats.see(kind, like, message, message.turn, _tensors(turn.phase, spec), len(turn.steps))


def _limits(budget: Budget) -> tuple[int | None, ...]:
    return budget.step_us, budget.bank_us, budget.adapt_us, budget.run_us


def _tensors(phase: Phase, spec: TaskSpec) -> tuple[TensorSpec, ...]:
    """What a turn of steps holds."""
    return spec.observations if withheld(phase, spec) else (REWARDS, *spec.observations)


def _is_of_steps(turn: Turn) -> bool:
    """Whether it has steps alone."""
    return not (len(turn.ends) or len(turn.starts))


def decode_repeated_play(message: bytes, at: int, spec: TaskSpec, repeats: Repeats) -> Play | None:
    """The Play of a message like those in `repeats`, whose number ends at `at`; None of another."""
    if (found := repeats.read(message, at)) is None:
        return None
    slots, arrays = found
    actions = {}
    for tensor, rows in zip(spec.actions, arrays, strict=True):
        actions[tensor.name] = rows
    return Play(slots, actions, {})


def see_play(
    play: EnvironmentCall,
    message: environment_pb2.EnvironmentCall,
    spec: TaskSpec,
    repeats: Repeats,
) -> None:
    """Keep a Play of steps alone, which others may be like. The message is overwritten."""
    if isinstance(play, Play) and not play.starts:
        kind, rows = id(play.slots), len(play.slots)
        repeats.see(kind, play.slots, message, message.play, spec.actions, rows)


def encode_repeated_played(
    seq: int, reply: EnvironmentReply, spec: TaskSpec | None, repeats: Repeats
) -> bytes:
    """The bytes of a reply, which may be like those in `repeats`."""
    if type(reply) is not Played or reply.faults or spec is None:
        return encode_environment_reply(seq, reply, spec).SerializeToString()
    rows = len(reply.rewards)
    if (layout := repeats.layout(rows)) is not None:
        entries: list[Array | bytes] = [
            reply.rewards,
            *[reply.observations[tensor.name] for tensor in spec.observations],
            encode_flags(reply.terminated, reply.truncated, reply.success),
        ]
        if (written := layout.write(seq, entries)) is not None:
            return written
    message = encode_environment_reply(seq, reply, spec)
    written = message.SerializeToString()
    tensors = (REWARDS, *spec.observations, _FLAGS)
    sizes = (len(message.played.rewards), *map(len, message.played.observations))
    if sizes == tuple(rows * tensor.row_bytes for tensor in tensors[:-1]):  # no starts
        repeats.see(rows, None, message, message.played, tensors, rows)
    return written


def encode_repeated_step(seq: int, call: ExperimentCall, spec: TaskSpec | None) -> bytes:
    """The bytes of a call; RL_step in all slots, which programs mostly say, is remembered."""
    if type(call) is RLStep and not call.slots:
        return numbered(seq) + _STEP
    return encode_experiment_call(seq, call, spec).SerializeToString()


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
    rows = iter(arrays)
    rewards = next(rows)
    observations = {}
    for tensor in spec.observations:
        observations[tensor.name] = next(rows)
    terminated, truncated, success = decode_flags(next(rows).tobytes())
    actions = {}
    for tensor in spec.actions:
        actions[tensor.name] = next(rows)
    return Stepped(slots, rewards, observations, terminated, truncated, success, actions)


def see_stepped(
    answer: Answer, message: experiment_pb2.ExperimentReply, spec: TaskSpec, repeats: Repeats
) -> None:
    """Keep what answers RLStep, which others may be like. The message is overwritten."""
    if isinstance(answer, Stepped):
        tensors = (REWARDS, *spec.observations, _FLAGS, *spec.actions)
        slots = answer.slots
        repeats.see(slots, slots, message, message.stepped, tensors, len(slots))
