"""Calls and replies to and from `agent.proto`."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from reglue.calls import (
    Actions,
    Adapt,
    AdaptBegin,
    Budget,
    Call,
    Cleanup,
    Done,
    EndKind,
    Ends,
    Farewell,
    Fault,
    Freeze,
    Init,
    Message,
    Numbered,
    Phase,
    Refusal,
    Reply,
    Starts,
    StepFlag,
    Steps,
    Turn,
)
from reglue.errors import BadReply
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.session_messages import decode_fault, decode_refusal, encode_fault, encode_refusal
from reglue.wire.specs import decode_spec, encode_spec
from reglue.wire.tensors import decode_array, decode_arrays, encode_arrays

_EMPTY: dict[str, Call] = {
    "freeze": Freeze(),
    "adapt_begin": AdaptBegin(),
    "adapt": Adapt(),
    "cleanup": Cleanup(),
}
"""Calls that carry nothing, by the name of their field."""

_PHASES = frozenset(map(int, Phase))
_END_KINDS = frozenset(map(int, EndKind))
_KNOWN_FLAGS = sum(StepFlag)  # later versions may have more: those are ignored

_LIMITS: tuple[Literal["step_us", "bank_us", "adapt_us", "run_us"], ...] = (
    "step_us",
    "bank_us",
    "adapt_us",
    "run_us",
)


def encode_call(numbered: Numbered, spec: TaskSpec | None) -> pb.AgentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a turn needs."""
    message = pb.AgentCall(seq=numbered.seq)
    if numbered.budget != Budget():
        message.budget.CopyFrom(_encode_budget(numbered.budget))
    match numbered.call:
        case Turn() as turn:
            assert spec is not None, "init comes before a turn"
            message.turn.CopyFrom(_encode_turn(turn, spec))
        case Init(task):
            message.init.spec.CopyFrom(encode_spec(task))
        case Message(text):
            message.message.text = text
        case Refusal() as refusal:
            message.refusal.CopyFrom(encode_refusal(refusal))
        case Farewell(reason):
            message.farewell.reason = reason
        case call:
            name = next(name for name, empty in _EMPTY.items() if empty == call)
            getattr(message, name).SetInParent()
    return message


def decode_call(message: pb.AgentCall, spec: TaskSpec | None) -> Numbered:
    """The call of a message. Raises BadReply or SpecError if it is malformed."""
    return Numbered(message.seq, _decode_call(message, spec), _decode_budget(message.budget))


def encode_reply(seq: int, reply: Reply, spec: TaskSpec | None) -> pb.AgentReply:
    """The message of a reply to call `seq`; `spec` is what Actions need."""
    match reply:
        case Actions(arrays, abandon):
            assert spec is not None, "init comes before a turn"
            entries = encode_arrays(spec.actions, arrays)
            return pb.AgentReply(seq=seq, actions=pb.Actions(action=entries, abandon=abandon))
        case Message(text):
            return pb.AgentReply(seq=seq, message=session_pb2.Message(text=text))
        case Fault() as fault:
            return pb.AgentReply(seq=seq, fault=encode_fault(fault))
        case Done():
            return pb.AgentReply(seq=seq, done=session_pb2.Done())


def decode_reply(message: pb.AgentReply, spec: TaskSpec | None, rows: int) -> Reply:
    """The reply of a message; `rows` is how many the turn asked for. Raises BadReply."""
    match message.WhichOneof("reply"):
        case "actions" if spec is not None:
            arrays = decode_arrays(spec.actions, message.actions.action, rows)
            return Actions(arrays, tuple(message.actions.abandon))
        case "done":
            return Done()
        case "message":
            return Message(message.message.text)
        case "fault":
            return decode_fault(message.fault)
        case kind:
            raise BadReply("WRONG_KIND", got=kind or "an unknown reply", wanted="an answer")


