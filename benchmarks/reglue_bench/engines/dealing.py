"""The engine that deals shards to processes, here or on the nodes of a cluster."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from glue_server import Spent
from glue_server.agent.repetition import Repetition
from glue_server.processes.children import end_together
from glue_server.processes.frames import read_frame, unknown_frame, write_frame
from glue_server.processes.interrupts import check_stop, hurried, uninterrupted
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
from reglue_bench.engines.players import Player, Players
from reglue_bench.engines.shard import AsPlanned, ShardTold, outcome_of, played_of, todo_head
from reglue_bench.procedures.procedure import Begin, Record, Todo, Todos, Watch

MAX_DEATHS = 3
"""After how many deaths of processes, one after another, over one unit or before any, a run ends.
"""

_LOOK_MS = 200  # how often `stop` is looked at
_FRAME_S = 60.0  # how long a process may take to say the rest of a frame
_LEAVE_S = 3.0  # how long processes may take to leave

_FAULTS: dict[str, type[AgentFault]] = {
    each.status: each for each in (AgentFault, AgentTimeout, AgentAbandoned, AgentDisconnected)
}


_Spent: TypeAlias = tuple[float, float, int, int]
"""On agent and environment, seconds; steps that were executed; observations outside of a Box."""


@dataclass(slots=True)
class _Shard:
    """Units that one agent plays."""

    todo: Todos
    begun: set[int] = field(default_factory=set)  # units that are not recorded yet
    played: set[int] = field(default_factory=set)  # units that are recorded
    deaths: int = 0  # of processes that played it

    @property
    def left(self) -> Todos:
        """What is not recorded yet."""
        return self.todo.without(self.played)


@dataclass(slots=True)
class _Player:
    """A process, and what it plays."""

    process: Player
    machine: str = ""  # where it is; empty: it has not begun yet
    shard: _Shard | None = None
    spent: _Spent = (0.0, 0.0, 0, 0)


class DealingEngine(Engine):
    """Deals a plan's shards to processes, each with an agent and environments of its own.

    What a process that dies had not said is played again by another, as another try. An agent that
    is lost ends its process.
    """

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        players: Players,
        told: Callable[[int], ShardTold],
        agents: int,
        as_planned: AsPlanned,
        *,
        folder: Path,
        isolate: Callable[[str], None],
        admit: Callable[[str], None],
        note_machine: Callable[[int, str], None],
        say: Callable[[str], None],
        note_event: Callable[[str], None],
        stop: threading.Event | None = None,
    ) -> None:
        """`told` says what a process is to play, given its number from 1 on.

        Unit u is played by agent u mod `agents`. `isolate` is told what keeps each agent from the
        benchmark; `admit` is told its name, and raises for one that must not play; `note_machine`
        is told the machine on which an agent plays; `note_event` is told that a process died and is
        replaced. What players elsewhere log is written to `folder`. Once `stop` is set, play is
        interrupted.
        """
        self._begun = players
        self._told = told
        self._agents = agents
        self._as_planned = as_planned
        self._folder = folder
        self._isolate = isolate
        self._admit = admit
        self._note_machine = note_machine
        self._say = say
        self._note_event = note_event
        self._stop = stop
        self._losses = Losses(say)
        self._said: set[str] = set()
        self._players: dict[int, _Player] = {}  # by number
        self._gone: list[_Spent] = []  # what others had spent
        self._kept = 0  # agents that were not lost
        self._waiting: deque[_Shard] = deque()  # that nobody plays
        self._never = 0  # processes that died before they began, one after another
        self._repetitions: list[Repetition] = []
        self._unplaced = 0  # players for which there is no core

    @property
    def spent(self) -> Spent:
        """Over all processes."""
        each = self._each_spent()
        return Spent(sum(of[0] for of in each), sum(of[1] for of in each))

    @property
    def executed(self) -> int:
        """By all processes, as of the last unit of each."""
        return sum(of[2] for of in self._each_spent())

    @property
    def outside(self) -> int:
        """In all processes, as of the last unit of each."""
        return sum(of[3] for of in self._each_spent())

    @property
    def repetitions(self) -> Sequence[Repetition]:
        """One of each shard."""
        return self._repetitions

    def open(self) -> None:
        """Get ready to begin processes: each begins when there is a shard for it."""
        self._begun.open()

    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Give each process a shard, and another one when that is over.

        After what ends the run no process gets another; those at play finish theirs.
        """
        self._begin = begin
        self._waiting.extend(map(_Shard, todo.dealt(self._agents)))
        ending: ReglueError | None = None
        while True:
            try:
                if not (busy := self._deal()):
                    break
                for number in self._heard_from(busy):
                    self._hear_or_end(number, record, watch)
            except (AgentFault, EnvironmentFault, UsageError) as error:
                ending = ending or error
                self._waiting.clear()
        if ending is not None:
            raise ending

    def explain(self, fault: AgentFault) -> str:
        """In its own words."""
        return str(fault)

    def close(self, reason: str) -> None:
        """End all processes, at the same time."""
        for player in self._players.values():
            with suppress(OSError):
                write_frame(player.process.channel, {"farewell": reason})
            player.process.leave()
        processes = [player.process for player in self._players.values()]
        end_together(processes, within_s=hurried(_LEAVE_S))
        self._begun.close(hurried(_LEAVE_S))
        self._gone = self._each_spent()
        self._players.clear()

    def _each_spent(self) -> list[_Spent]:
        return [*self._gone, *(player.spent for player in self._players.values())]

    def _deal(self) -> Mapping[int, _Player]:
        """Give each idle process a shard, if there is one; those that play or begin."""
        for player in self._players.values():
            if player.machine and player.shard is None and self._waiting:
                player.shard = self._waiting.popleft()
                self._tell(player, todo_head(player.shard.left))
        begin = sum(not player.machine for player in self._players.values())
        for number in range(1, self._begun.most + 1):
            if number not in self._players and begin < len(self._waiting):
                if len(self._players) + self._unplaced == self._begun.most:
                    break
                with uninterrupted():  # or a process might be left behind
                    self._players[number] = _Player(self._begun.begin(number))
                begin += 1
        busy = {n: each for n, each in self._players.items() if each.shard or not each.machine}
        return busy if self._waiting or any(each.shard for each in busy.values()) else {}

    @staticmethod
    def _tell(player: _Player, head: Mapping[str, object], body: bytes = b"") -> None:
        with suppress(OSError):  # it has died, which is heard soon
            write_frame(player.process.channel, head, body)

    def _heard_from(self, busy: Mapping[int, _Player]) -> list[int]:
        """The numbers of processes that have said something; waits for the first."""
        poll = select.poll()
        numbers = {player.process.channel.fileno(): number for number, player in busy.items()}
        for descriptor in numbers:
            poll.register(descriptor, select.POLLIN)
        while not (ready := poll.poll(_LOOK_MS)):
            check_stop(self._stop)
        check_stop(self._stop)
        return [numbers[descriptor] for descriptor, _ in ready]

    def _hear_or_end(self, number: int, record: Record, watch: Watch) -> None:
        """As `_hear`; what it raises ends the process too."""
        try:
            self._hear(number, record, watch)
        except (AgentFault, EnvironmentFault, UsageError):
            if number in self._players:
                self._end(number)
            raise

    def _hear(  # noqa: PLR0915 - one flat match
        self, number: int, record: Record, watch: Watch
    ) -> None:
        """What a process says next. Raises what ends the run."""
        player = self._players[number]
        try:
            head, body = read_frame(player.process.channel)
        except (EOFError, OSError):
            self._died(number, player.process.death(hurried(_LEAVE_S)))
            return
        player.spent = tuple(head.get("spent", player.spent))
        match head:
            case {"outcome": outcome, "phase": phase}:
                watch(outcome_of(outcome, self._as_planned), phase)
            case {"played": played}:
                assert player.shard is not None
                todo, outcomes = played_of(played, body, self._as_planned)
                if not player.shard.played:
                    self._note_machine(todo.unit % self._agents, player.machine)
                player.shard.begun.discard(todo.unit)
                player.shard.played.add(todo.unit)
                record(todo, outcomes)
            case {"begun": [unit, attempt]}:
                assert player.shard is not None
                player.shard.begun.add(unit)
                self._begin(Todo(unit, attempt))
            case {"over": repetition}:
                player.shard = None
                if repetition is not None:
                    self._repetitions.append(Repetition(**repetition))
                self._kept += 1
            case {"machine": machine}:
                player.machine, self._never = machine, 0
                player.process.channel.settimeout(_FRAME_S)
                told = self._told(number)
                self._tell(player, told.to_json(), told.bodies)
            case {"log": name}:
                with (self._folder / Path(name).name).open("ab") as log:
                    log.write(body)
            case {"isolation": isolation}:
                self._isolate(isolation)
            case {"agent": name}:
                self._admit(name)
            case {"say": words}:
                if words not in self._said:  # the others say the same
                    self._said.add(words)
                    self._say(words)
            case {"lost": status, "what": words}:
                self._lose(self._end(number), _FAULTS[status](words))
            case {"died": words}:
                self._died(number, words)
            case {"unplaced": words}:
                self._unplace(number, words)
            case {"failed": words}:
                raise EnvironmentFault(words)
            case {"wrong": words}:
                raise UsageError(words)
            case {"spent": _} if len(head) == 1:
                pass
            case _:
                raise unknown_frame(head)

    def _lose(self, shard: _Shard | None, fault: AgentFault) -> None:
        """An agent is lost. Raises its fault unless it has played its shard."""
        if shard is None or len(shard.left):
            raise fault
        self._losses.add(fault, str(fault), others=self._kept)

    def _died(self, number: int, words: str) -> None:
        """A process has died, as the words say: another plays what is left.

        Raises EnvironmentFault after so many deaths over one unit.
        """
        machine = self._players[number].machine
        shard = self._end(number)
        self._unplaced = 0  # its core may be free now
        if shard is None:
            self._never += not machine
            if self._never == MAX_DEATHS:
                raise EnvironmentFault(
                    f"{MAX_DEATHS} processes died, one after another, before they played; "
                    f"the last: {words} (one process needs the least memory)"
                )
            return
        if not len(shard.left):
            return
        shard.deaths += 1
        if shard.deaths == MAX_DEATHS:
            raise EnvironmentFault(
                f"{MAX_DEATHS} processes died, one after another, that played unit "
                f"{shard.left.units[0]}; the last, on {machine}: {words} (one process needs "
                "the least memory)"
            )
        shard.todo, shard.begun = shard.todo.again(shard.begun), set()
        self._waiting.appendleft(shard)
        self._note_event(
            f"a process on {machine} died, and another plays what is left of its units: {words}"
        )

    def _unplace(self, number: int, words: str) -> None:
        """Go on without a player that got no core. Raises EnvironmentFault if no player has one."""
        self._end(number)
        self._unplaced += 1
        if not self._players:
            raise EnvironmentFault(f"{words}; the run can be resumed")

    def _end(self, number: int) -> _Shard | None:
        """End a process. Returns its shard."""
        player = self._players.pop(number)
        self._gone.append(player.spent)
        player.process.leave()
        player.process.end(hurried(_LEAVE_S))
        return player.shard
