"""Calls and replies of `environment.proto` as serialised messages."""

from __future__ import annotations

from reglue.messages.environment import EnvironmentCall, EnvironmentReply
from reglue.spec import TaskSpec
from reglue.v1 import environment_pb2 as pb
from reglue.wire.environment import (
    decode_environment_call,
    decode_environment_reply,
    encode_environment_call,
    encode_environment_reply,
)


def environment_call_to_bytes(call: EnvironmentCall, spec: TaskSpec) -> bytes:
    """The serialised message, without a number: for channels that keep order."""
    return encode_environment_call(0, call, spec).SerializeToString()


def environment_call_from_bytes(message: bytes, spec: TaskSpec) -> EnvironmentCall:
    """The call of a serialised message. Raises BadReply if it is malformed."""
    return decode_environment_call(pb.EnvironmentCall.FromString(message), spec)


def environment_reply_to_bytes(reply: EnvironmentReply, spec: TaskSpec) -> bytes:
    """The serialised message, without a number."""
    return encode_environment_reply(0, reply, spec).SerializeToString()


def environment_reply_from_bytes(
    message: bytes, call: EnvironmentCall, spec: TaskSpec
) -> EnvironmentReply:
    """The reply to `call`. Raises BadReply if it is malformed."""
    return decode_environment_reply(pb.EnvironmentReply.FromString(message), call, spec)
