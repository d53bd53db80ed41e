"""Converts calls and answers from and to `experiment.proto`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Fault,
    Freeze,
    Refusal,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.experiment_messages import (
    Acted,
    Answer,
    Counts,
    EnvMessage,
    EpisodePlayed,
    ExperimentCall,
    Goal,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLCounts,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLInit,
    RLIterateGoal,
    RLSetRandomSeed,
    RLSetState,
    RLStart,
    RLStep,
    RLTasks,
    SnapshotKey,
    Started,
    Stepped,
    Tasks,
)
from reglue.spec import Arrays, TaskSpec, TensorSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.wire.fields import Codec, FieldTable
from reglue.wire.session_encoding import decode_fault, decode_refusal, encode_fault, encode_refusal
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

_Named = Any  # a message with a repeated field `slots`

_BEFORE_INIT = 4096  # slots that may be named then, out of order as they are

_ANSWERS: Mapping[type, type] = {
    RLInit: TaskSpec,
    RLStart: Started,
    RLStep: Stepped,
    RLEpisode: EpisodePlayed,
    RLTasks: Tasks,
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
"""The type of the answer to each call; RoutineDone answers the others."""


def _encode_tasks(tasks: Tasks) -> pb.Tasks:
    message = pb.Tasks()
    for name, variants in tasks.variants.items():
        message.tasks.add(name=name, variants=variants)
    return message


def _decode_tasks(message: pb.Tasks) -> Tasks:
    return Tasks({task.name: task.variants for task in message.tasks})


def _starts_of(message: type, kind: type) -> Codec:
    """The codec of a call with slots, other numbers and perhaps a goal."""
    names = [name for name in message.DESCRIPTOR.fields_by_name if name != "goal"]  # type: ignore[attr-defined]

    def encode(call: Any) -> Any:
        written = message(**{name: getattr(call, name) for name in names})
        if call.goal is not None:
            written.goal.SetInParent()
            written.goal.task, written.goal.variant = call.goal.task, call.goal.variant
        return written

    def decode(read: Any) -> Any:
        goal = Goal(read.goal.task, read.goal.variant) if read.HasField("goal") else None
        fields = {name: getattr(read, name) for name in names}
        return kind(**(fields | {"slots": tuple(read.slots)}), goal=goal)

    return Codec(encode, decode)


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
        "adapt_begin": AdaptBegin,
        "adapt": Adapt,
        "tasks": RLTasks,
        "iterate_goal": RLIterateGoal,
    },
    {
        RLStart: _starts_of(pb.RlStart, RLStart),
        RLEpisode: _starts_of(pb.RlEpisode, RLEpisode),
        RLEnvStart: _starts_of(pb.RlEnvStart, RLEnvStart),
    },
)
_NAME_SLOTS = frozenset(("start", "step", "episode", "env_start", "iterate_goal"))
STEP_ALL = RLStep()  # what most programs ask for, again and again
_ROW_CALLS: Mapping[str, type] = {
    "env_step": RLEnvStep,
    "agent_start": RLAgentStart,
    "agent_step": RLAgentStep,
    "agent_end": RLAgentEnd,
}
_ROW_ANSWERS: Mapping[str, type] = {
    "started": Started,
    "stepped": Stepped,
    "episode": EpisodePlayed,
    "acted": Acted,
}


def _fields(
    message: Any, kinds: Mapping[str, type]
) -> Iterator[tuple[type, tuple[str, list[str]]]]:
    for name, kind in kinds.items():
        fields = message.DESCRIPTOR.fields_by_name[name].message_type.fields
        yield kind, (name, [field.name for field in fields if field.name != "slots"])


_ROWS = dict((*_fields(pb.ExperimentCall, _ROW_CALLS), *_fields(pb.ExperimentReply, _ROW_ANSWERS)))
"""Kinds with a row for each slot: the oneof's field -> its message's fields, without `slots`."""

_REPLIES = FieldTable(
    "reply",
    {
        "spec": TaskSpec,
        "counts": Counts,
        "key": SnapshotKey,
        "message": TextMessage,
        "done": RoutineDone,
        "tasks": Tasks,
    },
    {
        TaskSpec: Codec(encode_spec, decode_spec),
        Tasks: Codec(_encode_tasks, _decode_tasks),
    },
)


def encode_experiment_call(
    seq: int, call: ExperimentCall, spec: TaskSpec | None
) -> pb.ExperimentCall:
    """The message of a call; `spec` is what rows of actions and observations need."""
    message = pb.ExperimentCall(seq=seq)
    if type(call) in _ROWS:
        _encode_rows(message, call, spec)
    else:
        _CALLS.encode(message, call)
    return message


def decode_experiment_call(message: pb.ExperimentCall, spec: TaskSpec | None) -> ExperimentCall:
    """The call of a message. Raises BadReply if it is malformed."""
    name = message.WhichOneof("call")
    call: ExperimentCall
    if name in _ROW_CALLS:
        if spec is None:
            raise BadReply("OUT_OF_ORDER", got=f"{name} before RL_init", wanted="RL_init first")
        part = getattr(message, name)
        if not part.slots:
            raise BadReply("OUT_OF_DOMAIN", got=f"{name} of no slots", wanted="at least one")
        call = _decode_rows(part, _ROW_CALLS[name], spec)
        return call
    if name in _NAME_SLOTS:
        named = getattr(message, name).slots
        if name == "step" and not named:
            return STEP_ALL
        _check_count(len(named), spec)
    call = _CALLS.decode(message)
    return replace(call, slots=call.slots or 1) if isinstance(call, RLInit) else call


def encode_answer(seq: int, answer: Answer, spec: TaskSpec | None) -> pb.ExperimentReply:
    """The message of a routine's result."""
    message = pb.ExperimentReply(seq=seq)
    if type(answer) in _ROWS:
        _encode_rows(message, answer, spec)
    else:
        _REPLIES.encode(message, answer)
    return message


