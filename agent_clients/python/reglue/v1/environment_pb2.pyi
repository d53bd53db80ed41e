from reglue.v1 import session_pb2 as _session_pb2
from reglue.v1 import spec_pb2 as _spec_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StepFlag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_FLAG_UNSPECIFIED: _ClassVar[StepFlag]
    STEP_FLAG_TERMINATED: _ClassVar[StepFlag]
    STEP_FLAG_TRUNCATED: _ClassVar[StepFlag]
    STEP_FLAG_SUCCESS: _ClassVar[StepFlag]
STEP_FLAG_UNSPECIFIED: StepFlag
STEP_FLAG_TERMINATED: StepFlag
STEP_FLAG_TRUNCATED: StepFlag
STEP_FLAG_SUCCESS: StepFlag

class EnvironmentCall(_message.Message):
    __slots__ = ("seq", "init", "play", "get_state", "set_state", "get_random_seed", "set_random_seed", "standardize_randomness", "message", "cleanup", "refusal", "farewell")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    PLAY_FIELD_NUMBER: _ClassVar[int]
    GET_STATE_FIELD_NUMBER: _ClassVar[int]
    SET_STATE_FIELD_NUMBER: _ClassVar[int]
    GET_RANDOM_SEED_FIELD_NUMBER: _ClassVar[int]
    SET_RANDOM_SEED_FIELD_NUMBER: _ClassVar[int]
    STANDARDIZE_RANDOMNESS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FAREWELL_FIELD_NUMBER: _ClassVar[int]
    seq: int
    init: EnvironmentInit
    play: Play
    get_state: GetState
    set_state: SetState
    get_random_seed: GetRandomSeed
    set_random_seed: SetRandomSeed
    standardize_randomness: StandardizeRandomness
    message: _session_pb2.TextMessage
    cleanup: _session_pb2.Cleanup
    refusal: _session_pb2.Refusal
    farewell: _session_pb2.Farewell
    def __init__(self, seq: _Optional[int] = ..., init: _Optional[_Union[EnvironmentInit, _Mapping]] = ..., play: _Optional[_Union[Play, _Mapping]] = ..., get_state: _Optional[_Union[GetState, _Mapping]] = ..., set_state: _Optional[_Union[SetState, _Mapping]] = ..., get_random_seed: _Optional[_Union[GetRandomSeed, _Mapping]] = ..., set_random_seed: _Optional[_Union[SetRandomSeed, _Mapping]] = ..., standardize_randomness: _Optional[_Union[StandardizeRandomness, _Mapping]] = ..., message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., cleanup: _Optional[_Union[_session_pb2.Cleanup, _Mapping]] = ..., refusal: _Optional[_Union[_session_pb2.Refusal, _Mapping]] = ..., farewell: _Optional[_Union[_session_pb2.Farewell, _Mapping]] = ...) -> None: ...

class EnvironmentReply(_message.Message):
    __slots__ = ("seq", "hello", "ready", "played", "snapshot", "done", "message", "refusal", "fault")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    PLAYED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    hello: EnvironmentHello
    ready: EnvironmentReady
    played: Played
    snapshot: Snapshot
    done: _session_pb2.RoutineDone
    message: _session_pb2.TextMessage
    refusal: _session_pb2.Refusal
    fault: _session_pb2.Fault
    def __init__(self, seq: _Optional[int] = ..., hello: _Optional[_Union[EnvironmentHello, _Mapping]] = ..., ready: _Optional[_Union[EnvironmentReady, _Mapping]] = ..., played: _Optional[_Union[Played, _Mapping]] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., done: _Optional[_Union[_session_pb2.RoutineDone, _Mapping]] = ..., message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., refusal: _Optional[_Union[_session_pb2.Refusal, _Mapping]] = ..., fault: _Optional[_Union[_session_pb2.Fault, _Mapping]] = ...) -> None: ...

class EnvironmentHello(_message.Message):
    __slots__ = ("major", "minor", "sdk", "environment", "max_slots", "session", "proof", "answered")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    SDK_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    sdk: str
    environment: str
    max_slots: int
    session: str
    proof: bytes
    answered: int
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ..., sdk: _Optional[str] = ..., environment: _Optional[str] = ..., max_slots: _Optional[int] = ..., session: _Optional[str] = ..., proof: _Optional[bytes] = ..., answered: _Optional[int] = ...) -> None: ...

