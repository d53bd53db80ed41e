"""Converts messages that the sessions of all roles share from and to `session.proto`."""

from __future__ import annotations

from reglue.error_message import printable
from reglue.messages.agent_messages import Farewell, Fault, Refusal
from reglue.v1 import session_pb2 as pb
from reglue.wire.fields import Codec

MOST_WORDS = 4096
"""The most characters of a Fault, and of `got` and `wanted` of a Refusal; more are cut."""


def encode_refusal(refusal: Refusal) -> pb.Refusal:
    """The message of a refusal."""
    return pb.Refusal(
        of_seq=refusal.of_seq,
        code=f"REFUSAL_CODE_{refusal.code}",
        got=refusal.got,
        wanted=refusal.wanted,
    )


def decode_refusal(message: pb.Refusal) -> Refusal:
    """The refusal of a message.

    A later minor version may have more codes: the text still explains the refusal.
    """
    number = message.code if message.code in pb.RefusalCode.values() else 0
    code = pb.RefusalCode.Name(number).removeprefix("REFUSAL_CODE_")
    return Refusal(message.of_seq, code, received_text(message.got), received_text(message.wanted))


def encode_fault(fault: Fault) -> pb.Fault:
    """The message of a fault, cut to MOST_WORDS."""
    return pb.Fault(what=fault.what[:MOST_WORDS])


def decode_fault(message: pb.Fault) -> Fault:
    """The fault of a message."""
    return Fault(received_text(message.what))


def received_text(text: str) -> str:
    """A peer's words as they may be printed: cut to MOST_WORDS, then `printable`."""
    return printable(text[:MOST_WORDS])


SESSION_CODECS = {
    Refusal: Codec(encode_refusal, decode_refusal),
    Fault: Codec(encode_fault, decode_fault),
    Farewell: Codec(
        lambda farewell: pb.Farewell(reason=farewell.reason),
        lambda message: Farewell(received_text(message.reason)),
    ),
}
"""The kinds of all roles that hold a peer's words."""
