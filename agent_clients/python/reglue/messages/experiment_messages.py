"""Calls of a benchmark program to the glue, and the glue's answers.

The values behind `proto/reglue/v1/experiment.proto`. `slots` that are empty mean all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Cleanup,
    Freeze,
    RoutineDone,
    TextMessage,
)
from reglue.messages.environment_messages import GetRandomSeed, GetState, StandardizeRandomness
from reglue.messages.value import value
from reglue.spec import Arrays, TaskSpec

Flags: TypeAlias = npt.NDArray[np.bool_]
Rewards: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExperimentHello:
    """The program's name."""

    experiment: str
    sdk: str


@dataclass(frozen=True, slots=True)
class RLInit:
    """RL_init. All random numbers follow from `seed`."""

    slots: int
    seed: int
    task: str = ""  # empty: the environment's first
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Goal:
    """The task and variant that a slot plays."""

    task: str = ""  # empty: the task that the slot plays already
    variant: int = 0


@dataclass(frozen=True, slots=True)
class RLStart:
    """RL_start; with a `goal`, which the slots play from now on."""

    slots: tuple[int, ...] = ()
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class RLStep:
    """RL_step."""

    slots: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RLEpisode:
    """RL_episode; `max_steps` as RL-Glue 3.0 counts them, 0 for no limit."""

    max_steps: int
    slots: tuple[int, ...] = ()
    goal: Goal | None = None  # as of RLStart


@dataclass(frozen=True, slots=True)
class RLTasks:
    """RL_tasks."""


@dataclass(frozen=True, slots=True)
class RLIterateGoal:
    """RL_iterate_goal."""

    slots: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RLCounts:
    """RL_return, RL_num_steps, RL_num_episodes and RL_success of a slot."""

    slot: int


@dataclass(frozen=True, slots=True)
class RLSetState:
    """RL_set_state of a slot."""

    slot: int
    key: str


@dataclass(frozen=True, slots=True)
class RLSetRandomSeed:
    """RL_set_random_seed of a slot."""

    slot: int
    key: str


@dataclass(frozen=True, slots=True)
class EnvMessage:
    """RL_env_message; a `TextMessage` is RL_agent_message."""

    text: str


@dataclass(frozen=True, slots=True)
class RLEnvStart:
    """env_start alone."""

    slots: tuple[int, ...] = ()
    goal: Goal | None = None  # as of RLStart


@dataclass(frozen=True, slots=True)
class RLEnvStep:
    """env_step alone; actions (rows, *shape) in the order of `slots`."""

    slots: tuple[int, ...]
    actions: Arrays


@dataclass(frozen=True, slots=True)
class RLAgentStart:
    """agent_start alone; observations (rows, *shape) in the order of `slots`."""

    slots: tuple[int, ...]
    observations: Arrays


@dataclass(frozen=True, slots=True)
class RLAgentStep:
    """agent_step alone."""

    slots: tuple[int, ...]
    rewards: Rewards
    observations: Arrays


@dataclass(frozen=True, slots=True)
class RLAgentEnd:
    """agent_end alone."""

    slots: tuple[int, ...]
    rewards: Rewards
    observations: Arrays
    truncated: bool


@dataclass(frozen=True, slots=True)
class Started:
    """First observations, and the actions that the agent chose; one row a slot."""

    slots: tuple[int, ...]
    observations: Arrays  # name -> (rows, *shape)
    actions: Arrays  # name -> (rows, *shape); empty after env_start alone


@value
class Stepped:
    """The result of a step; one row a slot."""

    slots: tuple[int, ...]
    rewards: Rewards  # (rows,), task units
    observations: Arrays  # name -> (rows, *shape)
    terminated: Flags  # (rows,)
    truncated: Flags  # (rows,)
    success: Flags  # (rows,), the task's flag at this step
    actions: Arrays  # name -> (rows, *shape), zeros if it is over; empty after env_step alone


@dataclass(frozen=True, slots=True)
class EpisodePlayed:
    """The end of each slot's episode; one row a slot; no flag if the limit cut it off."""

    slots: tuple[int, ...]
    terminated: Flags
    truncated: Flags
    success: Flags  # at some step


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks that the environment can play."""

    variants: Mapping[str, int]  # task -> its number of variants, in the environment's order


@dataclass(frozen=True, slots=True)
class Counts:
    """The present or last episode of a slot."""

    sum_of_rewards: float = 0.0  # task units
    steps: int = 0  # actions that the agent chose: RL-Glue 3.0's number of steps
    episodes: int = 0  # that ended by themselves since RL_init
    success: bool = False  # at some step


@dataclass(frozen=True, slots=True)
class SnapshotKey:
    """Names a state or a random seed that the glue keeps."""

    key: str


@dataclass(frozen=True, slots=True)
class Acted:
    """The agent's choices; name -> (rows, *shape)."""

    slots: tuple[int, ...]
    actions: Arrays


ExperimentCall: TypeAlias = (
    RLInit
    | RLStart
    | RLStep
    | RLEpisode
    | RLCounts
    | Cleanup
    | Freeze
    | AdaptBegin
    | Adapt
    | RLTasks
    | RLIterateGoal
    | StandardizeRandomness
    | GetState
    | RLSetState
    | GetRandomSeed
    | RLSetRandomSeed
    | TextMessage
    | EnvMessage
    | RLEnvStart
    | RLEnvStep
    | RLAgentStart
    | RLAgentStep
    | RLAgentEnd
)
Answer: TypeAlias = (
    TaskSpec
    | Started
    | Stepped
    | EpisodePlayed
    | Tasks
    | Counts
    | SnapshotKey
    | Acted
    | TextMessage
    | RoutineDone
)
"""The result of a routine; refusals and faults are raised."""
