"""Disturbances of a run, drawn before it begins, so that some of them can be left out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.virtual_network import network

_MOST = 5  # in one run
_FOR_S = (0.5, 8.0)  # how long a process is stopped, from … to …

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A process that is stopped or killed, or a connection that is cut."""

    at_s: float
    kind: str
    place: float  # in [0, 1): which one of those that it may hit is hit
    for_s: float

    def __str__(self) -> str:
        lasts = f" for {self.for_s:.1f} s" if self.kind == "stop" else ""
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

    def happen(each: Disturbance) -> None:
        match each.kind:
            case "cut" if calls := network().calls:
                call = _one(calls, each)
                run.say(f"a connection of {call.client.name} breaks")
                network().cut(call)
            case "stop" | "kill" if alive := [p for p in targets() if p.is_alive]:
                _hit(run, _one(alive, each), each)

    for each in disturbances:
        run.after(each.at_s, partial(happen, each))


def _hit(run: Scheduler, process: Process, disturbance: Disturbance) -> None:
    if disturbance.kind == "kill":
        run.end_process(process, -9)
    elif not process.is_stopped:
        run.stop(process)
        run.after(disturbance.for_s, lambda: run.go_on(process))


def _one(all_: Sequence[T], disturbance: Disturbance) -> T:
    return all_[int(disturbance.place * len(all_))]
