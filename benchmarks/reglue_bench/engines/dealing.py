"""The engine that deals shards to processes, here or on the nodes of a cluster."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from glue_server import LocalEnvironmentPort, Spent
from glue_server.agent.repetition import Repetition
from glue_server.processes.child import end_together
from glue_server.processes.interrupts import hurried, uninterrupted
from glue_server.processes.readable import readable
from reglue.errors import (
    AgentAbandoned,
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    EnvironmentFault,
    ReglueError,
    UsageError,
)
from reglue_bench.engines.agent_pool import Losses
from reglue_bench.engines.engine import Engine
from reglue_bench.engines.process_players import Player, Players
from reglue_bench.engines.shard import (
    AgentConnected,
    AgentLost,
    AsPlanned,
    Died,
    EnvironmentFailed,
    EpisodeEnded,
    Farewell,
    FromShard,
    Isolation,
    LogPart,
    Machine,
    Say,
    Shard,
    ShardOver,
    ShardSettings,
    ShardSpent,
    StillPlaying,
    UnitBegun,
    UnitPlayed,
    Unplaced,
    Wrong,
)
from reglue_bench.procedures.procedure import Begin, Record, Todo, Todos, Watch

MAX_DEATHS = 3
"""After how many deaths of processes, one after another, over one unit or before any, a run ends.
"""

_LEAVE_S = 3.0  # how long processes may take to leave

_FAULTS: dict[str, type[AgentFault]] = {
    each.status: each for each in (AgentFault, AgentTimeout, AgentAbandoned, AgentDisconnected)
}


@dataclass(slots=True)
class _Share:
    """Units that one agent plays, and how far it is."""

    todo: Todos
    begun: set[int] = field(default_factory=set)  # units that are not recorded yet
    played: set[int] = field(default_factory=set)  # units that are recorded
    deaths: int = 0  # of processes that played it

    @property
    def left(self) -> Todos:
        """The episodes that are not recorded yet."""
        return self.todo.without(self.played)


@dataclass(slots=True)
class _Player:
    """A process, and what it plays."""

    process: Player[FromShard]
    machine: str = ""  # its machine; empty before its first message
    share: _Share | None = None
    spent: ShardSpent = field(default_factory=ShardSpent)
    where: str = ""  # its environments are, in words


class DealingEngine(Engine):
    """Deals a plan's shards to processes, each with an agent and environments of its own.

    What a process that dies had not said is played again by another, as another try; as its
    environment may have been the cause, those of later processes are in workers by default. An
    agent that is lost ends its process.
    """

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        players: Players[FromShard],
        settings: Callable[[int], ShardSettings],
        agents: int,
        as_planned: AsPlanned,
        *,
        folder: Path,
        isolate: Callable[[str], None],
        admit: Callable[[str], None],
        note_machine: Callable[[int, str], None],
        say: Callable[[str], None],
        note_event: Callable[[str], None],
    ) -> None:
        """`settings` are those of the process of a number, from 1 on.

        Unit u is played by agent u mod `agents`. `isolate` gets what keeps each agent from the
        benchmark; `admit` gets its name, and raises for one that must not play; `note_machine`
        gets the machine on which an agent plays; `note_event` hears that a process died and is
        replaced. What players elsewhere log is written to `folder`.
        """
        self._begun = players
        self._settings = settings
        self._agents = agents
        self._as_planned = as_planned
        self._folder = folder
        self._isolate = isolate
        self._admit = admit
        self._note_machine = note_machine
        self._say = say
        self._note_event = note_event
        self._losses = Losses(say)
        self._shown_messages: set[str] = set()
        self._players: dict[int, _Player] = {}  # by number
        self._spent_by_ended: list[ShardSpent] = []  # what others had spent
        self._finished_agents = 0  # agents that were not lost
        self._waiting: deque[_Share] = deque()  # that nobody plays
        self._was_lost = False  # a process, in the midst of a unit
        self._never = 0  # processes that died before they began, one after another
        self._repetitions: list[Repetition] = []
        self._unplaced = 0  # players for which there is no core

    @property
    def spent(self) -> Spent:
        each = self._each_spent()
        return Spent(sum(of.agent_s for of in each), sum(of.environment_s for of in each))

    @property
    def executed(self) -> int:
        """Steps executed by all processes, as of the last unit of each."""
        return sum(of.executed for of in self._each_spent())

    @property
    def outside(self) -> int:
        """Observations outside of their Box in all processes, as of the last unit of each."""
        return sum(of.outside for of in self._each_spent())

    @property
    def where(self) -> str:
        """The place that the processes reported last; this process if one of them plays here."""
        told = {player.where for player in self._players.values()}
        here = LocalEnvironmentPort.where
        return here if here in told else max(told, default="")

    @property
    def repetitions(self) -> Sequence[Repetition]:
        return self._repetitions

    def open(self) -> None:
        """Get ready to start processes; a process starts once there is a shard for it."""
        self._begun.open()

    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Give each process a shard, and another one when that is over.

        After what ends the run no process gets another; those at play finish theirs.
        """
        self._begin = begin
        self._waiting.extend(map(_Share, todo.dealt(self._agents)))
        ending: ReglueError | None = None
        while True:
            try:
                if not (busy := self._deal()):
                    break
                for number in self._ready(busy):
                    self._receive_or_end(number, record, watch)
            except (AgentFault, EnvironmentFault, UsageError) as error:
                ending = ending or error
                self._waiting.clear()
        if ending is not None:
            raise ending

    def explain(self, fault: AgentFault) -> str:
        """The fault's own text."""
        return str(fault)

    def close(self, reason: str) -> None:
        """End all processes, at the same time."""
        for player in self._players.values():
            self._send(player, Farewell(reason))
            player.process.leave()
        processes = [player.process for player in self._players.values()]
        end_together(processes, within_s=hurried(_LEAVE_S))
        self._begun.close(hurried(_LEAVE_S))
        self._spent_by_ended = self._each_spent()
        self._players.clear()

    def _each_spent(self) -> list[ShardSpent]:
        return [*self._spent_by_ended, *(player.spent for player in self._players.values())]

    def _deal(self) -> Mapping[int, _Player]:
        """Give each idle process a shard, if there is one; those that play or begin."""
        for player in self._players.values():
            if player.machine and player.share is None and self._waiting:
                player.share = self._waiting.popleft()
                self._send(player, Shard.of(player.share.left))
        begin = sum(not player.machine for player in self._players.values())
        for number in range(1, self._begun.most + 1):
            if number not in self._players and begin < len(self._waiting):
                if len(self._players) + self._unplaced == self._begun.most:
                    break
                with uninterrupted():  # or a process might be left behind
                    self._players[number] = _Player(self._begun.begin(number))
                begin += 1
        busy = {n: each for n, each in self._players.items() if each.share or not each.machine}
        return busy if self._waiting or any(each.share for each in busy.values()) else {}

    @staticmethod
    def _send(player: _Player, message: Farewell | Shard | ShardSettings) -> None:
        with suppress(OSError):  # it has died, which is received soon
            player.process.send(message)

    def _ready(self, busy: Mapping[int, _Player]) -> list[int]:
        """The numbers of processes that have sent something; waits for the first."""
        numbers = {player.process: number for number, player in busy.items()}
        return [numbers[process] for process in readable(numbers, math.inf)]

    def _receive_or_end(self, number: int, record: Record, watch: Watch) -> None:
        """Receive a message; what its reader raises ends the process too."""
        player = self._players[number]
        try:
            message: FromShard = player.process.receive()
        except (EOFError, OSError):
            message = Died(player.process.death(hurried(_LEAVE_S)))
        try:
            self._take(number, message, record, watch)
        except (AgentFault, EnvironmentFault, UsageError):
            if number in self._players:
                self._end(number)
            raise

    def _take(  # noqa: PLR0915 - one flat match
        self, number: int, message: FromShard, record: Record, watch: Watch
    ) -> None:
        """Take in what a process sent. Raises what ends the run."""
        player = self._players[number]
        if isinstance(message, EpisodeEnded | UnitPlayed | ShardOver | StillPlaying):
            player.spent = message.spent
        match message:
            case EpisodeEnded(episode, phase):
                watch(episode.outcome(self._as_planned), phase)
            case UnitPlayed(attempt, episodes):
                assert player.share is not None
                todo = Todo(episodes[0].unit, attempt)
                if not player.share.played:
                    self._note_machine(todo.unit % self._agents, player.machine)
                player.share.begun.discard(todo.unit)
                player.share.played.add(todo.unit)
                record(todo, [each.outcome(self._as_planned) for each in episodes])
            case UnitBegun(unit, attempt):
                assert player.share is not None
                player.share.begun.add(unit)
                self._begin(Todo(unit, attempt))
            case ShardOver(repetition):
                player.share = None
                if repetition is not None:
                    self._repetitions.append(repetition)
                self._finished_agents += 1
            case StillPlaying(where=where):
                player.where = where
            case Machine(name):
                player.machine, self._never = name, 0
                settings = self._settings(number)
                was_lost = settings.was_lost or self._was_lost
                self._send(player, replace(settings, was_lost=was_lost))
            case LogPart(name, text):
                with (self._folder / Path(name).name).open("ab") as log:
                    log.write(text)
            case Isolation(what):
                self._isolate(what)
            case AgentConnected(name):
                self._admit(name)
            case Say(text):
                if text not in self._shown_messages:  # the others say the same
                    self._shown_messages.add(text)
                    self._say(text)
            case AgentLost(status, what):
                self._lose(self._end(number), _FAULTS[status](what))
            case Died(how):
                self._died(number, how)
            case Unplaced(why):
                self._unplace(number, why)
            case EnvironmentFailed(what):
                raise EnvironmentFault(what)
            case Wrong(why):
                raise UsageError(why)
            case _:
                assert_never(message)

    def _lose(self, share: _Share | None, fault: AgentFault) -> None:
        """An agent is lost. Raises its fault unless it has played its shard."""
        if share is None or len(share.left):
            raise fault
        self._losses.add(fault, str(fault), others=self._finished_agents)

    def _died(self, number: int, cause: str) -> None:
        """A process has died, by `cause`: another one plays the rest.

        Raises EnvironmentFault after too many deaths over one unit.
        """
        machine = self._players[number].machine
        shard = self._end(number)
        self._unplaced = 0  # its core may be free now
        if shard is None:
            self._never += not machine
            if self._never == MAX_DEATHS:
                raise EnvironmentFault(
                    f"{MAX_DEATHS} processes died, one after another, before they played; "
                    f"the last: {cause} (one process needs the least memory)"
                )
            return
        if not len(shard.left):
            return
        shard.deaths += 1
        self._was_lost = True
        if shard.deaths == MAX_DEATHS:
            raise EnvironmentFault(
                f"{MAX_DEATHS} processes died, one after another, that played unit "
                f"{shard.left.units[0]}; the last, on {machine}: {cause} (one process needs "
                "the least memory)"
            )
        shard.todo, shard.begun = shard.todo.again(shard.begun), set()
        self._waiting.appendleft(shard)
        self._note_event(
            f"a process on {machine} died, and another plays what is left of its units: {cause}"
        )

    def _unplace(self, number: int, cause: str) -> None:
        """Go on without a player that got no core. Raises EnvironmentFault if no player has one."""
        self._end(number)
        self._unplaced += 1
        if not self._players:
            raise EnvironmentFault(cause)

    def _end(self, number: int) -> _Share | None:
        """End a process. Returns its shard."""
        player = self._players.pop(number)
        self._spent_by_ended.append(player.spent)
        player.process.leave()
        player.process.end(hurried(_LEAVE_S))
        return player.share
