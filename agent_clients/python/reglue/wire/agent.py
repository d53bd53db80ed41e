"""Calls and replies to and from `agent.proto`."""

from __future__ import annotations

from reglue.errors import BadReply
from reglue.messages.agent import (
    UNLIMITED,
    Actions,
    Adapt,
    AdaptBegin,
    AgentInit,
    Budget,
    Call,
    Cleanup,
    Farewell,
    Fault,
    Freeze,
    Numbered,
    Refusal,
    Reply,
    RoutineDone,
    TextMessage,
    Turn,
)
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.wire.fields import Codec, FieldTable
from reglue.wire.session import SESSION_CODECS
from reglue.wire.specs import decode_spec, encode_spec
from reglue.wire.tensors import decode_arrays, encode_arrays
from reglue.wire.turns import decode_turn, encode_turn

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


def encode_reply(seq: int, reply: Reply, spec: TaskSpec | None) -> pb.AgentReply:
    """The message of a reply to call `seq`; `spec` is what Actions need."""
    message = pb.AgentReply(seq=seq)
    if isinstance(reply, Actions):
        assert spec is not None, "init comes before a turn"
        message.actions.actions.extend(encode_arrays(spec.actions, reply.arrays))
        if reply.abandon:
            message.actions.abandoned_slots.extend(reply.abandon)
    else:
        _REPLIES.encode(message, reply)
    return message


def decode_reply(message: pb.AgentReply, spec: TaskSpec | None, rows: int) -> Reply:
    """The reply of a message; `rows` is how many the turn asked for. Raises BadReply."""
    if message.WhichOneof("reply") != "actions" or spec is None:
        reply: Reply = _REPLIES.decode(message)
        return reply
    actions = message.actions
    if len(actions.abandoned_slots) > rows:
        got = f"{len(actions.abandoned_slots)} slots given up"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {rows}, those asked about")
    return Actions(
        decode_arrays(spec.actions, actions.actions, rows), tuple(actions.abandoned_slots)
    )


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
