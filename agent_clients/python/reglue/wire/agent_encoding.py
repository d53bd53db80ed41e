"""Converts calls and replies from and to `agent.proto`. Turns, most of the messages, are fast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from reglue.errors import BadReply
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    UNLIMITED,
    ActionFlag,
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
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.wire.fields import Codec, FieldTable
from reglue.wire.session_encoding import SESSION_CODECS
from reglue.wire.spec_encoding import decode_spec, encode_spec
from reglue.wire.tensors import REWARDS, decode_array, decode_arrays, encode_array, encode_arrays

_CALLS = FieldTable(
    "call",
    {
        "init": AgentInit,
        "freeze": Freeze,
        "adapt_begin": AdaptBegin,
        "adapt": Adapt,
        "message": TextMessage,
        "cleanup": Cleanup,
        "refusal": Refusal,
        "farewell": Farewell,
    },
    SESSION_CODECS
    | {
        AgentInit: Codec(
            lambda init: pb.AgentInit(spec=encode_spec(init.spec)),
            lambda message: AgentInit(decode_spec(message.spec)),
        )
    },
)
_REPLIES = FieldTable(
    "reply", {"done": RoutineDone, "message": TextMessage, "fault": Fault}, SESSION_CODECS
)
_AFTER_INIT = frozenset(("turn", "freeze", "adapt_begin", "adapt", "cleanup"))


def encode_call(numbered: Numbered, spec: TaskSpec | None) -> pb.AgentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a turn needs."""
    message = pb.AgentCall(seq=numbered.seq)
    _encode_budget(message.budget, numbered.budget)
    if isinstance(numbered.call, Turn):
        assert spec is not None, "init comes before a turn"
        encode_turn(message.turn, numbered.call, spec)
    else:
        _CALLS.encode(message, numbered.call)
    return message


def decode_call(message: pb.AgentCall, spec: TaskSpec | None) -> Numbered:
    """The call of a message. Raises BadReply or SpecError if it is malformed."""
    return Numbered(message.seq, _decode_call(message, spec), _decode_budget(message))


def call_from_bytes(message: bytes, spec: TaskSpec | None) -> Numbered:
    """`decode_call` of a serialised message."""
    try:
        return decode_call(pb.AgentCall.FromString(message), spec)
    except DecodeError as error:
        raise _unknown("the bytes", message[:8].hex()) from error


def encode_reply(seq: int, reply: Reply, spec: TaskSpec | None) -> pb.AgentReply:
    """The message of a reply to call `seq`; `spec` is what Actions need."""
    message = pb.AgentReply(seq=seq)
    if isinstance(reply, Actions):
        assert spec is not None, "init comes before a turn"
        message.actions.actions.extend(encode_arrays(spec.actions, reply.arrays))
        if reply.abandon:
            message.actions.abandoned_slots.extend(reply.abandon)
        if reply.held:
            message.actions.held_slots.extend(reply.held)
    else:
        _REPLIES.encode(message, reply)
    return message


def decode_reply(message: pb.AgentReply, spec: TaskSpec | None, rows: int) -> Reply:
    """The reply of a message; `rows`: how many actions the turn asked for. Raises BadReply."""
    if message.WhichOneof("reply") != "actions" or spec is None:
        reply: Reply = _REPLIES.decode(message)
        return reply
    actions = message.actions
    arrays = decode_arrays(spec.actions, actions.actions, rows)
    abandoned, held = actions.abandoned_slots, actions.held_slots
    if not (abandoned or held):
        return Actions(arrays)
    for slots, what in ((abandoned, "given up"), (held, "held")):
        if len(slots) > rows:
            got = f"{len(slots)} slots {what}"
            raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {rows}, those asked about")
    return Actions(arrays, tuple(abandoned), tuple(held))


def _decode_call(message: pb.AgentCall, spec: TaskSpec | None) -> Call:
    name = message.WhichOneof("call")
    if spec is None and name in _AFTER_INIT:
        raise BadReply("WRONG_KIND", got=f"{name} before init", wanted="init")
    if name == "turn":
        assert spec is not None  # the check above
        return decode_turn(message.turn, spec)
    call: Call = _CALLS.decode(message)
    return call


def _encode_budget(message: pb.Budget, budget: Budget) -> None:
    """Set fields one by one, so that the call has a budget only if something is limited."""
    if budget.step_us is not None:
        message.step_us = budget.step_us
    if budget.bank_us is not None:
        message.bank_us = budget.bank_us
    if budget.adapt_us is not None:
        message.adapt_us = budget.adapt_us
    if budget.run_us is not None:
        message.run_us = budget.run_us


def _decode_budget(message: pb.AgentCall) -> Budget:
    if not message.HasField("budget"):
        return UNLIMITED
    budget = message.budget
    return Budget(
        budget.step_us if budget.HasField("step_us") else None,
        budget.bank_us if budget.HasField("bank_us") else None,
        budget.adapt_us if budget.HasField("adapt_us") else None,
        budget.run_us if budget.HasField("run_us") else None,
    )


