"""Calls of the glue to an environment, and the environment's answers.

The values behind `proto/reglue/v1/environment.proto`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.messages.agent_messages import (
    Cleanup,
    Farewell,
    Fault,
    Phase,
    Refusal,
    RoutineDone,
    TextMessage,
)
from reglue.messages.value import value
from reglue.spec import Arrays, TaskSpec

Slots: TypeAlias = npt.NDArray[np.uint32]
Flags: TypeAlias = npt.NDArray[np.bool_]
SlotIndex: TypeAlias = npt.NDArray[np.intp] | slice


def index_of(slots: Slots, count: int) -> SlotIndex:
    """`slots` as an index of arrays that have a row for each of `count` slots: a slice, which
    copies nothing, if they are all of them, in order.
    """
    if len(slots) == count and slots.tobytes() == _everyone(count):
        return slice(None)
    return slots.astype(np.intp)


@lru_cache(maxsize=16)
def _everyone(count: int) -> bytes:
    """All of so many slots, in order."""
    return np.arange(count, dtype=np.uint32).tobytes()


@dataclass(frozen=True, slots=True)
class Cell:
    """The episode to play; the cell and the actions decide every bit of it."""

    task: str
    variant: int  # which goal, configuration, … of the task
    seed: int  # of the environment, 0 to 2**63 - 1
    repeat: int  # the number of this repetition of the variant
    phase: Phase  # EVALUATE ends at the first success
    steps: int = 0  # of the run before this episode; 0 if the run does not count them
    seeds_reset: bool = False  # `seed` itself is the argument of the environment's reset(seed=)


@dataclass(frozen=True, slots=True)
class EnvironmentHello:
    """The environment's name and capabilities."""

    environment: str
    sdk: str
    max_slots: int = 0  # 0 means any number


@dataclass(frozen=True, slots=True)
class EnvironmentInit:
    """env_init."""

    slots: int


@dataclass(frozen=True, slots=True)
class EnvironmentReady:
    """Answers env_init: the tasks, and what the environment can do."""

    spec: TaskSpec  # with the slots of env_init
    variants: Mapping[str, int]  # task -> its number of variants, in the tasks' order
    restores: bool = False  # env_get_state and env_set_state
    portable: bool = False  # a state may be set in another process
    seeds: bool = False  # env_get_random_seed and env_set_random_seed
    standardizes: bool = False  # env_standardize_randomness
    tells_success: bool = True  # else it is judged by its mean return
    raw_actions: bool = (
        False  # it wants actions outside of a Box as they are; else they are clipped
    )
    whole_turns: bool = False  # a step may move every slot; else only those that it names
    repeatable: bool = True  # its cells decide its episodes
    separate_slots: bool = False  # slots share nothing; one that failed begins anew at its start
    nullable: tuple[str, ...] = ()  # observations of floats whose NaN is a missing value


@value
class Play:
    """env_step in some slots, env_start in others; no slot is in both."""

    slots: Slots  # that take a step, (P,)
    actions: Arrays  # name -> (P, *shape)
    starts: Mapping[int, Cell]  # slot -> the episode that begins


@value
class Played:
    """Answers Play. Rows are steps, then starts in the order of `Play.starts`."""

    rewards: npt.NDArray[np.float64]  # (P,), task units, finite
    observations: Arrays  # name -> (P + N, *shape)
    terminated: Flags  # (P,)
    truncated: Flags  # (P,)
    success: Flags  # (P,)
    faults: Mapping[int, str] = field(default_factory=dict)  # slot -> what failed
    illegal: Set[int] = frozenset()  # slots of `faults` where the action was none: the agent's
    crashed: Set[int] = frozenset()  # those that failed again, by the same actions: the glue's word
    outside: int = 0  # observations outside of their Box; the glue counts them if it connects
    is_fresh: bool = False  # the glue owns the arrays and may keep them

    @staticmethod
    def blank(
        spec: TaskSpec,
        play: Play,
        faults: Mapping[int, str] | None = None,
        *,
        is_fresh: bool = False,
    ) -> Played:
        """Zeros in every row of `play`, writeable."""
        steps, rows = len(play.slots), len(play.slots) + len(play.starts)
        return Played(
            rewards=np.zeros(steps),
            observations={tensor.name: tensor.empty(rows) for tensor in spec.observations},
            terminated=np.zeros(steps, np.bool_),
            truncated=np.zeros(steps, np.bool_),
            success=np.zeros(steps, np.bool_),
            faults=faults or {},
            is_fresh=is_fresh,
        )


@dataclass(frozen=True, slots=True)
class GetState:
    """env_get_state of a slot, during an episode."""

    slot: int


@dataclass(frozen=True, slots=True)
class SetState:
    """env_set_state of a slot."""

    slot: int
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class GetRandomSeed:
    """env_get_random_seed of a slot, during an episode."""

    slot: int


@dataclass(frozen=True, slots=True)
class SetRandomSeed:
    """env_set_random_seed of a slot, during an episode."""

    slot: int
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class StandardizeRandomness:
    """env_standardize_randomness: the n-th start from now draws from Rng(seed, n)."""

    seed: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of an episode or of the random generators."""

    snapshot: bytes


EnvironmentCall: TypeAlias = (
    EnvironmentInit
    | Play
    | GetState
    | SetState
    | GetRandomSeed
    | SetRandomSeed
    | StandardizeRandomness
    | TextMessage
    | Cleanup
    | Refusal
    | Farewell
)
EnvironmentReply: TypeAlias = (
    EnvironmentReady | Played | Snapshot | RoutineDone | TextMessage | Refusal | Fault
)