def _encode_turn(turn: Turn, spec: TaskSpec) -> pb.Turn:
    withheld = _withheld(turn.phase, spec)
    return pb.Turn(
        phase=int(turn.phase),  # type: ignore[arg-type]
        end_slots=turn.ends.slots.tolist(),
        end_kinds=turn.ends.kinds.tolist(),
        step_slots=turn.steps.slots.tolist(),
        step_flags=turn.steps.flags.tolist(),
        start_slots=turn.starts.slots.tolist(),
        start_seeds=turn.starts.seeds.tolist(),
        reward=b"" if withheld else turn.rewards.astype("<f8", copy=False).tobytes(),
        observation=encode_arrays(spec.observations, turn.observations),
    )


def _decode_turn(message: pb.Turn, spec: TaskSpec) -> Turn:
    ends, steps = len(message.end_slots), len(message.step_slots)
    counts = (len(message.end_kinds), len(message.step_flags), len(message.start_seeds))
    if counts != (ends, steps, len(message.start_slots)):
        raise BadReply("WRONG_SIZE", got=f"a turn with {counts} entries", wanted="one a slot")
    _check_values(message, spec)
    rows = ends + steps + len(message.start_slots)
    return Turn(
        phase=Phase(message.phase),
        ends=Ends(np.array(message.end_slots, np.uint32), np.array(message.end_kinds, np.uint8)),
        steps=Steps(
            np.array(message.step_slots, np.uint32),
            (np.array(message.step_flags, np.uint32) & _KNOWN_FLAGS).astype(np.uint8),
        ),
        starts=Starts(
            np.array(message.start_slots, np.uint32), np.array(message.start_seeds, np.uint64)
        ),
        rewards=_decode_rewards(message, spec, ends + steps),
        observations=decode_arrays(spec.observations, message.observation, rows),
    )


def _check_values(message: pb.Turn, spec: TaskSpec) -> None:
    """Raise BadReply for a number that no turn of this session can hold."""
    slots = max((*message.end_slots, *message.step_slots, *message.start_slots), default=0)
    if int(message.phase) not in _PHASES:
        raise _unknown("phase", message.phase)
    if not _END_KINDS.issuperset(message.end_kinds):
        raise _unknown("end kinds", list(message.end_kinds))
    if slots >= spec.slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {slots}", wanted=f"0 to {spec.slots - 1}")


def _unknown(what: str, got: object) -> BadReply:
    return BadReply("OUT_OF_DOMAIN", got=f"{what} {got}", wanted="what protocol 1.0 knows")


def _decode_rewards(message: pb.Turn, spec: TaskSpec, rows: int) -> npt.NDArray[np.float64]:
    """One a row; NaN where they are withheld."""
    withheld = _withheld(Phase(message.phase), spec)
    wanted = 0 if withheld else 8 * rows
    if len(message.reward) != wanted:
        got = f"{len(message.reward)} bytes of rewards"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"{wanted}")
    return np.full(rows, np.nan) if withheld else decode_array("float64", message.reward)


def _withheld(phase: Phase, spec: TaskSpec) -> bool:
    return phase is Phase.EVALUATE and not spec.rewards_in_evaluation


def _decode_call(message: pb.AgentCall, spec: TaskSpec | None) -> Call:
    match message.WhichOneof("call"):
        case "turn" | "freeze" | "adapt_begin" | "adapt" | "cleanup" as name if spec is None:
            raise BadReply("WRONG_KIND", got=f"{name} before init", wanted="init")
        case "turn":
            assert spec is not None  # the case above
            return _decode_turn(message.turn, spec)
        case "init":
            return Init(decode_spec(message.init.spec))
        case "message":
            return Message(message.message.text)
        case "refusal":
            return decode_refusal(message.refusal)
        case "farewell":
            return Farewell(message.farewell.reason)
        case str(name) if name in _EMPTY:
            return _EMPTY[name]
        case _:
            raise BadReply("WRONG_KIND", got="an unknown call", wanted="one of protocol 1.0")


def _encode_budget(budget: Budget) -> pb.Budget:
    limits = {name: getattr(budget, name) for name in _LIMITS}
    return pb.Budget(**{name: us for name, us in limits.items() if us is not None})


def _decode_budget(message: pb.Budget) -> Budget:
    given = {name for name in _LIMITS if message.HasField(name)}
    return Budget(**{name: getattr(message, name) for name in given})
