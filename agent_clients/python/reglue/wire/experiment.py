"""Calls and answers to and from `experiment.proto`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import (
    ROUTINE_REFUSALS,
    AgentFault,
    BadReply,
    EnvironmentFault,
    ReglueError,
    RoutineRefused,
)
from reglue.messages.agent import Cleanup, Fault, Freeze, Refusal, RoutineDone, TextMessage
from reglue.messages.environment import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment import (
    Acted,
    Answer,
    Counts,
    EnvMessage,
    EpisodePlayed,
    ExperimentCall,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    SnapshotKey,
    Started,
    Stepped,
)
from reglue.spec import Arrays, TaskSpec, TensorSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.wire.fields import Codec, FieldTable
from reglue.wire.session import decode_fault, decode_refusal, encode_fault, encode_refusal
from reglue.wire.specs import decode_spec, encode_spec
from reglue.wire.tensors import (
    REWARDS,
    decode_array,
    decode_arrays,
    decode_flags,
    encode_array,
    encode_arrays,
    encode_flags,
)

_Entries = Any  # a repeated field of bytes
_Named = Any  # a message with a repeated field `slots`

_BEFORE_INIT = 4096  # slots that may be named then, out of order as they are

_ANSWERS: Mapping[type, type] = {
    RLInit: TaskSpec,
    RLStart: Started,
    RLStep: Stepped,
    RLEpisode: EpisodePlayed,
    RLCounts: Counts,
    GetState: SnapshotKey,
    GetRandomSeed: SnapshotKey,
    TextMessage: TextMessage,
    EnvMessage: TextMessage,
    RLEnvStart: Started,
    RLEnvStep: Stepped,
    RLAgentStart: Acted,
    RLAgentStep: Acted,
}
"""What answers each call; RoutineDone answers the others."""


_CALLS = FieldTable(
    "call",
    {
        "init": RLInit,
        "start": RLStart,
        "step": RLStep,
        "episode": RLEpisode,
        "counts": RLCounts,
        "cleanup": Cleanup,
        "freeze": Freeze,
        "standardize_randomness": StandardizeRandomness,
        "get_state": GetState,
        "set_state": RLSetState,
        "get_random_seed": GetRandomSeed,
        "set_random_seed": RLSetRandomSeed,
        "agent_message": TextMessage,
        "env_message": EnvMessage,
        "env_start": RLEnvStart,
    },
    {},
)
_NAME_SLOTS = frozenset(("start", "step", "episode", "env_start"))
_WITH_ROWS = frozenset(("env_step", "agent_start", "agent_step", "agent_end"))
_REPLIES = FieldTable(
    "reply",
    {
        "spec": TaskSpec,
        "counts": Counts,
        "key": SnapshotKey,
        "message": TextMessage,
        "done": RoutineDone,
    },
    {TaskSpec: Codec(encode_spec, decode_spec)},
)


def encode_experiment_call(
    seq: int, call: ExperimentCall, spec: TaskSpec | None
) -> pb.ExperimentCall:
    """The message of a call; `spec` is what rows of actions and observations need."""
    if isinstance(call, (RLEnvStep, RLAgentStart, RLAgentStep, RLAgentEnd)):
        return _encode_rows(seq, call, spec)
    message = pb.ExperimentCall(seq=seq)
    _CALLS.encode(message, call)
    return message


def _encode_rows(
    seq: int, call: RLEnvStep | RLAgentStart | RLAgentStep | RLAgentEnd, spec: TaskSpec | None
) -> pb.ExperimentCall:
    """A half step, unchecked: the glue refuses wrong rows and says what it wanted."""
    seen = spec.observations if spec else ()
    match call:
        case RLEnvStep(slots, actions):
            rows = _written(spec.actions if spec else (), actions)
            return pb.ExperimentCall(seq=seq, env_step=pb.RlEnvStep(slots=slots, actions=rows))
        case RLAgentStart(slots, observations):
            start = pb.RlAgentStart(slots=slots, observations=_written(seen, observations))
            return pb.ExperimentCall(seq=seq, agent_start=start)
        case RLAgentStep(slots, rewards, observations):
            step = pb.RlAgentStep(
                slots=slots,
                rewards=encode_array(REWARDS, rewards),
                observations=_written(seen, observations),
            )
            return pb.ExperimentCall(seq=seq, agent_step=step)
        case RLAgentEnd(slots, rewards, observations, truncated):
            end = pb.RlAgentEnd(
                slots=slots,
                rewards=encode_array(REWARDS, rewards),
                observations=_written(seen, observations),
                truncated=truncated,
            )
            return pb.ExperimentCall(seq=seq, agent_end=end)


def decode_experiment_call(message: pb.ExperimentCall, spec: TaskSpec | None) -> ExperimentCall:
    """The call of a message. Raises BadReply if it is malformed."""
    kind = message.WhichOneof("call")
    if kind in _WITH_ROWS:
        return _decode_rows(message, kind, spec)
    if kind in _NAME_SLOTS:
        _check_slots(getattr(message, kind), spec)
    call: ExperimentCall = _CALLS.decode(message)
    return replace(call, slots=call.slots or 1) if isinstance(call, RLInit) else call


def _decode_rows(message: pb.ExperimentCall, kind: str, spec: TaskSpec | None) -> ExperimentCall:
    if spec is None:
        raise BadReply("OUT_OF_ORDER", got=f"{kind} before RL_init", wanted="RL_init first")
    body = getattr(message, kind)
    slots = _slots(body, spec)
    if not slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"{kind} of no slots", wanted="at least one")
    match kind:
        case "env_step":
            return RLEnvStep(slots, decode_arrays(spec.actions, body.actions, len(slots)))
        case "agent_start":
            return RLAgentStart(
                slots, decode_arrays(spec.observations, body.observations, len(slots))
            )
    observations = decode_arrays(spec.observations, body.observations, len(slots))
    rewards = decode_array(REWARDS, body.rewards, len(slots))
    if kind == "agent_step":
        return RLAgentStep(slots, rewards, observations)
    return RLAgentEnd(slots, rewards, observations, body.truncated)


def encode_answer(seq: int, answer: Answer, spec: TaskSpec | None) -> pb.ExperimentReply:
    """The message of what a routine returns."""
    seen, chosen = (spec.observations, spec.actions) if spec else ((), ())
    match answer:
        case Started(slots, observations, actions):
            started = pb.Started(
                slots=slots,
                observations=_written(seen, observations),
                actions=_written(chosen, actions),
            )
            return pb.ExperimentReply(seq=seq, started=started)
        case Stepped(slots, rewards, observations, actions=actions):
            message = pb.ExperimentReply(seq=seq)
            stepped = message.stepped  # in place: half the price of a constructor's
            stepped.slots.extend(slots)
            stepped.rewards = encode_array(REWARDS, rewards)
            stepped.observations.extend(_written(seen, observations))
            stepped.flags = _flags(answer)
            stepped.actions.extend(_written(chosen, actions))
            return message
        case EpisodePlayed(slots):
            played = pb.EpisodePlayed(slots=slots, flags=_flags(answer))
            return pb.ExperimentReply(seq=seq, episode=played)
        case Acted(slots, actions):
            acted = pb.Acted(slots=slots, actions=_written(chosen, actions))
            return pb.ExperimentReply(seq=seq, acted=acted)
        case _:
            message = pb.ExperimentReply(seq=seq)
            _REPLIES.encode(message, answer)
            return message


def encode_failure(seq: int, error: ReglueError) -> pb.ExperimentReply:
    """The message of what a routine raised; it says whose fault it was."""
    match error:
        case RoutineRefused(code=code, got=got, wanted=wanted):
            refusal = encode_refusal(Refusal(seq, code, got, wanted))
            return pb.ExperimentReply(seq=seq, refusal=refusal)
        case EnvironmentFault():
            return pb.ExperimentReply(seq=seq, environment_fault=encode_fault(Fault(str(error))))
        case AgentFault():
            return pb.ExperimentReply(seq=seq, agent_fault=encode_fault(Fault(str(error))))
        case _:
            refusal = encode_refusal(Refusal(seq, "OUT_OF_DOMAIN", str(error), "what can be done"))
            return pb.ExperimentReply(seq=seq, refusal=refusal)


def decode_answer(
    message: pb.ExperimentReply, call: ExperimentCall, spec: TaskSpec | None
) -> Answer:
    """What the routine returned; raises what it raised, and BadReply if it is malformed."""
    answer = _decode_answer(message, call, spec)
    wanted = _ANSWERS.get(type(call), RoutineDone)
    if type(answer) is not wanted:
        raise BadReply("WRONG_KIND", got=type(answer).__name__, wanted=wanted.__name__)
    return answer


def _decode_answer(
    message: pb.ExperimentReply, call: ExperimentCall, spec: TaskSpec | None
) -> Answer:
    match message.WhichOneof("reply"):
        case "started" if spec is not None:
            return _decode_started(message.started, spec, actions=isinstance(call, RLStart))
        case "stepped" if spec is not None:
            return _decode_stepped(message.stepped, spec, actions=isinstance(call, RLStep))
        case "episode":
            slots = _slots(message.episode, spec)
            return EpisodePlayed(slots, *_read_flags(message.episode.flags, len(slots)))
        case "acted" if spec is not None:
            slots = _slots(message.acted, spec)
            return Acted(slots, decode_arrays(spec.actions, message.acted.actions, len(slots)))
        case "refusal" | "agent_fault" | "environment_fault":
            raise _failure(message)
        case _:
            answer: Answer = _REPLIES.decode(message)
            return answer


def _failure(message: pb.ExperimentReply) -> ReglueError:
    match message.WhichOneof("reply"):
        case "agent_fault":
            return AgentFault(decode_fault(message.agent_fault).what)
        case "environment_fault":
            return EnvironmentFault(decode_fault(message.environment_fault).what)
    refusal = decode_refusal(message.refusal)
    kind = ROUTINE_REFUSALS.get(refusal.code, RoutineRefused)
    refused = kind(got=refusal.got, wanted=refusal.wanted)
    refused.code = refusal.code
    return refused


def _decode_started(message: pb.Started, spec: TaskSpec, *, actions: bool) -> Started:
    slots = _slots(message, spec)
    observations = decode_arrays(spec.observations, message.observations, len(slots))
    return Started(slots, observations, _chosen(message.actions, spec, len(slots), actions=actions))


def _decode_stepped(message: pb.Stepped, spec: TaskSpec, *, actions: bool) -> Stepped:
    slots = _slots(message, spec)
    terminated, truncated, success = _read_flags(message.flags, len(slots))
    return Stepped(
        slots,
        decode_array(REWARDS, message.rewards, len(slots)),
        decode_arrays(spec.observations, message.observations, len(slots)),
        terminated,
        truncated,
        success,
        _chosen(message.actions, spec, len(slots), actions=actions),
    )


def _slots(named: _Named, spec: TaskSpec | None) -> tuple[int, ...]:
    _check_slots(named, spec)
    return tuple(named.slots)


def _check_slots(named: _Named, spec: TaskSpec | None) -> None:
    """Count the slots of a message, before they are copied."""
    count, most = len(named.slots), _BEFORE_INIT if spec is None else spec.slots
    if count > most:
        raise BadReply("OUT_OF_DOMAIN", got=f"{count} slots", wanted=f"at most {most}, each once")


def _chosen(entries: _Entries, spec: TaskSpec, rows: int, *, actions: bool) -> Arrays:
    return decode_arrays(spec.actions, entries, rows) if actions else {}


def _written(tensors: tuple[TensorSpec, ...], arrays: Arrays) -> list[bytes]:
    """The arrays in the spec's order; arrays with other names are left out."""
    if {tensor.name for tensor in tensors} != arrays.keys():
        return []
    return encode_arrays(tensors, arrays)


def _flags(answer: Stepped | EpisodePlayed) -> bytes:
    return encode_flags(answer.terminated, answer.truncated, answer.success)


def _read_flags(entry: bytes, rows: int) -> list[npt.NDArray[np.bool_]]:
    if len(entry) != rows:
        raise BadReply("WRONG_SIZE", got=f"{len(entry)} flags", wanted=f"{rows}")
    return decode_flags(entry)