def _encode_rows(message: Any, value: Any, spec: TaskSpec | None) -> None:
    """Write it in place, in half the time of a constructor.

    Unchecked: the glue refuses wrong rows and says what it wanted.
    """
    name, fields = _ROWS[type(value)]
    part = getattr(message, name)
    part.SetInParent()  # also without slots
    part.slots.extend(value.slots)
    for field in fields:
        match field:
            case "rewards":
                part.rewards = encode_array(REWARDS, value.rewards)
            case "observations":
                seen = spec.observations if spec else ()
                part.observations.extend(_written(seen, value.observations))
            case "actions":
                part.actions.extend(_written(spec.actions if spec else (), value.actions))
            case "flags":
                part.flags = encode_flags(value.terminated, value.truncated, value.success)
            case "truncated":
                part.truncated = value.truncated


def _decode_rows(part: Any, kind: type, spec: TaskSpec, *, acts: bool = True) -> Any:
    """A value of that kind. Raises BadReply. Unless it `acts`, it has no actions."""
    slots = _slots(part, spec)
    rows, values = len(slots), list[Any]()  # in the order of the value's fields
    for field in _ROWS[kind][1]:
        match field:
            case "rewards":
                values.append(decode_array(REWARDS, part.rewards, rows))
            case "observations":
                values.append(decode_arrays(spec.observations, part.observations, rows))
            case "actions":
                values.append(decode_arrays(spec.actions, part.actions, rows) if acts else {})
            case "flags":
                values += _read_flags(part.flags, rows)
            case "truncated":
                values.append(part.truncated)
    return kind(slots, *values)


def encode_failure(seq: int, error: ReglueError) -> pb.ExperimentReply:
    """The message of a routine's error; it says whose fault it was."""
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
    """The result of a routine; raises what the routine raised, and BadReply if it is malformed."""
    answer = _decode_answer(message, call, spec)
    wanted = _ANSWERS.get(type(call), RoutineDone)
    if type(answer) is not wanted:
        raise BadReply("WRONG_KIND", got=type(answer).__name__, wanted=wanted.__name__)
    return answer


def _decode_answer(
    message: pb.ExperimentReply, call: ExperimentCall, spec: TaskSpec | None
) -> Answer:
    name = message.WhichOneof("reply")
    answer: Answer | None = None
    if name in _ROW_ANSWERS and spec is not None:
        acts = type(call) not in _WITHOUT_AGENT
        answer = _decode_rows(getattr(message, name), _ROW_ANSWERS[name], spec, acts=acts)
    elif name in _FAILURES:
        raise _failure(message)
    return _REPLIES.decode(message) if answer is None else answer


_WITHOUT_AGENT = (RLEnvStart, RLEnvStep)
_FAILURES = frozenset(("refusal", "agent_fault", "environment_fault"))


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


def _slots(named: _Named, spec: TaskSpec | None) -> tuple[int, ...]:
    _check_count(len(named.slots), spec)
    return tuple(named.slots)


def _check_count(count: int, spec: TaskSpec | None) -> None:
    """Check the number of a message's slots, before they are copied."""
    most = _BEFORE_INIT if spec is None else spec.slots
    if count > most:
        raise BadReply("OUT_OF_DOMAIN", got=f"{count} slots", wanted=f"at most {most}, each once")


def _written(tensors: tuple[TensorSpec, ...], arrays: Arrays) -> list[bytes]:
    """The arrays in the spec's order; arrays with other names are left out."""
    try:
        return encode_arrays(tensors, arrays) if len(arrays) == len(tensors) else []
    except KeyError:
        return []


def _read_flags(entry: bytes, rows: int) -> tuple[npt.NDArray[np.bool_], ...]:
    if len(entry) != rows:
        raise BadReply("WRONG_SIZE", got=f"{len(entry)} flags", wanted=f"{rows}")
    return decode_flags(entry)
