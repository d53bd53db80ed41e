"""Calls and replies to and from `environment.proto`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.calls import Cleanup, Done, Farewell, Fault, Message, Phase, Refusal
from reglue.environment_calls import (
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
from reglue.errors import BadReply
from reglue.spec import TaskSpec
from reglue.v1 import environment_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.session_messages import decode_fault, decode_refusal, encode_fault, encode_refusal
from reglue.wire.specs import decode_spec, encode_spec
from reglue.wire.tensors import decode_array, decode_arrays, encode_arrays
from reglue.worlds import Cell

_TERMINATED, _TRUNCATED, _SUCCESS = 1, 2, 4
_PHASES = frozenset(map(int, Phase))


def encode_environment_call(
    seq: int, call: EnvironmentCall, spec: TaskSpec | None
) -> pb.EnvironmentCall:
    """The message of a call; `spec` is the session's TaskSpec, which a Play needs."""
    match call:
        case Play():
            assert spec is not None, "env_init comes before a Play"
            return pb.EnvironmentCall(seq=seq, play=_encode_play(call, spec))
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
            return pb.EnvironmentCall(seq=seq, message=session_pb2.Message(text=text))
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
            return _decode_play(message.play, spec)
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
            return Farewell(message.farewell.reason)
        case _:
            raise BadReply("WRONG_KIND", got="an unknown call", wanted="one of protocol 1.0")


def encode_environment_reply(
    seq: int, reply: EnvironmentReply, spec: TaskSpec | None
) -> pb.EnvironmentReply:
    """The message of a reply to call `seq`; `spec` is what Played needs."""
    match reply:
        case Played():
            assert spec is not None, "env_init comes before a Play"
            return pb.EnvironmentReply(seq=seq, played=_encode_played(reply, spec))
        case Ready():
            return pb.EnvironmentReply(seq=seq, ready=_encode_ready(reply))
        case Snapshot(snapshot):
            return pb.EnvironmentReply(seq=seq, snapshot=pb.Snapshot(snapshot=snapshot))
        case Done():
            return pb.EnvironmentReply(seq=seq, done=session_pb2.Done())
        case Message(text):
            return pb.EnvironmentReply(seq=seq, message=session_pb2.Message(text=text))
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
            return _decode_played(message.played, call, spec)
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


def _encode_play(play: Play, spec: TaskSpec) -> pb.Play:
    return pb.Play(
        step_slots=play.slots.tolist(),
        action=encode_arrays(spec.actions, play.actions) if len(play.slots) else [],
        start_slots=list(play.starts),
        cells=[
            pb.Cell(
                task=cell.task,
                variant=cell.variant,
                seed=cell.seed,
                repeat=cell.repeat,
                phase=int(cell.phase),  # type: ignore[arg-type]
            )
            for cell in play.starts.values()
        ],
    )


def _decode_play(message: pb.Play, spec: TaskSpec) -> Play:
    slots = [*message.step_slots, *message.start_slots]
    if len(set(slots)) != len(slots) or len(message.cells) != len(message.start_slots):
        raise BadReply("WRONG_SIZE", got=f"slots {slots}", wanted="each once, and a cell a start")
    if any(slot >= spec.slots for slot in slots):
        raise BadReply("OUT_OF_DOMAIN", got=f"slots {slots}", wanted=f"0 to {spec.slots - 1}")
    steps = len(message.step_slots)
    return Play(
        slots=np.array(message.step_slots, np.uint32),
        actions=decode_arrays(spec.actions, message.action, steps) if steps else {},
        starts=dict(zip(message.start_slots, map(_decode_cell, message.cells), strict=True)),
    )


def _decode_cell(message: pb.Cell) -> Cell:
    if int(message.phase) not in _PHASES:
        raise BadReply("OUT_OF_DOMAIN", got=f"phase {message.phase}", wanted="one of protocol 1.0")
    return Cell(message.task, message.variant, message.seed, message.repeat, Phase(message.phase))


def _encode_ready(ready: Ready) -> pb.EnvironmentReady:
    return pb.EnvironmentReady(
        spec=encode_spec(ready.spec),
        tasks=[pb.Task(name=name, variants=count) for name, count in ready.variants.items()],
        restores=ready.restores,
        portable=ready.portable,
        seeds=ready.seeds,
        standardizes=ready.standardizes,
    )


def _decode_ready(message: pb.EnvironmentReady) -> Ready:
    variants = {task.name: task.variants for task in message.tasks}
    if not variants or len(variants) != len(message.tasks) or not all(variants.values()):
        got = [(task.name, task.variants) for task in message.tasks[:20]]
        wanted = "at least one, each with a name of its own and a variant"
        raise BadReply("OUT_OF_DOMAIN", got=f"tasks {got}", wanted=wanted)
    return Ready(
        decode_spec(message.spec),
        variants,
        restores=message.restores,
        portable=message.portable,
        seeds=message.seeds,
        standardizes=message.standardizes,
    )


def _encode_played(played: Played, spec: TaskSpec) -> pb.Played:
    flags = (
        _TERMINATED * played.terminated + _TRUNCATED * played.truncated + _SUCCESS * played.success
    )
    rows = len(next(iter(played.observations.values())))
    return pb.Played(
        reward=played.rewards.astype("<f8", copy=False).tobytes(),
        observation=encode_arrays(spec.observations, played.observations),
        flags=flags.astype(np.uint8).tobytes() + bytes(rows - len(flags)),
        faults=[pb.SlotFault(slot=slot, what=what) for slot, what in played.faults.items()],
    )


def _decode_played(message: pb.Played, play: Play, spec: TaskSpec) -> Played:
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    faults = {fault.slot: decode_fault(fault).what for fault in message.faults}  # type: ignore[arg-type]
    _check_played(message, play, faults)
    flags = np.frombuffer(message.flags, np.uint8)[:steps]
    return Played(
        rewards=_rewards(message.reward, play, faults),
        observations=decode_arrays(spec.observations, message.observation, rows),
        terminated=_flag(flags, _TERMINATED),
        truncated=_flag(flags, _TRUNCATED),
        success=_flag(flags, _SUCCESS),
        faults=faults,
    )


def _check_played(message: pb.Played, play: Play, faults: Sequence[int] | Any) -> None:
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    if len(message.flags) != rows:
        got = f"{len(message.flags)} flags"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"{rows}: one for each step, then each start")
    if any(message.flags[steps:]):
        got = "flags on a first observation"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="env_start never ends an episode")
    if not {*play.slots.tolist(), *play.starts}.issuperset(faults):
        raise BadReply("OUT_OF_DOMAIN", got=f"faults of slots {list(faults)}", wanted="slots asked")


def _rewards(entry: bytes, play: Play, faults: Any) -> npt.NDArray[np.float64]:
    if len(entry) != 8 * len(play.slots):
        got = f"{len(entry)} bytes of rewards"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"{8 * len(play.slots)}")
    rewards = decode_array("float64", entry)
    finite = np.isfinite(rewards)
    if not finite.all() and not np.isin(play.slots[~finite], list(faults)).all():
        raise BadReply("NOT_FINITE", got=f"rewards {rewards.tolist()}", wanted="finite numbers")
    return rewards


def _flag(flags: npt.NDArray[np.uint8], bit: int) -> npt.NDArray[np.bool_]:
    return np.asarray((flags & bit) != 0)
