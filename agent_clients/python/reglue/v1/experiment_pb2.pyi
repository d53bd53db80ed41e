from reglue.v1 import environment_pb2 as _environment_pb2
from reglue.v1 import session_pb2 as _session_pb2
from reglue.v1 import spec_pb2 as _spec_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExperimentCall(_message.Message):
    __slots__ = ("seq", "hello", "init", "start", "step", "episode", "counts", "cleanup", "freeze", "standardize_randomness", "get_state", "set_state", "get_random_seed", "set_random_seed", "agent_message", "env_message", "env_start", "env_step", "agent_start", "agent_step", "agent_end", "farewell", "adapt_begin", "adapt", "tasks", "iterate_goal")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    FREEZE_FIELD_NUMBER: _ClassVar[int]
    STANDARDIZE_RANDOMNESS_FIELD_NUMBER: _ClassVar[int]
    GET_STATE_FIELD_NUMBER: _ClassVar[int]
    SET_STATE_FIELD_NUMBER: _ClassVar[int]
    GET_RANDOM_SEED_FIELD_NUMBER: _ClassVar[int]
    SET_RANDOM_SEED_FIELD_NUMBER: _ClassVar[int]
    AGENT_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ENV_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ENV_START_FIELD_NUMBER: _ClassVar[int]
    ENV_STEP_FIELD_NUMBER: _ClassVar[int]
    AGENT_START_FIELD_NUMBER: _ClassVar[int]
    AGENT_STEP_FIELD_NUMBER: _ClassVar[int]
    AGENT_END_FIELD_NUMBER: _ClassVar[int]
    FAREWELL_FIELD_NUMBER: _ClassVar[int]
    ADAPT_BEGIN_FIELD_NUMBER: _ClassVar[int]
    ADAPT_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    ITERATE_GOAL_FIELD_NUMBER: _ClassVar[int]
    seq: int
    hello: ExperimentHello
    init: RlInit
    start: RlStart
    step: RlStep
    episode: RlEpisode
    counts: RlCounts
    cleanup: _session_pb2.Cleanup
    freeze: RlFreeze
    standardize_randomness: RlStandardizeRandomness
    get_state: RlGetState
    set_state: RlSetState
    get_random_seed: RlGetRandomSeed
    set_random_seed: RlSetRandomSeed
    agent_message: _session_pb2.TextMessage
    env_message: _session_pb2.TextMessage
    env_start: RlEnvStart
    env_step: RlEnvStep
    agent_start: RlAgentStart
    agent_step: RlAgentStep
    agent_end: RlAgentEnd
    farewell: _session_pb2.Farewell
    adapt_begin: RlAdaptBegin
    adapt: RlAdapt
    tasks: RlTasks
    iterate_goal: RlIterateGoal
    def __init__(self, seq: _Optional[int] = ..., hello: _Optional[_Union[ExperimentHello, _Mapping]] = ..., init: _Optional[_Union[RlInit, _Mapping]] = ..., start: _Optional[_Union[RlStart, _Mapping]] = ..., step: _Optional[_Union[RlStep, _Mapping]] = ..., episode: _Optional[_Union[RlEpisode, _Mapping]] = ..., counts: _Optional[_Union[RlCounts, _Mapping]] = ..., cleanup: _Optional[_Union[_session_pb2.Cleanup, _Mapping]] = ..., freeze: _Optional[_Union[RlFreeze, _Mapping]] = ..., standardize_randomness: _Optional[_Union[RlStandardizeRandomness, _Mapping]] = ..., get_state: _Optional[_Union[RlGetState, _Mapping]] = ..., set_state: _Optional[_Union[RlSetState, _Mapping]] = ..., get_random_seed: _Optional[_Union[RlGetRandomSeed, _Mapping]] = ..., set_random_seed: _Optional[_Union[RlSetRandomSeed, _Mapping]] = ..., agent_message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., env_message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., env_start: _Optional[_Union[RlEnvStart, _Mapping]] = ..., env_step: _Optional[_Union[RlEnvStep, _Mapping]] = ..., agent_start: _Optional[_Union[RlAgentStart, _Mapping]] = ..., agent_step: _Optional[_Union[RlAgentStep, _Mapping]] = ..., agent_end: _Optional[_Union[RlAgentEnd, _Mapping]] = ..., farewell: _Optional[_Union[_session_pb2.Farewell, _Mapping]] = ..., adapt_begin: _Optional[_Union[RlAdaptBegin, _Mapping]] = ..., adapt: _Optional[_Union[RlAdapt, _Mapping]] = ..., tasks: _Optional[_Union[RlTasks, _Mapping]] = ..., iterate_goal: _Optional[_Union[RlIterateGoal, _Mapping]] = ...) -> None: ...

