"""Calls and replies to and from `agent.proto`."""

from __future__ import annotations

from reglue.errors import BadReply
from reglue.messages.agent import (
    UNLIMITED,
    Actions,
    Adapt,
    AdaptBegin,
    Budget,
    Call,
    Cleanup,
    Done,
    Farewell,
    Fault,
    Freeze,
    Init,
    Message,
    Numbered,
    Refusal,
    Reply,
    Turn,
)
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.session import (
    decode_fault,
    decode_refusal,
    encode_fault,
    encode_refusal,
    told,
)
from reglue.wire.specs import decode_spec, encode_spec
from reglue.wire.tensors import decode_arrays, encode_arrays
from reglue.wire.turns import decode_turn, encode_turn

_EMPTY: dict[str, Call] = {
    "freeze": Freeze(),
    "adapt_begin": AdaptBegin(),
    "adapt": Adapt(),
    "cleanup": Cleanup(),
}
"""Calls that carry nothing, by the name of their field."""


def encode_call(numbered: Numbered, spec: TaskSpec | None) -> pb.AgentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a turn needs."""
    message = pb.AgentCall(seq=numbered.seq)
    _encode_budget(message.budget, numbered.budget)
    match numbered.call:
        case Turn() as turn:
            assert spec is not None, "init comes before a turn"
            encode_turn(message.turn, turn, spec)
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
    return Numbered(message.seq, _decode_call(message, spec), _decode_budget(message))


def encode_reply(seq: int, reply: Reply, spec: TaskSpec | None) -> pb.AgentReply:
    """The message of a reply to call `seq`; `spec` is what Actions need."""
    match reply:
        case Actions(arrays, abandon):
            assert spec is not None, "init comes before a turn"
            message = pb.AgentReply(seq=seq)
            actions = message.actions
            actions.actions.extend(encode_arrays(spec.actions, arrays))
            if abandon:
                actions.abandoned_slots.extend(abandon)
            return message
        case Message(text):
            return pb.AgentReply(seq=seq, message=session_pb2.TextMessage(text=text))
        case Fault() as fault:
            return pb.AgentReply(seq=seq, fault=encode_fault(fault))
        case Done():
            return pb.AgentReply(seq=seq, done=session_pb2.RoutineDone())


def decode_reply(message: pb.AgentReply, spec: TaskSpec | None, rows: int) -> Reply:
    """The reply of a message; `rows` is how many the turn asked for. Raises BadReply."""
    match message.WhichOneof("reply"):
        case "actions" if spec is not None:
            actions = message.actions
            if len(actions.abandoned_slots) > rows:
                got = f"{len(actions.abandoned_slots)} slots given up"
                raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {rows}, those asked about")
            return Actions(
                decode_arrays(spec.actions, actions.actions, rows), tuple(actions.abandoned_slots)
            )
        case "done":
            return Done()
        case "message":
            return Message(message.message.text)
        case "fault":
            return decode_fault(message.fault)
        case kind:
            raise BadReply("WRONG_KIND", got=kind or "an unknown reply", wanted="an answer")


def _decode_call(message: pb.AgentCall, spec: TaskSpec | None) -> Call:
    match message.WhichOneof("call"):
        case "turn" | "freeze" | "adapt_begin" | "adapt" | "cleanup" as name if spec is None:
            raise BadReply("WRONG_KIND", got=f"{name} before init", wanted="init")
        case "turn":
            assert spec is not None  # the case above
            return decode_turn(message.turn, spec)
        case "init":
            return Init(decode_spec(message.init.spec))
        case "message":
            return Message(message.message.text)
        case "refusal":
            return decode_refusal(message.refusal)
        case "farewell":
            return Farewell(told(message.farewell.reason))
        case str(name) if name in _EMPTY:
            return _EMPTY[name]
        case _:
            raise BadReply("WRONG_KIND", got="an unknown call", wanted="one of protocol 1.0")


def _encode_budget(message: pb.Budget, budget: Budget) -> None:
    """Written to by field, it is in the call only if something is limited."""
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
    given = message.budget
    return Budget(
        given.step_us if given.HasField("step_us") else None,
        given.bank_us if given.HasField("bank_us") else None,
        given.adapt_us if given.HasField("adapt_us") else None,
        given.run_us if given.HasField("run_us") else None,
    )
