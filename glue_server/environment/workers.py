"""The slots' environments in processes of their own, replaced when one dies."""

from __future__ import annotations

import logging
import math
import os
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from env_adapters import SuiteName
from glue_server.environment.shared_memory import SharedArrays, new_memory
from glue_server.environment.worker_process import (
    ReplayLog,
    SlotRoutine,
    Worker,
    WorkerProcess,
    end_at_once,
)
from glue_server.processes.children import end_together
from glue_server.processes.interrupts import hurried
from glue_server.timeouts import Timeouts
from reglue.environments.environment import StandardRandomness
from reglue.errors import BadReply, EnvironmentFault, NotSupported, UsageError
from reglue.messages.agent import Cleanup, Fault, Refusal, RoutineDone, TextMessage
from reglue.messages.environment import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
    Slots,
    StandardizeRandomness,
)
from reglue.version import sdk

log = logging.getLogger("reglue")

MAX_REBUILDS = 3
"""After how many deaths of a worker that plays it again an episode is given up.

As often a worker that does not come up is started.
"""

START_S = 300.0
_Slot = TypeVar("_Slot", int, Slots)

_LOOK_S = 60.0  # poll takes no day
_LEAVE_S = 2.0  # how long workers may take to close their environments


@dataclass(slots=True)
class _UnderWay:
    """A Play, and which workers still owe their part of its answer."""

    play: Play
    places: set[int] = field(default_factory=set)
    faults: dict[int, str] = field(default_factory=dict)


