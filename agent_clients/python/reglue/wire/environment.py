"""Calls and replies to and from `environment.proto`."""

from __future__ import annotations

from reglue.errors import BadReply, brief
from reglue.messages.agent import Cleanup, Done, Farewell, Fault, Message, Refusal
from reglue.messages.environment import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReply,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    Ready,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.spec import TaskSpec
from reglue.v1 import environment_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.plays import decode_play, decode_played, encode_play, encode_played
from reglue.wire.session import (
    decode_fault,
    decode_refusal,
    encode_fault,
    encode_refusal,
    told,
)
from reglue.wire.specs import decode_spec, encode_spec

MOST_TASKS = 10_000
"""Of one environment."""


def encode_environment_call(
    seq: int, call: EnvironmentCall, spec: TaskSpec | None
) -> pb.EnvironmentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a Play needs."""
    match call:
        case Play():
            assert spec is not None, "env_init comes before a Play"
            message = pb.EnvironmentCall(seq=seq)
            encode_play(message.play, call, spec)
            return message
        case EnvironmentInit(slots):
            return pb.EnvironmentCall(seq=seq, init=pb.EnvironmentInit(slots=slots))
        case GetState(slot):
            return pb.EnvironmentCall(seq=seq, get_state=pb.GetState(slot=slot))
        case SetState(slot, snapshot):
            return pb.EnvironmentCall(seq=seq, set_state=pb.SetState(slot=slot, snapshot=snapshot))
        case GetRandomSeed(slot):
            return pb.EnvironmentCall(seq=seq, get_random_seed=pb.GetRandomSeed(slot=slot))
        case SetRandomSeed(slot, snapshot):
            return pb.EnvironmentCall(
                seq=seq, set_random_seed=pb.SetRandomSeed(slot=slot, snapshot=snapshot)
            )
        case StandardizeRandomness(seed):
            standardize = pb.StandardizeRandomness(seed=seed)
            return pb.EnvironmentCall(seq=seq, standardize_randomness=standardize)
        case Message(text):
            return pb.EnvironmentCall(seq=seq, message=session_pb2.TextMessage(text=text))
        case Cleanup():
            return pb.EnvironmentCall(seq=seq, cleanup=session_pb2.Cleanup())
        case Refusal():
            return pb.EnvironmentCall(seq=seq, refusal=encode_refusal(call))
        case Farewell(reason):
            return pb.EnvironmentCall(seq=seq, farewell=session_pb2.Farewell(reason=reason))


def decode_environment_call(message: pb.EnvironmentCall, spec: TaskSpec | None) -> EnvironmentCall:
    """The call of a message. Raises BadReply if it is malformed."""
    match message.WhichOneof("call"):
        case "play" if spec is None:
            raise BadReply("WRONG_KIND", got="play before init", wanted="init")
        case "play":
            assert spec is not None  # the case above
            return decode_play(message.play, spec)
        case "init":
            return EnvironmentInit(message.init.slots)
        case "get_state":
            return GetState(message.get_state.slot)
        case "set_state":
            return SetState(message.set_state.slot, message.set_state.snapshot)
        case "get_random_seed":
            return GetRandomSeed(message.get_random_seed.slot)
        case "set_random_seed":
            return SetRandomSeed(message.set_random_seed.slot, message.set_random_seed.snapshot)
        case "standardize_randomness":
            return StandardizeRandomness(message.standardize_randomness.seed)
        case "message":
            return Message(message.message.text)
        case "cleanup":
            return Cleanup()
        case "refusal":
            return decode_refusal(message.refusal)
        case "farewell":
            return Farewell(told(message.farewell.reason))
        case _:
            raise BadReply("WRONG_KIND", got="an unknown call", wanted="one of protocol 1.0")


def encode_environment_reply(
    seq: int, reply: EnvironmentReply, spec: TaskSpec | None
) -> pb.EnvironmentReply:
    """The message of a reply to call `seq`; `spec` is what Played needs."""
    match reply:
        case Played():
            assert spec is not None, "env_init comes before a Play"
            message = pb.EnvironmentReply(seq=seq)
            encode_played(message.played, reply, spec)
            return message
        case Ready():
            return pb.EnvironmentReply(seq=seq, ready=_encode_ready(reply))
        case Snapshot(snapshot):
            return pb.EnvironmentReply(seq=seq, snapshot=pb.Snapshot(snapshot=snapshot))
        case Done():
            return pb.EnvironmentReply(seq=seq, done=session_pb2.RoutineDone())
        case Message(text):
            return pb.EnvironmentReply(seq=seq, message=session_pb2.TextMessage(text=text))
        case Refusal():
            return pb.EnvironmentReply(seq=seq, refusal=encode_refusal(reply))
        case Fault():
            return pb.EnvironmentReply(seq=seq, fault=encode_fault(reply))


def decode_environment_reply(
    message: pb.EnvironmentReply, call: EnvironmentCall, spec: TaskSpec | None
) -> EnvironmentReply:
    """The reply to `call`. Raises BadReply or SpecError if it is malformed."""
    match message.WhichOneof("reply"):
        case "played" if isinstance(call, Play) and spec is not None:
            return decode_played(message.played, call, spec)
        case "ready":
            return _decode_ready(message.ready)
        case "snapshot":
            return Snapshot(message.snapshot.snapshot)
        case "done":
            return Done()
        case "message":
            return Message(message.message.text)
        case "refusal":
            return decode_refusal(message.refusal)
        case "fault":
            return decode_fault(message.fault)
        case kind:
            raise BadReply("WRONG_KIND", got=kind or "an unknown reply", wanted="an answer")


def _encode_ready(ready: Ready) -> pb.EnvironmentReady:
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


def _decode_ready(message: pb.EnvironmentReady) -> Ready:
    if len(message.tasks) > MOST_TASKS:
        got = f"{len(message.tasks)} tasks"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {MOST_TASKS}")
    variants = {task.name: task.variants for task in message.tasks}
    if not variants or len(variants) != len(message.tasks) or not all(variants.values()):
        got = brief([(task.name, task.variants) for task in message.tasks])
        wanted = "at least one, each with a name of its own and a variant"
        raise BadReply("OUT_OF_DOMAIN", got=f"tasks {got}", wanted=wanted)
    return Ready(
        decode_spec(message.spec),
        variants,
        restores=message.restores,
        portable=message.portable,
        seeds=message.seeds,
        standardizes=message.standardizes,
        tells_success=not message.tells_no_success,
    )
