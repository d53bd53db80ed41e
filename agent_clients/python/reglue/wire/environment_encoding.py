"""Converts calls and replies from and to `environment.proto`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from reglue.error_message import brief
from reglue.errors import BadReply
from reglue.messages.agent_messages import (
    Cleanup,
    Farewell,
    Fault,
    Phase,
    Refusal,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import (
    Cell,
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
from reglue.wire.session_encoding import SESSION_CODECS, received_text
from reglue.wire.spec_encoding import decode_spec, encode_spec
from reglue.wire.tensors import (
    REWARDS,
    decode_array,
    decode_arrays,
    decode_flags,
    encode_array,
    encode_arrays,
    encode_flags,
)

MOST_TASKS = 10_000
"""The most tasks of one environment."""


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
        raw_actions=ready.raw_actions,
        whole_turns=ready.whole_turns,
        not_repeatable=not ready.repeatable,
        separate_slots=ready.separate_slots,
        nullable=ready.nullable,
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
        raw_actions=message.raw_actions,
        whole_turns=message.whole_turns,
        repeatable=not message.not_repeatable,
        separate_slots=message.separate_slots,
        nullable=tuple(message.nullable),
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


_PHASES = {int(phase): phase for phase in Phase}
_REMEMBERED = 16  # a few sets of slots


def encode_play(message: pb.Play, play: Play, spec: TaskSpec) -> None:
    """Write it to an empty message in place, in half the time of a constructor."""
    message.SetInParent()
    if len(play.slots):
        message.step_slots.extend(play.slots.tolist())
        message.actions.extend(encode_arrays(spec.actions, play.actions))
    if play.starts:
        message.start_slots.extend(play.starts)
        message.cells.extend(map(_encode_cell, play.starts.values()))


def decode_play(message: pb.Play, spec: TaskSpec) -> Play:
    """The Play of a message. Raises BadReply if it does not fit the session."""
    count = len(message.step_slots) + len(message.start_slots)
    if count > spec.slots or len(message.cells) != len(message.start_slots):
        got = f"{count} slots and {len(message.cells)} cells"
        raise BadReply("WRONG_SIZE", got=got, wanted="each slot once, and a cell a start")
    start_slots = message.start_slots[:]
    slots = _stepping(tuple(message.step_slots), tuple(start_slots), spec.slots)
    return Play(
        slots=slots,
        actions=decode_arrays(spec.actions, message.actions, len(slots)) if len(slots) else {},
        starts=dict(zip(start_slots, map(_decode_cell, message.cells), strict=True)),
    )


@lru_cache(_REMEMBERED)
def _stepping(
    step_slots: tuple[int, ...], start_slots: tuple[int, ...], played: int
) -> npt.NDArray[np.uint32]:
    """`step_slots` as an array, read-only: many Plays have the same. Raises BadReply."""
    slots = step_slots + start_slots
    if len(set(slots)) != len(slots):
        raise BadReply("WRONG_SIZE", got=f"slots {brief(slots)}", wanted="each once")
    if slots and (most := max(slots)) >= played:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {most}", wanted=f"0 to {played - 1}")
    stepping = np.array(step_slots, np.uint32)
    stepping.setflags(write=False)
    return stepping


def encode_played(message: pb.Played, played: Played, spec: TaskSpec) -> None:
    """Write it to an empty message in place."""
    rows = len(next(iter(played.observations.values())))
    message.SetInParent()
    message.rewards = encode_array(REWARDS, played.rewards)
    message.observations.extend(encode_arrays(spec.observations, played.observations))
    flags = encode_flags(played.terminated, played.truncated, played.success)
    message.flags = flags.ljust(rows, b"\0")
    for slot, what in played.faults.items():
        message.faults.add(slot=slot, what=what, illegal_action=slot in played.illegal)


def decode_played(message: pb.Played, play: Play, spec: TaskSpec) -> Played:
    """The answer to `play`. Raises BadReply if it does not fit."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    faults = _faults(message.faults, play) if message.faults else {}
    terminated, truncated, success = decode_flags(_flags(message.flags, steps, rows))
    return Played(
        rewards=_rewards(message.rewards, play, faults),
        observations=decode_arrays(spec.observations, message.observations, rows),
        terminated=terminated,
        truncated=truncated,
        success=success,
        faults=faults,
        illegal=frozenset(fault.slot for fault in message.faults if fault.illegal_action),
    )


def _faults(faults_sent: Sequence[pb.SlotFault], play: Play) -> dict[int, str]:
    """Faults by slot, as texts. Raises BadReply for slots that were not played."""
    expected = {*play.slots.tolist(), *play.starts}
    if len(faults_sent) > len(expected):
        got = f"{len(faults_sent)} faults"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {len(expected)}, one a slot")
    faults = {fault.slot: received_text(fault.what) for fault in faults_sent}
    if not expected.issuperset(faults):
        raise BadReply(
            "OUT_OF_DOMAIN", got=f"faults of slots {brief([*faults])}", wanted="slots asked"
        )
    return faults


def _flags(entry: bytes, steps: int, rows: int) -> bytes:
    """The steps' flags; starts must have none."""
    if len(entry) != rows:
        got = f"{len(entry)} flags"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"{rows}: one for each step, then each start")
    if entry.count(0, steps) != rows - steps:
        got = "flags on a first observation"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="env_start never ends an episode")
    return entry[:steps]


def _rewards(entry: bytes, play: Play, faults: Mapping[int, str]) -> npt.NDArray[np.float64]:
    rewards = decode_array(REWARDS, entry, len(play.slots))
    finite = np.isfinite(rewards)
    if 0 in finite.tobytes() and not faults.keys() >= {*play.slots[~finite].tolist()}:
        raise BadReply(
            "NOT_FINITE", got=f"rewards {brief(rewards.tolist())}", wanted="finite numbers"
        )
    return rewards


def _encode_cell(cell: Cell) -> pb.Cell:
    return pb.Cell(
        task=cell.task,
        variant=cell.variant,
        seed=cell.seed,
        repeat=cell.repeat,
        phase=int(cell.phase),  # type: ignore[arg-type]
        steps=cell.steps,
        seeds_reset=cell.seeds_reset,
    )


def _decode_cell(message: pb.Cell) -> Cell:
    if (phase := _PHASES.get(message.phase)) is None:
        raise BadReply("OUT_OF_DOMAIN", got=f"phase {message.phase}", wanted="one of protocol 1.0")
    return Cell(
        message.task,
        message.variant,
        message.seed,
        message.repeat,
        phase,
        message.steps,
        message.seeds_reset,
    )