class WorkersPort:
    """A suite's worlds in at most `workers` processes, each the home of as many slots.

    A worker that dies, or takes longer than `timeout_s` for an answer, is replaced; its live
    episodes are played again from their recorded actions, and the caller gets the same answer.
    To build its suite a worker may take `start_s`.
    """

    def __init__(  # noqa: PLR0913 - all but two have defaults
        self,
        suite: SuiteName,
        *,
        workers: int,
        name: str = "",
        log_file: Path | None = None,
        timeout_s: float = Timeouts.environment_s,
        start_s: float = START_S,
        start: Callable[[], Worker] | None = None,
        tell: Callable[[str], None] = log.warning,
    ) -> None:
        """`start` begins a worker, by default a process of this machine.

        `tell` is told that a worker is lost and replaced.
        """
        self.hello = EnvironmentHello(name or suite.factory, sdk())
        self.replayed = 0
        self._most = workers
        self._start = start or (lambda: WorkerProcess(suite, log_file, timeout_s=timeout_s))
        self._start_s = start_s
        self._tell = tell
        self._log = ReplayLog()
        self._call: EnvironmentCall | None = None  # other than a Play, to be answered
        self._under_way: deque[_UnderWay] = deque()
        self._workers: list[Worker] = []
        self._slots = 0
        self._standardizes = False
        self._memory = -1
        self._shared: SharedArrays
        self._standard: StandardRandomness | None = None

    @property
    def processes(self) -> list[int]:
        """Process ids of the workers, in the order of slots."""
        return [worker.pid for worker in self._workers]

    def send(self, call: EnvironmentCall) -> None:
        """Hand a Play to the workers of its slots; start them at env_init."""
        if isinstance(call, Play):
            self._send(call)
            return
        self._call = call
        match call:
            case EnvironmentInit(slots):
                self._init(slots)
            case StandardizeRandomness(seed) if self._standardizes:
                self._standard = StandardRandomness(seed)
            case Cleanup():
                for worker in self._workers:
                    worker.cleanup()

    def receive(self, timeout_s: float) -> EnvironmentReply:
        """Wait for the answer; a dead or late worker is replaced on the way.

        Raises UsageError for a suite that cannot be built, EnvironmentFault: no worker starts.
        """
        call, self._call = self._call, None
        match call:
            case None:
                return self._played()
            case EnvironmentInit():
                return self._ready()
            case StandardizeRandomness() if not self._standardizes:
                got, wanted = "env_standardize_randomness", "an environment that standardizes"
                return Refusal(0, NotSupported.code, got, wanted)
            case Cleanup() | StandardizeRandomness():
                return RoutineDone()
            case TextMessage():
                return TextMessage("")  # as of any worlds
            case GetState() | SetState() | GetRandomSeed() | SetRandomSeed():
                return self._routine(call)
        raise AssertionError(f"{type(call).__name__} is no call of the glue's")

    def filenos(self) -> Sequence[int]:
        """The channels of the workers that owe a part of the oldest Play's answer."""
        places = self._under_way[0].places if self._under_way else ()
        return [number for place in places for number in self._workers[place].filenos()]

    def is_ready(self) -> bool:
        """Whether all of them have answered."""
        if not self._is_answered():
            self._take(waits=False)
        return self._is_answered()

    def refuse(self, refused: BadReply) -> None:
        """Log it for the suite's author."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """End the workers: they leave when their channel closes."""
        self._end()

    def _init(self, slots: int) -> None:
        """Ask workers for env_init; those that are up keep what they have built."""
        if self._under_way:  # a fault left them: nobody knows which answers are still to come
            self._under_way.clear()
            self._end()
        self._slots, self._standard, self._log = slots, None, ReplayLog()
        count = min(self._most, slots)
        for worker in self._workers[count:]:
            end_at_once(worker)
        self._workers = self._workers[:count]
        for worker in self._workers:
            worker.init(slots)
        try:
            while len(self._workers) < count:
                self._workers.append(self._started())
        except BaseException:
            self._end()
            raise

    def _ready(self) -> EnvironmentReady:
        """What they promise, once all have started, and the memory that they share."""
        try:
            ready, *_ = [self._built(place) for place in range(len(self._workers))]
            self._standardizes = ready.standardizes
            self._free()
            self._memory = new_memory()
            self._shared = SharedArrays(ready.spec, self._memory)
            for worker in self._workers:
                worker.share(self._memory)
        except BaseException:
            self._end()
            raise
        return ready

    def _end(self) -> None:
        for worker in self._workers:
            worker.leave()
        end_together(self._workers, within_s=hurried(_LEAVE_S))
        self._workers = []
        self._free()

    def _free(self) -> None:
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1

    def _send(self, play: Play) -> None:
        play = self._numbered(play)
        self._log.add(play)
        self._shared.put_actions(play)
        under_way = _UnderWay(play)
        self._under_way.append(under_way)
        for place, part in self._parts(play):
            under_way.places.add(place)
            self._hand_over(place, part)

    def _numbered(self, play: Play) -> Play:
        """With standardized randomness, the n-th start draws from (seed, n): see Worlds."""
        if self._standard is None or not play.starts:
            return play
        starts = {slot: self._standard.next(cell) for slot, cell in play.starts.items()}
        return Play(play.slots, play.actions, starts)

    def _played(self) -> Played:
        while not self._is_answered():
            self._take(waits=True)
        done = self._under_way.popleft()
        played = self._shared.played(done.play, done.faults)
        over = done.play.slots[played.terminated | played.truncated].tolist()
        self._log.forget([*over, *done.faults])
        return played

    def _routine(self, call: SlotRoutine) -> EnvironmentReply:
        """Have a slot's worker carry it out; what changes the slot is logged for a replacement."""
        place = self._home(call.slot)
        for _ in range(MAX_REBUILDS):
            try:
                reply = self._workers[place].ask(call)
            except (EOFError, OSError) as error:
                self._replace(place, error)
                continue
            if isinstance(reply, Fault):
                raise EnvironmentFault(reply.what)
            if isinstance(reply, RoutineDone):
                self._log.change(call)
            return reply
        what = f"{MAX_REBUILDS} workers died, or hung, in {type(call).__name__}"
        raise EnvironmentFault(f"slot {call.slot}: {what}")

    def _parts(self, play: Play) -> Iterator[tuple[int, Play]]:
        """Each worker's part of a Play; its actions are in the shared arrays."""
        count = len(self._workers)
        if count == 1:
            yield 0, play
            return
        homes = self._home(play.slots)
        for place in range(count):
            slots = play.slots[homes == place]
            starts = {slot: cell for slot, cell in play.starts.items() if self._home(slot) == place}
            if len(slots) or starts:
                yield place, Play(slots, {}, starts)

    def _home(self, slot: _Slot) -> _Slot:
        """The worker in which a slot lives, or each of some slots.

        Of two workers 0 1 1 0 0 1 1 0 …: where every tenth slot plays the same task, tasks that
        take long are shared by all workers.
        """
        count = len(self._workers)
        return (slot + slot // count) % count

    def _hand_over(self, place: int, part: Play) -> None:
        try:
            self._workers[place].send(part)
        except OSError:
            log.debug("%s was gone before it got its work", self._workers[place].name)
            # Its channel reads as closed: _take() finds and replaces it.

    def _is_answered(self) -> bool:
        return not (self._under_way and self._under_way[0].places)

    def _take(self, *, waits: bool) -> None:
        """Take in what workers say, for their oldest Play; replace workers that are late."""
        poll = select.poll()
        places = {}
        for place in self._under_way[0].places:
            for number in self._workers[place].filenos():
                places[number] = place
                poll.register(number, select.POLLIN)
        left_s = min(self._workers[place].left_s for place in places.values())
        ready = poll.poll(math.ceil(1000 * min(left_s, _LOOK_S)) if waits else 0)
        for place in dict.fromkeys(places[number] for number, _ in ready):
            try:
                self._under_way[0].faults |= self._workers[place].receive()
                self._under_way[0].places.remove(place)
            except (EOFError, OSError) as error:
                self._replace(place, error)
        if not ready:
            for place in dict.fromkeys(places.values()):
                if self._workers[place].left_s == 0.0:
                    self._replace(place, TimeoutError())

    def _replace(self, place: int, error: Exception) -> None:
        """Play a lost worker's episodes again in a new one, up to what it was asked last."""
        worker, is_late = self._workers[place], isinstance(error, TimeoutError)
        how = "did not answer" if is_late else f"died: {worker.death() or error}"
        self._tell(f"{worker.name} {how}; its episodes are rebuilt")
        mine = [slot for slot in self._log.slots if self._home(slot) == place]
        while True:
            self._renew(place)
            faults: dict[int, str] = {}
            for slot in mine:
                try:
                    faults |= self._replay(place, slot)
                except (EOFError, OSError):
                    self._log.deaths[slot] += 1
                    break
            else:
                break
        for under_way in self._under_way:
            if place in under_way.places:
                asked = {*under_way.play.slots.tolist(), *under_way.play.starts}
                under_way.faults |= {slot: faults[slot] for slot in asked & faults.keys()}
                under_way.places.remove(place)

    def _replay(self, place: int, slot: int) -> dict[int, str]:
        """Its fault, if there is one; the last answer is in the shared arrays."""
        worker, deaths = self._workers[place], self._log.deaths[slot]
        if deaths >= MAX_REBUILDS:
            return {slot: f"{deaths} workers died, or hung, while they played this episode"}
        for call in self._log.of(slot):
            if not isinstance(call, Play):
                worker.ask(call)
                continue
            self._shared.put_actions(call)
            worker.send(call)
            faults = worker.receive()
            if faults:
                return faults
            self.replayed += len(call.slots)
        return {}

    def _renew(self, place: int) -> None:
        end_at_once(self._workers[place])
        self._workers[place] = self._started()
        try:
            self._built(place)
        except UsageError as error:  # it could be built before: nobody asked for anything wrong
            raise EnvironmentFault(f"a worker cannot be replaced: {error}") from error
        self._workers[place].share(self._memory)

    def _started(self) -> Worker:
        worker = self._start()
        worker.init(self._slots)
        return worker

    def _built(self, place: int) -> EnvironmentReady:
        """What a worker promises; one that dies or hangs before that is started again."""
        for left in reversed(range(MAX_REBUILDS)):
            try:
                return self._workers[place].ready(self._start_s)
            except EnvironmentFault as fault:
                if not left:
                    raise
                log.warning("%s; another one is started", fault)
                end_at_once(self._workers[place])
                self._workers[place] = self._started()
        raise AssertionError
