"""Disturbances of a run, drawn before it begins, so that some of them can be left out."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.virtual_files import Disk
from tests.simulator.virtual_network import network
from tests.simulator.virtual_processes import send_signal
from tests.simulator.virtual_threads import WallClock

_MOST = 5  # in one run
_FOR_S = (0.5, 8.0)  # the shortest and the longest
_SECOND = 0.1  # the second Ctrl-C comes after this share of for_s
_JUMP_S = 48 * 3600.0  # of the clock, by at most half of that, forwards or backwards

_LASTING = ("stop", "full disk", "slow disk", "refuse")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A disturbance of a process, of a connection, or of the disk, clock or network of all.

    "interrupt" is Ctrl-C, and "interrupt twice" two of them; by "clock" the wall clock jumps; by
    "refuse" new connections are refused; and by "garble" the next message to a server is broken.
    """

    at_s: float
    kind: str
    place: float  # in [0, 1): which one of those that it may hit is hit
    for_s: float

    @classmethod
    def read(cls, text: str) -> Self:
        """The disturbance of a line that `written` made. Raises ValueError."""
        at_s, place, for_s, kind = text.split(maxsplit=3)
        return cls(float(at_s), kind, float(place), float(for_s))

    @property
    def written(self) -> str:
        """A line for a file: the time and place, how long it lasts, and the kind."""
        return f"{self.at_s!r} {self.place!r} {self.for_s!r} {self.kind}"

    def __str__(self) -> str:
        lasts = f" for {self.for_s:.1f} s" if self.kind in _LASTING else ""
        return f"{self.kind} at {self.at_s:.3f} s{lasts}"


def draw(seed: int, kinds: Sequence[str], within_s: float) -> list[Disturbance]:
    """Those of a seed, in their order, of these kinds and in the first `within_s` seconds."""
    rng = random.Random(f"disturbances of {seed}")
    drawn = [
        Disturbance(
            rng.uniform(0.0, within_s), rng.choice(kinds), rng.random(), rng.uniform(*_FOR_S)
        )
        for _ in range(rng.randint(0, _MOST))
    ]
    return sorted(drawn, key=lambda each: each.at_s)


def carry_out(
    run: Scheduler, disturbances: Sequence[Disturbance], targets: Callable[[], Sequence[Process]]
) -> None:
    """Let them happen to `targets`, each at its time, in the middle of whatever goes on."""
    for each in disturbances:
        run.after(each.at_s, partial(_happen, run, each, targets))


def _happen(run: Scheduler, each: Disturbance, targets: Callable[[], Sequence[Process]]) -> None:
    run.disturbed.append((run.now, each.kind))
    match each.kind:
        case "cut":
            if calls := network().calls:
                call = _one(calls, each)
                run.say(f"a connection of {call.client.name} breaks")
                network().cut(call)
        case "refuse":
            run.say(f"connections are refused for {each.for_s:.1f} s")
            network().refuses_until = run.now + each.for_s
        case "garble":
            network().garbles = True
        case "full disk":
            run.say(f"the disk is full for {each.for_s:.1f} s")
            run.own(Disk).full_until = run.now + each.for_s
        case "slow disk":
            run.say(f"the disk is slow for {each.for_s:.1f} s")
            run.own(Disk).slow_until = run.now + each.for_s
        case "clock":
            run.own(WallClock).off_s += (each.place - 0.5) * _JUMP_S
            run.say(f"the clock is {run.own(WallClock).off_s / 3600:+.1f} h off")
        case _:
            if alive := [process for process in targets() if process.is_alive]:
                _hit(run, _one(alive, each), each)


def _hit(run: Scheduler, process: Process, disturbance: Disturbance) -> None:
    process.hits.append((run.now, disturbance.kind))
    match disturbance.kind:
        case "kill":
            run.end_process(process, -9)
        case "stop":
            if not process.is_stopped:
                run.stop(process)
                run.after(disturbance.for_s, lambda: run.go_on(process))
        case "interrupt":
            send_signal(process, signal.SIGINT)
        case "interrupt twice":
            send_signal(process, signal.SIGINT)
            run.after(_SECOND * disturbance.for_s, lambda: send_signal(process, signal.SIGINT))
        case kind:
            raise ValueError(f"got a disturbance {kind!r}")


def _one(all_: Sequence[T], disturbance: Disturbance) -> T:
    return all_[int(disturbance.place * len(all_))]
