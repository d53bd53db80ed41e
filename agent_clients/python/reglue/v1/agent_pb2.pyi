from reglue.v1 import session_pb2 as _session_pb2
from reglue.v1 import spec_pb2 as _spec_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EndKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_KIND_UNSPECIFIED: _ClassVar[EndKind]
    END_KIND_TERMINATED: _ClassVar[EndKind]
    END_KIND_TRUNCATED: _ClassVar[EndKind]
    END_KIND_VOID: _ClassVar[EndKind]

class ActionFlag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_FLAG_UNSPECIFIED: _ClassVar[ActionFlag]
    ACTION_FLAG_DEFAULTED: _ClassVar[ActionFlag]
    ACTION_FLAG_CLIPPED: _ClassVar[ActionFlag]
END_KIND_UNSPECIFIED: EndKind
END_KIND_TERMINATED: EndKind
END_KIND_TRUNCATED: EndKind
END_KIND_VOID: EndKind
ACTION_FLAG_UNSPECIFIED: ActionFlag
ACTION_FLAG_DEFAULTED: ActionFlag
ACTION_FLAG_CLIPPED: ActionFlag

class AgentCall(_message.Message):
    __slots__ = ("seq", "budget", "init", "turn", "freeze", "adapt_begin", "adapt", "message", "cleanup", "refusal", "farewell")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    FREEZE_FIELD_NUMBER: _ClassVar[int]
    ADAPT_BEGIN_FIELD_NUMBER: _ClassVar[int]
    ADAPT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FAREWELL_FIELD_NUMBER: _ClassVar[int]
    seq: int
    budget: Budget
    init: AgentInit
    turn: Turn
    freeze: Freeze
    adapt_begin: AdaptBegin
    adapt: Adapt
    message: _session_pb2.TextMessage
    cleanup: _session_pb2.Cleanup
    refusal: _session_pb2.Refusal
    farewell: _session_pb2.Farewell
    def __init__(self, seq: _Optional[int] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., init: _Optional[_Union[AgentInit, _Mapping]] = ..., turn: _Optional[_Union[Turn, _Mapping]] = ..., freeze: _Optional[_Union[Freeze, _Mapping]] = ..., adapt_begin: _Optional[_Union[AdaptBegin, _Mapping]] = ..., adapt: _Optional[_Union[Adapt, _Mapping]] = ..., message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., cleanup: _Optional[_Union[_session_pb2.Cleanup, _Mapping]] = ..., refusal: _Optional[_Union[_session_pb2.Refusal, _Mapping]] = ..., farewell: _Optional[_Union[_session_pb2.Farewell, _Mapping]] = ...) -> None: ...

class AgentReply(_message.Message):
    __slots__ = ("seq", "hello", "actions", "done", "message", "fault")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    hello: AgentHello
    actions: Actions
    done: _session_pb2.RoutineDone
    message: _session_pb2.TextMessage
    fault: _session_pb2.Fault
    def __init__(self, seq: _Optional[int] = ..., hello: _Optional[_Union[AgentHello, _Mapping]] = ..., actions: _Optional[_Union[Actions, _Mapping]] = ..., done: _Optional[_Union[_session_pb2.RoutineDone, _Mapping]] = ..., message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., fault: _Optional[_Union[_session_pb2.Fault, _Mapping]] = ...) -> None: ...

class AgentHello(_message.Message):
    __slots__ = ("major", "minor", "sdk", "agent", "max_slots", "partial_turns", "adapts", "episodic", "session", "proof", "answered")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    SDK_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    MAX_SLOTS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_TURNS_FIELD_NUMBER: _ClassVar[int]
    ADAPTS_FIELD_NUMBER: _ClassVar[int]
    EPISODIC_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    sdk: str
    agent: str
    max_slots: int
    partial_turns: bool
    adapts: bool
    episodic: bool
    session: str
    proof: bytes
    answered: int
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ..., sdk: _Optional[str] = ..., agent: _Optional[str] = ..., max_slots: _Optional[int] = ..., partial_turns: bool = ..., adapts: bool = ..., episodic: bool = ..., session: _Optional[str] = ..., proof: _Optional[bytes] = ..., answered: _Optional[int] = ...) -> None: ...

class AgentInit(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: _spec_pb2.TaskSpec
    def __init__(self, spec: _Optional[_Union[_spec_pb2.TaskSpec, _Mapping]] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("phase", "end_slots", "end_kinds", "step_slots", "step_flags", "start_slots", "start_seeds", "rewards", "observations")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    END_SLOTS_FIELD_NUMBER: _ClassVar[int]
    END_KINDS_FIELD_NUMBER: _ClassVar[int]
    STEP_SLOTS_FIELD_NUMBER: _ClassVar[int]
    STEP_FLAGS_FIELD_NUMBER: _ClassVar[int]
    START_SLOTS_FIELD_NUMBER: _ClassVar[int]
    START_SEEDS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    phase: _session_pb2.Phase
    end_slots: _containers.RepeatedScalarFieldContainer[int]
    end_kinds: _containers.RepeatedScalarFieldContainer[EndKind]
    step_slots: _containers.RepeatedScalarFieldContainer[int]
    step_flags: _containers.RepeatedScalarFieldContainer[int]
    start_slots: _containers.RepeatedScalarFieldContainer[int]
    start_seeds: _containers.RepeatedScalarFieldContainer[int]
    rewards: bytes
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, phase: _Optional[_Union[_session_pb2.Phase, str]] = ..., end_slots: _Optional[_Iterable[int]] = ..., end_kinds: _Optional[_Iterable[_Union[EndKind, str]]] = ..., step_slots: _Optional[_Iterable[int]] = ..., step_flags: _Optional[_Iterable[int]] = ..., start_slots: _Optional[_Iterable[int]] = ..., start_seeds: _Optional[_Iterable[int]] = ..., rewards: _Optional[bytes] = ..., observations: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Actions(_message.Message):
    __slots__ = ("actions", "abandoned_slots", "held_slots")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    ABANDONED_SLOTS_FIELD_NUMBER: _ClassVar[int]
    HELD_SLOTS_FIELD_NUMBER: _ClassVar[int]
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    abandoned_slots: _containers.RepeatedScalarFieldContainer[int]
    held_slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, actions: _Optional[_Iterable[bytes]] = ..., abandoned_slots: _Optional[_Iterable[int]] = ..., held_slots: _Optional[_Iterable[int]] = ...) -> None: ...

class Freeze(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdaptBegin(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Adapt(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Budget(_message.Message):
    __slots__ = ("step_us", "bank_us", "adapt_us", "run_us")
    STEP_US_FIELD_NUMBER: _ClassVar[int]
    BANK_US_FIELD_NUMBER: _ClassVar[int]
    ADAPT_US_FIELD_NUMBER: _ClassVar[int]
    RUN_US_FIELD_NUMBER: _ClassVar[int]
    step_us: int
    bank_us: int
    adapt_us: int
    run_us: int
    def __init__(self, step_us: _Optional[int] = ..., bank_us: _Optional[int] = ..., adapt_us: _Optional[int] = ..., run_us: _Optional[int] = ...) -> None: ...
