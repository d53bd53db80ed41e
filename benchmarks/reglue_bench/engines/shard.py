"""Messages to and from a process that plays shards of a plan."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from glue_server import Order, Outcome
from glue_server.agent.repetition import Repetition
from glue_server.processes.message_codec import Codec
from reglue_bench.procedures.procedure import Todos

AsPlanned: TypeAlias = Callable[[int, int], Order]
"""The order of a unit's episode k."""


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """The settings of a process that plays shards: the first message to it."""

    settings: Mapping[str, Any] = field(repr=False)  # of Settings, with the secret
    plan: str  # JSON, as the ledger has it
    folder: str  # of the run; empty: it makes one of its own, and `files` are put there
    agent_log: str  # the file there for what its agents print
    starts: bytes = field(repr=False)  # the key of start seeds
    cells: bytes | None = field(repr=False)  # the key of cells; None if they are public
    cores: int  # of the machine that are this process's share
    was_lost: bool  # a process before it, in the midst of a unit
    facts: Mapping[str, str] = field(default_factory=dict)  # that must hold there too: see `facts`
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shard:
    """Units that one agent plays."""

    units: bytes  # of an array of uint32, as `attempts`
    attempts: bytes

    @classmethod
    def of(cls, todo: Todos) -> Shard:
        """A shard of these units and tries."""
        return cls(todo.units.tobytes(), todo.attempts.tobytes())

    @property
    def todo(self) -> Todos:
        """The units and their tries."""
        return Todos(array("I", self.units), array("I", self.attempts))


@dataclass(frozen=True, slots=True)
class Farewell:
    """The run is over; the agent receives `reason`."""

    reason: str


ToShard: TypeAlias = ShardSettings | Shard | Farewell
TO_SHARD: Codec[ToShard] = Codec(ToShard)


@dataclass(frozen=True, slots=True)
class Machine:
    """The first message of any player's process: it has begun there."""

    name: str


@dataclass(frozen=True, slots=True)
class Say:
    """A message for people."""

    text: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """A UsageError, which ends the run."""

    why: str


@dataclass(frozen=True, slots=True)
class Died:
    """Ray's process says how a player's process died."""

    how: str


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Ray's process says that there is no core for a player's process."""

    why: str


@dataclass(frozen=True, slots=True)
class ShardSpent:
    """A process's use of time so far, in a message that reports it."""

    agent_s: float = 0.0
    environment_s: float = 0.0
    executed: int = 0  # steps
    outside: int = 0  # observations outside of a Box


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of the agent from the benchmark."""

    what: str


@dataclass(frozen=True, slots=True)
class AgentConnected:
    """The agent has connected."""

    name: str


@dataclass(frozen=True, slots=True)
class UnitBegun:
    """A unit begins."""

    unit: int
    attempt: int


@dataclass(frozen=True, slots=True)
class EpisodePlayed:
    """An Outcome without its order, which the receiver knows from the plan."""

    unit: int
    k: int
    status: str
    success: bool
    first_success: int
    return_: float
    steps: int
    clipped: int
    defaulted: int
    detail: str
    actions: bytes
    rewards: bytes

    @classmethod
    def of(cls, outcome: Outcome, *, whole: bool) -> EpisodePlayed:
        """The outcome's fields; with its actions and rewards if `whole`."""
        if not whole:
            outcome = replace(outcome, actions=b"", rewards=b"")
        same = {name: getattr(outcome, name) for name in _OF_OUTCOME}
        return cls(outcome.order.unit, outcome.order.k, **same)

    def outcome(self, as_planned: AsPlanned) -> Outcome:
        """The outcome, with its order from the plan."""
        same = {name: getattr(self, name) for name in _OF_OUTCOME}
        return Outcome(as_planned(self.unit, self.k), **same)


_OF_OUTCOME = [each.name for each in fields(EpisodePlayed) if each.name not in ("unit", "k")]


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode, sent at once for display: without actions and rewards."""

    episode: EpisodePlayed
    phase: str
    spent: ShardSpent


@dataclass(frozen=True, slots=True)
class UnitPlayed:
    """A complete unit, to be recorded."""

    attempt: int
    episodes: tuple[EpisodePlayed, ...]
    spent: ShardSpent


@dataclass(frozen=True, slots=True)
class ShardOver:
    """A shard is played: the process waits for another one."""

    repetition: Repetition | None
    spent: ShardSpent


@dataclass(frozen=True, slots=True)
class StillPlaying:
    """Comes now and then, as an episode may take long."""

    spent: ShardSpent
    where: str  # its environments are, in words; empty before they are made


@dataclass(frozen=True, slots=True)
class LogPart:
    """New text of a log file, if the run's folder is on another machine."""

    name: str
    text: bytes


@dataclass(frozen=True, slots=True)
class AgentLost:
    """An AgentFault, which ends the process."""

    status: str
    what: str


@dataclass(frozen=True, slots=True)
class EnvironmentFailed:
    """An EnvironmentFault, which ends the run."""

    what: str


FromShard: TypeAlias = (
    Machine
    | Say
    | Wrong
    | Died
    | Unplaced
    | Isolation
    | AgentConnected
    | UnitBegun
    | EpisodeEnded
    | UnitPlayed
    | ShardOver
    | StillPlaying
    | LogPart
    | AgentLost
    | EnvironmentFailed
)
FROM_SHARD: Codec[FromShard] = Codec(FromShard)
