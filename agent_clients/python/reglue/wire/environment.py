"""Calls and replies to and from `environment.proto`."""

from __future__ import annotations

from reglue.errors import BadReply, brief
from reglue.messages.agent import Cleanup, Farewell, Fault, Refusal, RoutineDone, TextMessage
from reglue.messages.environment import (
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
from reglue.spec import TaskSpec
from reglue.v1 import environment_pb2 as pb
from reglue.wire.fields import Codec, FieldTable
from reglue.wire.plays import decode_play, decode_played, encode_play, encode_played
from reglue.wire.session import SESSION_CODECS
from reglue.wire.specs import decode_spec, encode_spec

MOST_TASKS = 10_000
"""Of one environment."""


def encode_environment_call(
    seq: int, call: EnvironmentCall, spec: TaskSpec | None
) -> pb.EnvironmentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a Play needs."""
    message = pb.EnvironmentCall(seq=seq)
    if isinstance(call, Play):
        assert spec is not None, "env_init comes before a Play"
        encode_play(message.play, call, spec)
    else:
        _CALLS.encode(message, call)
    return message


def decode_environment_call(message: pb.EnvironmentCall, spec: TaskSpec | None) -> EnvironmentCall:
    """The call of a message. Raises BadReply if it is malformed."""
    if message.WhichOneof("call") == "play":
        if spec is None:
            raise BadReply("WRONG_KIND", got="play before init", wanted="init")
        return decode_play(message.play, spec)
    call: EnvironmentCall = _CALLS.decode(message)
    return call


def encode_environment_reply(
    seq: int, reply: EnvironmentReply, spec: TaskSpec | None
) -> pb.EnvironmentReply:
    """The message of a reply to call `seq`; `spec` is what Played needs."""
    message = pb.EnvironmentReply(seq=seq)
    if isinstance(reply, Played):
        assert spec is not None, "env_init comes before a Play"
        encode_played(message.played, reply, spec)
    else:
        _REPLIES.encode(message, reply)
    return message


def decode_environment_reply(
    message: pb.EnvironmentReply, call: EnvironmentCall, spec: TaskSpec | None
) -> EnvironmentReply:
    """The reply to `call`. Raises BadReply or SpecError if it is malformed."""
    if message.WhichOneof("reply") == "played" and isinstance(call, Play) and spec is not None:
        return decode_played(message.played, call, spec)
    reply: EnvironmentReply = _REPLIES.decode(message)
    return reply


def _encode_ready(ready: EnvironmentReady) -> pb.EnvironmentReady:
    return pb.EnvironmentReady(
        spec=encode_spec(ready.spec),
        tasks=[
            pb.EnvironmentTask(name=name, variants=count) for name, count in ready.variants.items()
        ],
        restores=ready.restores,
        portable=ready.portable,
        seeds=ready.seeds,
        standardizes=ready.standardizes,
        tells_no_success=not ready.tells_success,
    )


def _decode_ready(message: pb.EnvironmentReady) -> EnvironmentReady:
    if len(message.tasks) > MOST_TASKS:
        got = f"{len(message.tasks)} tasks"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {MOST_TASKS}")
    variants = {task.name: task.variants for task in message.tasks}
    if not variants or len(variants) != len(message.tasks) or not all(variants.values()):
        got = brief([(task.name, task.variants) for task in message.tasks])
        wanted = "at least one, each with a name of its own and a variant"
        raise BadReply("OUT_OF_DOMAIN", got=f"tasks {got}", wanted=wanted)
    return EnvironmentReady(
        decode_spec(message.spec),
        variants,
        restores=message.restores,
        portable=message.portable,
        seeds=message.seeds,
        standardizes=message.standardizes,
        tells_success=not message.tells_no_success,
    )


_CALLS = FieldTable(
    "call",
    {
        "init": EnvironmentInit,
        "get_state": GetState,
        "set_state": SetState,
        "get_random_seed": GetRandomSeed,
        "set_random_seed": SetRandomSeed,
        "standardize_randomness": StandardizeRandomness,
        "message": TextMessage,
        "cleanup": Cleanup,
        "refusal": Refusal,
        "farewell": Farewell,
    },
    SESSION_CODECS,
)
_REPLIES = FieldTable(
    "reply",
    {
        "ready": EnvironmentReady,
        "snapshot": Snapshot,
        "done": RoutineDone,
        "message": TextMessage,
        "refusal": Refusal,
        "fault": Fault,
    },
    SESSION_CODECS | {EnvironmentReady: Codec(_encode_ready, _decode_ready)},
)