class ExperimentReply(_message.Message):
    __slots__ = ("seq", "spec", "started", "stepped", "episode", "counts", "key", "acted", "message", "done", "refusal", "agent_fault", "environment_fault", "farewell", "tasks")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    STEPPED_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ACTED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_FAULT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FAULT_FIELD_NUMBER: _ClassVar[int]
    FAREWELL_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    spec: _spec_pb2.TaskSpec
    started: Started
    stepped: Stepped
    episode: EpisodePlayed
    counts: Counts
    key: SnapshotKey
    acted: Acted
    message: _session_pb2.TextMessage
    done: _session_pb2.RoutineDone
    refusal: _session_pb2.Refusal
    agent_fault: _session_pb2.Fault
    environment_fault: _session_pb2.Fault
    farewell: _session_pb2.Farewell
    tasks: Tasks
    def __init__(self, seq: _Optional[int] = ..., spec: _Optional[_Union[_spec_pb2.TaskSpec, _Mapping]] = ..., started: _Optional[_Union[Started, _Mapping]] = ..., stepped: _Optional[_Union[Stepped, _Mapping]] = ..., episode: _Optional[_Union[EpisodePlayed, _Mapping]] = ..., counts: _Optional[_Union[Counts, _Mapping]] = ..., key: _Optional[_Union[SnapshotKey, _Mapping]] = ..., acted: _Optional[_Union[Acted, _Mapping]] = ..., message: _Optional[_Union[_session_pb2.TextMessage, _Mapping]] = ..., done: _Optional[_Union[_session_pb2.RoutineDone, _Mapping]] = ..., refusal: _Optional[_Union[_session_pb2.Refusal, _Mapping]] = ..., agent_fault: _Optional[_Union[_session_pb2.Fault, _Mapping]] = ..., environment_fault: _Optional[_Union[_session_pb2.Fault, _Mapping]] = ..., farewell: _Optional[_Union[_session_pb2.Farewell, _Mapping]] = ..., tasks: _Optional[_Union[Tasks, _Mapping]] = ...) -> None: ...

class ExperimentHello(_message.Message):
    __slots__ = ("major", "minor", "sdk", "experiment", "session", "proof", "answered")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    SDK_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    sdk: str
    experiment: str
    session: str
    proof: bytes
    answered: int
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ..., sdk: _Optional[str] = ..., experiment: _Optional[str] = ..., session: _Optional[str] = ..., proof: _Optional[bytes] = ..., answered: _Optional[int] = ...) -> None: ...

class RlInit(_message.Message):
    __slots__ = ("slots", "seed", "task", "variant")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    slots: int
    seed: int
    task: str
    variant: int
    def __init__(self, slots: _Optional[int] = ..., seed: _Optional[int] = ..., task: _Optional[str] = ..., variant: _Optional[int] = ...) -> None: ...

class Goal(_message.Message):
    __slots__ = ("task", "variant")
    TASK_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    task: str
    variant: int
    def __init__(self, task: _Optional[str] = ..., variant: _Optional[int] = ...) -> None: ...

