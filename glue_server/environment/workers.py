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
from glue_server.environment.replaying import SlotRoutine
from glue_server.environment.shared_memory import SharedArrays, new_memory
from glue_server.environment.worker_process import (
    Worker,
    WorkerFaults,
    WorkerProcess,
    end_at_once,
)
from glue_server.processes.child import end_together
from glue_server.processes.interrupts import hurried, next_look_s
from glue_server.timeouts import Timeouts
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

MAX_STARTS = 3
"""How often a worker that does not come up is started."""

START_S = 300.0
_Slot = TypeVar("_Slot", int, Slots)

_LOOK_S = 60.0  # poll takes no day
_LEAVE_S = 2.0  # how long workers may take to close their environments


@dataclass(slots=True)
class _UnderWay:
    """A Play, and which workers still owe their part of its answer."""

    play: Play
    places: set[int] = field(default_factory=set)
    faults: WorkerFaults = field(default_factory=WorkerFaults)


class WorkersPort:
    """A suite's worlds in at most `workers` processes, each the home of as many slots.

    A worker that dies, or takes longer than `timeout_s` for an answer, is replaced: what it owed is
    the fault of the slots that were asked, and all of its slots are `blank`. `EnvironmentCalls`
    plays their episodes again. To build its suite a worker may take `start_s`.
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
        self.renews = True
        self.blank: set[int] = set()
        self._most = workers
        self._start = start or (lambda: WorkerProcess(suite, log_file, timeout_s=timeout_s))
        self._start_s = start_s
        self._tell = tell
        self._call: EnvironmentCall | None = None  # other than a Play, to be answered
        self._under_way: deque[_UnderWay] = deque()
        self._workers: list[Worker] = []
        self._slots = 0
        self._standardizes = False
        self._memory = -1
        self._shared: SharedArrays

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
        self._slots = slots
        self.blank.clear()
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
        self.blank.difference_update(play.slots.tolist(), play.starts)
        self._shared.put_actions(play)
        under_way = _UnderWay(play)
        self._under_way.append(under_way)
        for place, part in self._parts(play):
            under_way.places.add(place)
            self._hand_over(place, part)

    def _played(self) -> Played:
        while not self._is_answered():
            self._take(waits=True)
        done = self._under_way.popleft()
        found = done.faults
        return self._shared.played(done.play, found.faults, found.illegal, found.outside)

    def _routine(self, call: SlotRoutine) -> EnvironmentReply:
        """Have a slot's worker carry it out. Raises EnvironmentFault; blank: its worker died."""
        place = self._home(call.slot)
        self.blank.discard(call.slot)
        try:
            reply = self._workers[place].ask(call)
        except (EOFError, OSError) as error:
            words = self._replace(place, error)
            raise EnvironmentFault(f"slot {call.slot}: {words} in {type(call).__name__}") from error
        if isinstance(reply, Fault):
            raise EnvironmentFault(reply.what)
        return reply

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
        wait_s = next_look_s(min(left_s, _LOOK_S)) if waits else 0.0
        ready = poll.poll(math.ceil(1000 * wait_s))
        for place in dict.fromkeys(places[number] for number, _ in ready):
            try:
                self._under_way[0].faults.add(self._workers[place].receive())
                self._under_way[0].places.remove(place)
            except (EOFError, OSError) as error:
                self._replace(place, error)
        if not ready:
            for place in dict.fromkeys(places.values()):
                if self._workers[place].left_s == 0.0:
                    self._replace(place, TimeoutError())

    def renew(self, slot: int) -> None:
        """Replace its worker, unless the slot has not been asked about since that was done."""
        if slot not in self.blank:
            self._renew(self._home(slot))

    def _replace(self, place: int, error: Exception) -> str:
        """Replace a lost worker. What it owed is the fault of its slots. Returns why."""
        worker, is_late = self._workers[place], isinstance(error, TimeoutError)
        words = "did not answer" if is_late else f"died: {worker.death() or error}"
        what = f"{worker.name} {words}"
        self._tell(f"{what}; its episodes are rebuilt")
        self._renew(place)
        for under_way in self._under_way:
            if place in under_way.places:
                asked = {*under_way.play.slots.tolist(), *under_way.play.starts}
                under_way.faults.faults |= dict.fromkeys(asked & self._mine(place), what)
                under_way.places.remove(place)
        return what

    def _mine(self, place: int) -> set[int]:
        """The slots that live in a worker."""
        return {slot for slot in range(self._slots) if self._home(slot) == place}

    def _renew(self, place: int) -> None:
        end_at_once(self._workers[place])
        self._workers[place] = self._started()
        try:
            self._built(place)
        except UsageError as error:  # it could be built before: nobody asked for anything wrong
            raise EnvironmentFault(f"a worker cannot be replaced: {error}") from error
        self._workers[place].share(self._memory)
        self.blank |= self._mine(place)

    def _started(self) -> Worker:
        worker = self._start()
        worker.init(self._slots)
        return worker

    def _built(self, place: int) -> EnvironmentReady:
        """What a worker promises; one that dies or hangs before that is started again."""
        for left in reversed(range(MAX_STARTS)):
            try:
                return self._workers[place].ready(self._start_s)
            except EnvironmentFault as fault:
                if not left:
                    raise
                log.warning("%s; another one is started", fault)
                end_at_once(self._workers[place])
                self._workers[place] = self._started()
        raise AssertionError