_PHASES = {int(phase): phase for phase in Phase}
_END_KINDS = frozenset(map(int, EndKind))
_KNOWN_FLAGS = sum(ActionFlag)  # later versions may have more: those are ignored
_REMEMBERED = 16  # a few sets of slots, each for its flags


def encode_turn(message: pb.Turn, turn: Turn, spec: TaskSpec) -> None:
    """Write it to an empty message in place, in half the time of a constructor."""
    slots, flags = turn.steps.slots.tolist(), turn.steps.flags.tolist()
    message.MergeFromString(_steps_alone(int(turn.phase), tuple(slots), tuple(flags)))
    if turn.ends is not NO_ENDS:
        message.end_slots.extend(turn.ends.slots.tolist())
        message.end_kinds.extend(turn.ends.kinds.tolist())
    if turn.starts is not NO_STARTS:
        message.start_slots.extend(turn.starts.slots.tolist())
        message.start_seeds.extend(turn.starts.seeds.tolist())
    if not withheld(turn.phase, spec):
        message.rewards = encode_array(REWARDS, turn.rewards)
    message.observations.extend(encode_arrays(spec.observations, turn.observations))


def decode_turn(message: pb.Turn, spec: TaskSpec) -> Turn:
    """The turn of a message. Raises BadReply if it does not fit the session."""
    if (phase := _PHASES.get(message.phase)) is None:
        raise _unknown("phase", message.phase)
    # Each list is taken out once: to look into the message costs more than all the rest.
    end_slots, end_kinds = _pair(message.end_slots, message.end_kinds, spec)
    step_slots, step_flags = _pair(message.step_slots, message.step_flags, spec)
    start_slots, start_seeds = _pair(message.start_slots, message.start_seeds, spec)
    if not _END_KINDS.issuperset(end_kinds):
        raise _unknown("end kinds", end_kinds)
    slots = [*end_slots, *step_slots, *start_slots]
    if slots and (most := max(slots)) >= spec.slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {most}", wanted=f"0 to {spec.slots - 1}")
    return Turn(
        phase=phase,
        ends=Ends(_slots(end_slots), np.array(end_kinds, np.uint8)) if end_slots else NO_ENDS,
        steps=_steps(tuple(step_slots), tuple(step_flags)) if step_slots else NO_STEPS,
        starts=Starts(_slots(start_slots), np.array(start_seeds, np.uint64))
        if start_slots
        else NO_STARTS,
        rewards=_rewards(message.rewards, len(end_slots) + len(step_slots), phase, spec),
        observations=decode_arrays(spec.observations, message.observations, len(slots)),
    )


def _pair(
    slots: Sequence[int], entries: Sequence[int], spec: TaskSpec
) -> tuple[Sequence[int], Sequence[int]]:
    """Copies of both lists, after counting them."""
    count = len(slots)
    if not (count or entries):
        return (), ()
    if count > spec.slots:
        raise BadReply("WRONG_SIZE", got=f"{count} slots", wanted=f"at most {spec.slots}")
    if len(entries) != count:
        got = f"a turn with {len(entries)} entries for {count} slots"
        raise BadReply("WRONG_SIZE", got=got, wanted="one a slot")
    return slots[:], entries[:]


@lru_cache(_REMEMBERED)
def _steps_alone(phase: int, slots: tuple[int, ...], flags: tuple[int, ...]) -> bytes:
    """The message of a list that many turns repeat: parsing it is the fastest way to write it."""
    message = pb.Turn(phase=phase, step_slots=slots, step_flags=flags)  # type: ignore[arg-type]
    return message.SerializeToString()


@lru_cache(_REMEMBERED)
def _steps(slots: tuple[int, ...], flags: tuple[int, ...]) -> Steps:
    """An array of slots, read-only: many turns have the same."""
    steps = Steps(_slots(slots), np.array([each & _KNOWN_FLAGS for each in flags], np.uint8))
    steps.slots.setflags(write=False)
    steps.flags.setflags(write=False)
    return steps


def _slots(slots: Sequence[int]) -> npt.NDArray[np.uint32]:
    return np.array(slots, np.uint32)


def _rewards(entry: bytes, rows: int, phase: Phase, spec: TaskSpec) -> npt.NDArray[np.float64]:
    """A reward for each row; NaN if they are withheld."""
    if not withheld(phase, spec):
        return decode_array(REWARDS, entry, rows)
    if entry:
        raise BadReply("WRONG_SIZE", got=f"{len(entry)} bytes of 'rewards'", wanted="0")
    return np.full(rows, np.nan)


def withheld(phase: Phase, spec: TaskSpec) -> bool:
    """Whether a turn of that phase has no rewards."""
    return phase is Phase.EVALUATE and not spec.rewards_in_evaluation


def _unknown(what: str, got: object) -> BadReply:
    return BadReply("OUT_OF_DOMAIN", got=f"{what} {got}", wanted="what protocol 1.0 knows")
