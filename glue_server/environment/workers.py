"""The slots' environments in processes of their own; one that dies is replaced."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from env_adapters import SuiteName
from glue_server.environment.replaying import SlotRoutine
from glue_server.environment.shared_arrays import SharedArrays
from glue_server.environment.worker_pool import WorkerPool
from glue_server.environment.worker_process import Worker, WorkerFaults, WorkerProcess
from glue_server.processes.readable import readable
from glue_server.timeouts import Timeouts
from reglue.errors import BadReply, EnvironmentFault, NotSupported
from reglue.messages.agent_messages import Cleanup, Fault, Refusal, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
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
    StandardizeRandomness,
)
from reglue.version import sdk

log = logging.getLogger("reglue")

START_S = 300.0


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

    is_away = False  # who dies is replaced

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

        Raises UsageError for a suite that other processes cannot make.

        `tell` is called with a message that a worker is lost and replaced.
        """
        suite = suite.elsewhere()
        self.hello = EnvironmentHello(name or suite.factory, sdk())
        self.renews = True
        self.blank: set[int] = set()
        self._pool = WorkerPool(
            start or (lambda: WorkerProcess(suite, log_file, timeout_s=timeout_s)),
            most=workers,
            start_s=start_s,
        )
        self._tell = tell
        self._call: EnvironmentCall | None = None  # other than a Play, to be answered
        self._under_way: deque[_UnderWay] = deque()
        self._standardizes = False
        self._separate_slots = False
        self._shared: SharedArrays

    @property
    def where(self) -> str:
        """The number of workers, in words."""
        count = len(self._pool.workers)
        return f"{count} worker{'s' * (count != 1)}"

    @property
    def processes(self) -> list[int]:
        """Process ids of the workers, in the order of slots."""
        return [worker.pid for worker in self._pool.workers]

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
                for worker in self._pool.workers:
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
                return self._message(call)
            case GetState() | SetState() | GetRandomSeed() | SetRandomSeed():
                return self._routine(call)
        raise AssertionError(f"{type(call).__name__} is no call of the glue's")

    def filenos(self) -> Sequence[int]:
        """The channels of the workers that owe a part of the oldest Play's answer."""
        places = self._under_way[0].places if self._under_way else ()
        return [number for place in places for number in self._pool.workers[place].filenos()]

    def is_ready(self) -> bool:
        """Whether all of them have answered; after env_init, all that are there or gone."""
        if isinstance(self._call, EnvironmentInit):
            return self._pool.is_built()
        if not self._is_answered():
            self._take(waits=False)
        return self._is_answered()

    def renew(self, slot: int) -> None:
        """Replace its worker, unless the slot has not been asked about since that was done, or the
        environment begins it anew by itself.
        """
        place = self._pool.home(slot)
        if slot not in self.blank and not self._separate_slots:
            self._renew(place, at_once=False)

    def refuse(self, refused: BadReply) -> None:
        """Log it for the suite's author."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """End the workers: they leave when their channel closes. Those that start have nothing to
        close.
        """
        self._pool.end(at_once=isinstance(self._call, EnvironmentInit))

    def _init(self, slots: int) -> None:
        """Ask workers for env_init; those that are up keep what they have built."""
        if self._under_way:  # a fault left them: nobody knows which answers are still to come
            self._under_way.clear()
            self._pool.end()
        self.blank.clear()
        self._pool.init(slots)

    def _ready(self) -> EnvironmentReady:
        """Wait for all workers, share memory with them, and return their answer to env_init."""
        try:
            ready = self._pool.ready()
            self._standardizes, self._separate_slots = ready.standardizes, ready.separate_slots
            self._shared = SharedArrays(ready.spec, self._pool.new_memory())
            self._pool.share()
        except BaseException:
            self._pool.end()
            raise
        return ready

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

    def _message(self, call: TextMessage) -> EnvironmentReply:
        """Pass it to every worker; the answer of slot 0's comes back. Before env_init one worker is
        started for it. Raises UsageError, EnvironmentFault.
        """
        if not self._pool.workers:
            self._init(1)
            self._ready()
        first, *_ = [self._ask(place, call) for place in range(len(self._pool.workers))]
        return first

    def _routine(self, call: SlotRoutine) -> EnvironmentReply:
        """Have a slot's worker carry it out. Raises EnvironmentFault; blank: its worker died."""
        self.blank.discard(call.slot)
        return self._ask(self._pool.home(call.slot), call)

    def _ask(self, place: int, call: SlotRoutine | TextMessage) -> EnvironmentReply:
        """Have a worker carry a routine out. Raises EnvironmentFault; blank: it died."""
        try:
            reply = self._pool.workers[place].ask(call)
        except (EOFError, OSError) as error:
            words = self._replace(place, error)
            raise EnvironmentFault(f"{words} in {type(call).__name__}") from error
        if isinstance(reply, Fault):
            raise EnvironmentFault(reply.what)
        return reply

    def _parts(self, play: Play) -> Iterator[tuple[int, Play]]:
        """Each worker's part of a Play; its actions are in the shared arrays."""
        count = len(self._pool.workers)
        if count == 1:
            yield 0, play
            return
        home = self._pool.home
        homes = home(play.slots)
        for place in range(count):
            slots = play.slots[homes == place]
            starts = {slot: cell for slot, cell in play.starts.items() if home(slot) == place}
            if len(slots) or starts:
                yield place, Play(slots, {}, starts)

    def _hand_over(self, place: int, part: Play) -> None:
        try:
            self._pool.workers[place].send(part)
        except OSError:
            log.debug("%s was gone before it got its work", self._pool.workers[place].name)
            # Its channel reads as closed: _take() finds and replaces it.

    def _is_answered(self) -> bool:
        return not (self._under_way and self._under_way[0].places)

    def _take(self, *, waits: bool) -> None:
        """Take in what workers say, for their oldest Play; replace workers that are late."""
        workers = {place: self._pool.workers[place] for place in self._under_way[0].places}
        places = {number: place for place, each in workers.items() for number in each.filenos()}
        within_s = min(each.left_s for each in workers.values()) if waits else 0.0
        ready = readable(places, within_s)
        for place in dict.fromkeys(places[number] for number in ready):
            try:
                self._under_way[0].faults.add(workers[place].receive())
                self._under_way[0].places.remove(place)
            except (EOFError, OSError) as error:
                self._replace(place, error)
        if not ready:
            for place, worker in workers.items():
                if worker.left_s == 0.0:
                    self._replace(place, TimeoutError())

    def _replace(self, place: int, error: Exception) -> str:
        """Replace a lost worker. What it owed is the fault of its slots. Returns why."""
        worker, is_late = self._pool.workers[place], isinstance(error, TimeoutError)
        words = "did not answer" if is_late else f"died: {worker.death() or error}"
        what = f"{worker.name} {words}"
        self._tell(f"{what}; its episodes are rebuilt")
        self._renew(place, at_once=True)
        for under_way in self._under_way:
            if place in under_way.places:
                asked = {*under_way.play.slots.tolist(), *under_way.play.starts}
                under_way.faults.faults |= dict.fromkeys(asked & self._pool.slots_of(place), what)
                under_way.places.remove(place)
        return what

    def _renew(self, place: int, *, at_once: bool) -> None:
        self._pool.renew(place, at_once=at_once)
        self.blank |= self._pool.slots_of(place)