class RlStart(_message.Message):
    __slots__ = ("slots", "goal")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    goal: Goal
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., goal: _Optional[_Union[Goal, _Mapping]] = ...) -> None: ...

class RlStep(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, slots: _Optional[_Iterable[int]] = ...) -> None: ...

class RlEpisode(_message.Message):
    __slots__ = ("slots", "max_steps", "goal")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MAX_STEPS_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    max_steps: int
    goal: Goal
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., max_steps: _Optional[int] = ..., goal: _Optional[_Union[Goal, _Mapping]] = ...) -> None: ...

class RlCounts(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class RlFreeze(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RlAdaptBegin(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RlAdapt(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RlTasks(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RlIterateGoal(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, slots: _Optional[_Iterable[int]] = ...) -> None: ...

class RlStandardizeRandomness(_message.Message):
    __slots__ = ("seed",)
    SEED_FIELD_NUMBER: _ClassVar[int]
    seed: int
    def __init__(self, seed: _Optional[int] = ...) -> None: ...

class RlGetState(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class RlSetState(_message.Message):
    __slots__ = ("slot", "key")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    slot: int
    key: str
    def __init__(self, slot: _Optional[int] = ..., key: _Optional[str] = ...) -> None: ...

class RlGetRandomSeed(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class RlSetRandomSeed(_message.Message):
    __slots__ = ("slot", "key")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    slot: int
    key: str
    def __init__(self, slot: _Optional[int] = ..., key: _Optional[str] = ...) -> None: ...

class RlEnvStart(_message.Message):
    __slots__ = ("slots", "goal")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    goal: Goal
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., goal: _Optional[_Union[Goal, _Mapping]] = ...) -> None: ...

class RlEnvStep(_message.Message):
    __slots__ = ("slots", "actions")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., actions: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RlAgentStart(_message.Message):
    __slots__ = ("slots", "observations")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., observations: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RlAgentStep(_message.Message):
    __slots__ = ("slots", "rewards", "observations")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    rewards: bytes
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., rewards: _Optional[bytes] = ..., observations: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RlAgentEnd(_message.Message):
    __slots__ = ("slots", "rewards", "observations", "truncated")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    rewards: bytes
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    truncated: bool
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., rewards: _Optional[bytes] = ..., observations: _Optional[_Iterable[bytes]] = ..., truncated: bool = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("slots", "observations", "actions")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., observations: _Optional[_Iterable[bytes]] = ..., actions: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Stepped(_message.Message):
    __slots__ = ("slots", "rewards", "observations", "flags", "actions")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    rewards: bytes
    observations: _containers.RepeatedScalarFieldContainer[bytes]
    flags: bytes
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., rewards: _Optional[bytes] = ..., observations: _Optional[_Iterable[bytes]] = ..., flags: _Optional[bytes] = ..., actions: _Optional[_Iterable[bytes]] = ...) -> None: ...

class EpisodePlayed(_message.Message):
    __slots__ = ("slots", "flags")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    flags: bytes
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., flags: _Optional[bytes] = ...) -> None: ...

class Tasks(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_environment_pb2.EnvironmentTask]
    def __init__(self, tasks: _Optional[_Iterable[_Union[_environment_pb2.EnvironmentTask, _Mapping]]] = ...) -> None: ...

class Counts(_message.Message):
    __slots__ = ("sum_of_rewards", "steps", "episodes", "success")
    SUM_OF_REWARDS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    sum_of_rewards: float
    steps: int
    episodes: int
    success: bool
    def __init__(self, sum_of_rewards: _Optional[float] = ..., steps: _Optional[int] = ..., episodes: _Optional[int] = ..., success: bool = ...) -> None: ...

class SnapshotKey(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class Acted(_message.Message):
    __slots__ = ("slots", "actions")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    actions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, slots: _Optional[_Iterable[int]] = ..., actions: _Optional[_Iterable[bytes]] = ...) -> None: ...
