"""The engine of several processes on this machine."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from glue_server import Spent
from glue_server.processes.channel import ChannelProcess
from glue_server.processes.frames import read_frame, write_frame
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
from reglue_bench.engines.engine import Engine
from reglue_bench.engines.shard import AsPlanned, ShardTold, outcome_of, played_of, todo_head
from reglue_bench.procedures.procedure import MAX_TRIES, Record, Todos, Watch
from reglue_bench.runs.agent_pool import Losses

_LOOK_MS = 200  # how often `stop` is looked at
_FRAME_S = 60.0  # how long a process may take to say the rest of a frame
_LEAVE_S = 3.0  # how long processes may take to leave

_FAULTS: dict[str, type[AgentFault]] = {
    each.status: each for each in (AgentFault, AgentTimeout, AgentAbandoned, AgentDisconnected)
}


@dataclass(slots=True)
class _Shard:
    """Units that one agent plays."""

    todo: Todos
    played: set[int] = field(default_factory=set)  # units that are recorded
    deaths: int = 0  # of processes that played it

    @property
    def left(self) -> Todos:
        """What is not recorded yet."""
        return self.todo.without(self.played)


@dataclass(slots=True)
class _Player:
    """A process, and what it plays."""

    process: ChannelProcess
    shard: _Shard | None = None
    spent: tuple[float, float, int] = (0.0, 0.0, 0)  # on agent and environment, s; steps executed


class LocalEngine(Engine):
    """Deals a plan's shards to processes, each with an agent and environments of its own.

    What a process that dies had not said is played again by another. An agent that is lost ends
    its process.
    """

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        told: Callable[[int], ShardTold],
        agents: int,
        as_planned: AsPlanned,
        *,
        processes: int,
        isolate: Callable[[str], None],
        admit: Callable[[str], None],
        say: Callable[[str], None],
        stop: threading.Event | None = None,
    ) -> None:
        """`told` says what a process is to play, given its number from 1 on.

        Unit u is played by agent u mod `agents`. `isolate` is told what keeps each agent from the
        benchmark; `admit` is told its name, and raises for one that must not play. Once `stop` is
        set, play is interrupted.
        """
        self._told = told
        self._agents = agents
        self._as_planned = as_planned
        self._numbers = range(1, processes + 1)
        self._isolate = isolate
        self._admit = admit
        self._say = say
        self._stop = stop
        self._losses = Losses(say)
        self._said: set[str] = set()
        self._players: dict[int, _Player] = {}  # by number
        self._gone: list[tuple[float, float, int]] = []  # what others had spent
        self._kept = 0  # agents that were not lost
        self._again: deque[_Shard] = deque()  # whose process died

    @property
    def spent(self) -> Spent:
        """Over all processes."""
        each = self._each_spent()
        return Spent(sum(of[0] for of in each), sum(of[1] for of in each))

    @property
    def executed(self) -> int:
        """By all processes, as of the last unit of each."""
        return sum(of[2] for of in self._each_spent())

    def open(self) -> None:
        """Nothing to do: a process begins when there is a shard for it."""

    def play(self, todo: Todos, *, record: Record, watch: Watch) -> None:
        """Give each process a shard, and another one when that is over.

        After what ends the run no process gets another; those at play finish theirs.
        """
        shards = map(_Shard, todo.dealt(self._agents))
        ending: ReglueError | None = None
        while busy := self._deal(shards if ending is None else iter(())):
            for number in self._heard_from(busy):
                try:
                    self._hear(number, record, watch)
                except (AgentFault, EnvironmentFault, UsageError) as error:
                    ending = ending or error
                    self._again.clear()
                    if number in self._players:
                        self._end(number)
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
        for player in self._players.values():
            player.process.end(hurried(_LEAVE_S))
        self._gone = self._each_spent()
        self._players.clear()

    def _each_spent(self) -> list[tuple[float, float, int]]:
        return [*self._gone, *(player.spent for player in self._players.values())]

    def _deal(self, shards: Iterator[_Shard]) -> Mapping[int, _Player]:
        """Give each idle process a shard, if there is one; those that play."""
        for number in self._numbers:
            if number not in self._players or self._players[number].shard is None:
                shard = self._again.popleft() if self._again else next(shards, None)
                if shard is not None:
                    self._give(number, shard)
        return {n: each for n, each in self._players.items() if each.shard is not None}

    def _give(self, number: int, shard: _Shard) -> None:
        if number not in self._players:
            self._begin(number)
        player = self._players[number]
        player.shard = shard
        with suppress(OSError):  # it has died, which is heard soon
            write_frame(player.process.channel, todo_head(shard.left))

    def _begin(self, number: int) -> None:
        with uninterrupted():  # or a process might be left behind
            player = _Player(ChannelProcess("reglue_bench.engines.shard_process"))
            self._players[number] = player
        player.process.channel.settimeout(_FRAME_S)
        with suppress(OSError):
            write_frame(player.process.channel, self._told(number).to_json())

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

    def _hear(self, number: int, record: Record, watch: Watch) -> None:
        """What a process says next. Raises what ends the run."""
        player = self._players[number]
        try:
            head, body = read_frame(player.process.channel)
        except (EOFError, OSError):
            self._died(self._end(number))
            return
        player.spent = tuple(head.get("spent", player.spent))
        assert player.shard is not None
        match head:
            case {"outcome": outcome, "phase": phase}:
                watch(outcome_of(outcome, self._as_planned), phase)
            case {"played": played}:
                todo, outcomes = played_of(played, body, self._as_planned)
                player.shard.played.add(todo.unit)
                record(todo, outcomes)
            case {"over": _}:
                player.shard = None
                self._kept += 1
            case {"isolation": isolation}:
                self._isolate(isolation)
            case {"agent": name}:
                self._admit(name)
            case {"say": words} if words not in self._said:
                self._said.add(words)  # the others say the same
                self._say(words)
            case {"lost": status, "what": words}:
                self._lose(self._end(number), _FAULTS[status](words))
            case {"failed": words}:
                raise EnvironmentFault(words)
            case {"wrong": words}:
                raise UsageError(words)

    def _lose(self, shard: _Shard, fault: AgentFault) -> None:
        """An agent is lost. Raises its fault unless it has played its shard."""
        if len(shard.left):
            raise fault
        self._losses.add(fault, str(fault), others=self._kept)

    def _died(self, shard: _Shard) -> None:
        """A process has died: another plays what is left. Raises EnvironmentFault at last."""
        if not len(shard.left):
            return
        shard.deaths += 1
        if shard.deaths == MAX_TRIES:
            raise EnvironmentFault(
                f"{MAX_TRIES} processes died, one after another, that played unit "
                f"{shard.left.units[0]}: it may need more memory than there is (--processes 1)"
            )
        self._again.append(shard)

    def _end(self, number: int) -> _Shard:
        """End a process that plays. Returns its shard."""
        player = self._players.pop(number)
        self._gone.append(player.spent)
        player.process.leave()
        player.process.end(hurried(_LEAVE_S))
        assert player.shard is not None
        return player.shard