class EnvironmentInit(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: int
    def __init__(self, slots: _Optional[int] = ...) -> None: ...

class EnvironmentReady(_message.Message):
    __slots__ = ("spec", "tasks", "restores", "portable", "seeds", "standardizes", "tells_no_success", "raw_actions", "whole_turns", "not_repeatable", "separate_slots", "nullable")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    RESTORES_FIELD_NUMBER: _ClassVar[int]
    PORTABLE_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    STANDARDIZES_FIELD_NUMBER: _ClassVar[int]
    TELLS_NO_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    RAW_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_TURNS_FIELD_NUMBER: _ClassVar[int]
    NOT_REPEATABLE_FIELD_NUMBER: _ClassVar[int]
    SEPARATE_SLOTS_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    spec: _spec_pb2.TaskSpec
    tasks: _containers.RepeatedCompositeFieldContainer[EnvironmentTask]
    restores: bool
    portable: bool
    seeds: bool
    standardizes: bool
    tells_no_success: bool
    raw_actions: bool
    whole_turns: bool
    not_repeatable: bool
    separate_slots: bool
    nullable: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, spec: _Optional[_Union[_spec_pb2.TaskSpec, _Mapping]] = ..., tasks: _Optional[_Iterable[_Union[EnvironmentTask, _Mapping]]] = ..., restores: bool = ..., portable: bool = ..., seeds: bool = ..., standardizes: bool = ..., tells_no_success: bool = ..., raw_actions: bool = ..., whole_turns: bool = ..., not_repeatable: bool = ..., separate_slots: bool = ..., nullable: _Optional[_Iterable[str]] = ...) -> None: ...

class EnvironmentTask(_message.Message):
    __slots__ = ("name", "variants")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VARIANTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    variants: int
    def __init__(self, name: _Optional[str] = ..., variants: _Optional[int] = ...) -> None: ...

class Play(_message.Message):
    __slots__ = ("step_slots", "actions", "start_slots", "cells")
    STEP_SLOTS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    START_SLOTS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    step_slots: _containers.RepeatedScalarFieldContainer[int]
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    start_slots: _containers.RepeatedScalarFieldContainer[int]
    cells: _containers.RepeatedCompositeFieldContainer[Cell]
    def __init__(self, step_slots: _Optional[_Iterable[int]] = ..., actions: _Optional[_Iterable[bytes]] = ..., start_slots: _Optional[_Iterable[int]] = ..., cells: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ...) -> None: ...

class Cell(_message.Message):
    __slots__ = ("task", "variant", "seed", "repeat", "phase", "steps", "seeds_reset")
    TASK_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    REPEAT_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    SEEDS_RESET_FIELD_NUMBER: _ClassVar[int]
    task: str
    variant: int
    seed: int
    repeat: int
    phase: _session_pb2.Phase
    steps: int
    seeds_reset: bool
    def __init__(self, task: _Optional[str] = ..., variant: _Optional[int] = ..., seed: _Optional[int] = ..., repeat: _Optional[int] = ..., phase: _Optional[_Union[_session_pb2.Phase, str]] = ..., steps: _Optional[int] = ..., seeds_reset: bool = ...) -> None: ...

class Played(_message.Message):
    __slots__ = ("rewards", "observations", "flags", "faults")
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    rewards: bytes
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    flags: bytes
    faults: _containers.RepeatedCompositeFieldContainer[SlotFault]
    def __init__(self, rewards: _Optional[bytes] = ..., observations: _Optional[_Iterable[bytes]] = ..., flags: _Optional[bytes] = ..., faults: _Optional[_Iterable[_Union[SlotFault, _Mapping]]] = ...) -> None: ...

class SlotFault(_message.Message):
    __slots__ = ("slot", "what", "illegal_action")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    ILLEGAL_ACTION_FIELD_NUMBER: _ClassVar[int]
    slot: int
    what: str
    illegal_action: bool
    def __init__(self, slot: _Optional[int] = ..., what: _Optional[str] = ..., illegal_action: bool = ...) -> None: ...

class GetState(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class SetState(_message.Message):
    __slots__ = ("slot", "snapshot")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    snapshot: bytes
    def __init__(self, slot: _Optional[int] = ..., snapshot: _Optional[bytes] = ...) -> None: ...

class GetRandomSeed(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class SetRandomSeed(_message.Message):
    __slots__ = ("slot", "snapshot")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    snapshot: bytes
    def __init__(self, slot: _Optional[int] = ..., snapshot: _Optional[bytes] = ...) -> None: ...

class StandardizeRandomness(_message.Message):
    __slots__ = ("seed",)
    SEED_FIELD_NUMBER: _ClassVar[int]
    seed: int
    def __init__(self, seed: _Optional[int] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("snapshot",)
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    snapshot: bytes
    def __init__(self, snapshot: _Optional[bytes] = ...) -> None: ...
