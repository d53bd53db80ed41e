"""Answers of an agent that can be read, and are wrong."""

from __future__ import annotations

from reglue.v1.agent_pb2 import AgentReply

WRONG = ("later number", "earlier number", "kind", "shape", "nan", "slot")
"""The ways in which an answer is wrong."""

AGAIN = "again"
"""A right answer that is sent twice."""

_NO_SLOT = 99


def sent(message: bytes, how: str) -> list[bytes]:
    """The messages sent in place of an agent's: those that are not actions stay."""
    reply = AgentReply.FromString(message)
    if not reply.HasField("actions"):
        return [message]
    if how == AGAIN:
        return [message, message]
    _spoil(reply, how)
    return [reply.SerializeToString()]


def _spoil(reply: AgentReply, how: str) -> None:
    rows = reply.actions.actions
    match how:
        case "later number":
            reply.seq += 1
        case "earlier number":
            reply.seq -= 1
        case "kind":
            reply.done.SetInParent()
        case "shape":
            rows[0] += rows[0] + b"\0"
        case "nan":
            rows[0] = b"\xff" * len(rows[0])
        case "slot":
            reply.actions.abandoned_slots.append(_NO_SLOT)
        case _:
            raise ValueError(f"got {how!r}, wanted {' or '.join(WRONG)}")
