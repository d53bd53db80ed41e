"""Calls of the glue to an agent, and the agent's answers.

The values behind `proto/reglue/v1/agent.proto`, in the order in which a session
uses them. Every array has one row a slot.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.messages.value import value
from reglue.spec import Arrays, TaskSpec


class Phase(enum.IntEnum):
    """The purpose of episodes; numbered as on the wire."""

    TRAIN = 1
    ADAPT = 2
    EVALUATE = 3


class EndKind(enum.IntEnum):
    """The way an episode ended; numbered as on the wire."""

    TERMINATED = 1  # the task ended: do not bootstrap
    TRUNCATED = 2  # time ran out: bootstrap from the last observation
    VOID = 3  # the environment failed: the episode does not count


class ActionFlag(enum.IntFlag):
    """Flags of the glue's treatment of the previous action."""

    DEFAULTED = 1  # no action came in time; a default was played
    CLIPPED = 2  # the action was outside its bounds


@value
class Ends:
    """Episodes that ended: `slots` and, for each, its EndKind; shape (E,)."""

    slots: npt.NDArray[np.uint32]
    kinds: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.slots)


@value
class Steps:
    """Episodes that continue: `slots` and, for each, its ActionFlag bits; shape (P,)."""

    slots: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.slots)


@value
class Starts:
    """Episodes that begin: `slots` and, for each, a seed for the agent; shape (N,)."""

    slots: npt.NDArray[np.uint32]
    seeds: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.slots)


NO_ENDS = Ends(np.zeros(0, np.uint32), np.zeros(0, np.uint8))
NO_STEPS = Steps(np.zeros(0, np.uint32), np.zeros(0, np.uint8))
NO_STARTS = Starts(np.zeros(0, np.uint32), np.zeros(0, np.uint64))
"""Most turns lack two of their three parts."""


@value
class Turn:
    """One exchange over many episodes; rows are ends, then steps, then starts."""

    phase: Phase
    ends: Ends
    steps: Steps
    starts: Starts
    rewards: npt.NDArray[np.float64]  # (E + P,), NaN if the spec withholds them
    observations: Arrays  # name -> (E + P + N, *shape)


@value
class Actions:
    """Answers a Turn: name -> (P + N, *shape), rows steps then starts."""

    arrays: Arrays
    abandon: tuple[int, ...] = ()  # slots whose episode the agent abandons
    held: tuple[int, ...] = ()  # slots whose step or start the glue is to tell again


@dataclass(frozen=True, slots=True)
class AgentHello:
    """The agent's name and capabilities."""

    agent: str
    sdk: str
    max_slots: int = 0  # 0 means any number
    partial_turns: bool = False
    adapts: bool = True
    episodic: bool = True


@dataclass(frozen=True, slots=True)
class AgentInit:
    """agent_init."""

    spec: TaskSpec


@dataclass(frozen=True, slots=True)
class Freeze:
    """agent_freeze."""


@dataclass(frozen=True, slots=True)
class AdaptBegin:
    """Back to the meta-trained state."""


@dataclass(frozen=True, slots=True)
class Adapt:
    """End of an adaptation step."""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """agent_message or env_message, in either direction."""

    text: str


@dataclass(frozen=True, slots=True)
class Cleanup:
    """agent_cleanup."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reply to call `of_seq` was refused; the session continues."""

    of_seq: int
    code: str  # RefusalCode without its prefix
    got: str
    wanted: str


INTERRUPTED = "interrupted"
"""The text of a Fault or Farewell from a peer that a signal ends."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The session is over."""

    reason: str


@dataclass(frozen=True, slots=True)
class RoutineDone:
    """Answers the calls that return nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The agent cannot continue."""

    what: str


@value
class Budget:
    """Time left, microseconds; None is no limit."""

    step_us: int | None = None
    bank_us: int | None = None
    adapt_us: int | None = None
    run_us: int | None = None


UNLIMITED = Budget()


Call: TypeAlias = (
    AgentInit | Turn | Freeze | AdaptBegin | Adapt | TextMessage | Cleanup | Refusal | Farewell
)
Reply: TypeAlias = Actions | RoutineDone | TextMessage | Fault


@value
class Numbered:
    """A call with its number in the session and the time left."""

    seq: int
    call: Call
    budget: Budget = field(default_factory=Budget)
