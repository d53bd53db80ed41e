"""Environments that begin in this process, and move to workers once measured steps make it pay.

A slot moves when its next episode begins, so no episode is played in two processes. Rows are a
function of cells and actions: where they are played changes none.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from glue_server.environment.environment_port import EnvironmentPort, LocalEnvironmentPort
from glue_server.environment.replaying import SlotRoutine
from glue_server.environment.workers import WorkersPort
from reglue.errors import BadReply, EnvironmentFault, ReglueError
from reglue.messages.agent_messages import Cleanup
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
)
from reglue.spec import Array, TaskSpec

log = logging.getLogger("reglue")

LOOK_S = 0.5
"""Seconds of environments' time in this process between two looks; a worker costs more to start."""

MESSAGE_S = 30e-6
"""Seconds that each worker with a part in a turn adds to it."""

_TURNS = 200  # that a look considers


class WorkersPay:
    """Tells if `workers` processes would save a third of the environments' time in a turn.

    It looks after each LOOK_S that environments have taken here, so that what is lost by staying
    too long is about what workers cost to start. The slowest tenth of the turns does not count: on
    a busy machine other programs run in them.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._turns: deque[float] = deque(maxlen=_TURNS)
        self._look_after_s = LOOK_S

    def __call__(self, turn_s: float) -> bool:
        """Take in the seconds of one more turn."""
        self._turns.append(turn_s)
        self._look_after_s -= turn_s
        if self._look_after_s > 0.0:
            return False
        self._look_after_s = LOOK_S
        usual = sorted(self._turns)[: max(1, len(self._turns) * 9 // 10)]
        typical_s = sum(usual) / len(usual)
        shared_s = typical_s / self._workers + MESSAGE_S * self._workers
        return shared_s < typical_s * 2 / 3


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A Play, and its parts here and in workers; None: it has no such part."""

    play: Play
    here: Play | None
    there: Play | None


class MovingPort:
    """Plays in this process, until `pays` says of a turn's seconds that workers are worth it.

    Workers start beside the play; when all of them are ready, slots move there one by one, each
    with its next episode. Nothing limits the time of a slot that is still here. If workers do not
    start, all stays here.
    """

    renews = True
    is_away = False

    def __init__(
        self,
        here: LocalEnvironmentPort,
        make_workers: Callable[[], WorkersPort],
        pays: Callable[[float], bool],
    ) -> None:
        self.hello = here.hello
        self._here: LocalEnvironmentPort | None = here
        self._make_workers = make_workers
        self._pays: Callable[[float], bool] | None = pays  # None: that is decided
        self._starting: WorkersPort | None = None
        self._there: WorkersPort | None = None  # ready to play
        self._is_there = np.zeros(0, np.bool_)  # (slots,)
        self._spec: TaskSpec | None = None
        self._turn_s = 0.0  # that the present turn has taken here
        self._under_way: deque[_UnderWay] = deque()
        self._asked: list[EnvironmentPort] = []  # who answers a call other than a Play

    @property
    def where(self) -> str:
        """In this process, until all may move."""
        return self._there.where if self._there is not None else LocalEnvironmentPort.where

    @property
    def blank(self) -> Collection[int]:
        """Slots that have moved, and whose worker was replaced."""
        if self._there is None or not self._there.blank:
            return ()
        return {slot for slot in self._there.blank if self._is_there[slot]}

    def send(self, call: EnvironmentCall) -> None:
        """Let the slots that are here play at once; hand the others' part to their workers."""
        if isinstance(call, Play):
            self._play(call)
            return
        match call:
            case EnvironmentInit(slots):
                self._asked = [self._emptied(slots)]
            case Cleanup():
                self._asked = [port for port in (self._here, self._there) if port is not None]
            case _ if isinstance(call, SlotRoutine):
                self._asked = [self._home(call.slot)]
            case _:
                raise AssertionError(f"{type(call).__name__} is no call of a benchmark's")
        for port in self._asked:
            port.send(call)

    def receive(self, timeout_s: float) -> EnvironmentReply | None:
        """The answer to the oldest call; a Play's parts are joined."""
        if self._under_way:
            done = self._under_way.popleft()
            return self._played(done, timeout_s)
        replies = [port.receive(timeout_s) for port in self._asked]
        if isinstance(ready := replies[0], EnvironmentReady):
            self._spec = ready.spec
        return replies[0]

    def filenos(self) -> Sequence[int]:
        """The channels of the workers that owe a part of the oldest answer."""
        if self._there is None or not self._under_way or self._under_way[0].there is None:
            return ()
        return self._there.filenos()

    def is_ready(self) -> bool:
        """Whether the workers that have a part of it have answered."""
        if self._there is None or not self._under_way or self._under_way[0].there is None:
            return True
        return self._there.is_ready()

    def renew(self, slot: int) -> None:
        self._home(slot).renew(slot)

    def refuse(self, refused: BadReply) -> None:
        """Log it for the environment's author."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """Close what is here, and end the workers; at once those that have not played."""
        for port in (self._here, self._there, self._starting):
            if port is not None:
                port.close(reason)
        self._here = self._there = self._starting = None

    def _home(self, slot: int) -> LocalEnvironmentPort | WorkersPort:
        port = self._there if self._is_there[slot] else self._here
        assert port is not None, "a slot has a home until `close`"
        return port

    def _emptied(self, slots: int) -> LocalEnvironmentPort | WorkersPort:
        """The port that takes over all slots, as no episode is in play."""
        self._under_way.clear()
        if self._starting is not None and slots != len(self._is_there):
            self._starting.close("they have other slots")
            self._starting = None
        self._is_there = np.full(slots, self._can_move())
        self._leave()
        return self._home(0)

    def _play(self, play: Play) -> None:
        if self._here is None and self._there is not None:
            self._there.send(play)
            self._under_way.append(_UnderWay(play, None, play))
            return
        if play.starts and self._can_move():
            self._is_there[list(play.starts)] = True
        here, there = self._parts(play)
        if there is not None and self._there is not None:
            self._there.send(there)  # first: they play meanwhile
        if here is not None and self._here is not None:
            began = perf_counter()
            self._here.send(here)
            self._measure(here, perf_counter() - began)
        self._under_way.append(_UnderWay(play, here, there))

    def _parts(self, play: Play) -> tuple[Play | None, Play | None]:
        """The part of a Play for this process, and the part for workers."""
        if self._there is None:
            return play, None
        is_there = self._is_there[play.slots]
        parts = []
        for mask, moved in ((~is_there, False), (is_there, True)):
            slots = play.slots[mask]
            starts = {
                slot: cell for slot, cell in play.starts.items() if self._is_there[slot] == moved
            }
            actions = {name: rows[mask] for name, rows in play.actions.items()}
            parts.append(Play(slots, actions, starts) if len(slots) or starts else None)
        here, there = parts
        return here, there

    def _played(self, done: _UnderWay, timeout_s: float) -> EnvironmentReply | None:
        assert self._spec is not None, "init comes first"
        answers: list[tuple[Play, Played]] = []
        for port, part in ((self._there, done.there), (self._here, done.here)):
            if port is None or part is None:
                continue
            reply = port.receive(timeout_s)
            assert isinstance(reply, Played), "worlds answer a Play, and workers are never late"
            answers.append((part, reply))
        if done.here is None:
            self._leave()
        if len(answers) == 1:
            return answers[0][1]
        return _joined(self._spec, done.play, answers)

    def _leave(self) -> None:
        """Once all slots have moved, and nothing is under way here, close what is here."""
        if self._here is None or not self._is_there.all():
            return
        if any(each.here is not None for each in self._under_way):
            return
        self._here.close("its episodes are played in workers")
        self._here = None

    def _measure(self, part: Play, seconds: float) -> None:
        """Count the time of a turn: of its starts, and of the steps that follow them."""
        self._turn_s += seconds
        if self._pays is None or not len(part.slots):
            return
        turn_s, self._turn_s = self._turn_s, 0.0
        if self._pays(turn_s):
            self._pays = None
            self._start()

    def _start(self) -> None:
        """Begin workers, which get ready beside the play."""
        try:
            starting = self._make_workers()
            starting.send(EnvironmentInit(len(self._is_there)))
        except (ReglueError, OSError) as error:
            self._stay(error)
        else:
            self._starting = starting

    def _can_move(self) -> bool:
        """Whether workers can take an episode."""
        if self._starting is None or not self._starting.is_ready():
            return self._there is not None
        starting, self._starting = self._starting, None
        try:
            ready = starting.receive(0.0)
            if not isinstance(ready, EnvironmentReady) or ready.spec != self._spec:
                raise EnvironmentFault("their environment has another task than the one here")
        except (ReglueError, OSError) as error:
            starting.close("they cannot play")
            self._stay(error)
        else:
            self._there = starting
        return self._there is not None

    def _stay(self, error: Exception) -> None:
        log.warning("environments stay in this process, as workers do not start: %s", error)


def _joined(spec: TaskSpec, play: Play, answers: Sequence[tuple[Play, Played]]) -> Played:
    """The answer to `play` from those to its parts."""
    whole = Played.blank(spec, play, is_fresh=True)
    starts = {slot: len(play.slots) + place for place, slot in enumerate(play.starts)}
    faults: dict[int, str] = {}
    illegal: frozenset[int] = frozenset()
    outside = 0
    for part, played in answers:
        steps: Array = np.flatnonzero(np.isin(play.slots, part.slots))
        rows = [*steps.tolist(), *(starts[slot] for slot in part.starts)]
        for name, seen in played.observations.items():
            whole.observations[name][rows] = seen
        whole.rewards[steps] = played.rewards
        whole.terminated[steps] = played.terminated
        whole.truncated[steps] = played.truncated
        whole.success[steps] = played.success
        faults |= played.faults
        illegal |= played.illegal
        outside += played.outside
    return replace(whole, faults=faults, illegal=illegal, outside=outside)
