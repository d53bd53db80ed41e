"""Plays seeds of a world, and looks for the disturbances that a failure needs."""

from __future__ import annotations

import gc
import hashlib
import io
import logging
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from tests.simulator.disturbances import Disturbance, carry_out, draw
from tests.simulator.scheduler import Scheduler, Violation, simulated
from tests.simulator.substitution import forget
from tests.simulator.worlds import WORLDS

log = logging.getLogger("reglue")


@dataclass(frozen=True, slots=True)
class Played:
    """The run of a seed."""

    seed: int
    disturbances: Sequence[Disturbance]
    violations: Sequence[str]  # none: all holds
    trace: Sequence[str]
    switches: int  # between threads
    lasted_s: float  # of virtual time

    @property
    def digest(self) -> str:
        """Of its trace: the same for the same seed and program."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:12]


def play(world: str, seed: int, disturbances: Sequence[Disturbance] | None = None) -> Played:
    """The run of a seed, with its own disturbances by default."""
    make = WORLDS[world]
    if disturbances is None:
        disturbances = draw(seed, make.disturbances, make.disturbances_s)
    run, its = Scheduler(seed), None
    began = run.now
    log.handlers[:], log.propagate = [_Trace(run)], False
    log.setLevel(logging.INFO)
    logging.root.handlers[:] = [_Trace(run)]  # else a command adds one
    gc.disable()  # what it collects may have locks
    with redirect_stdout(_Lines(run)), redirect_stderr(_Lines(run)), simulated(run):
        try:
            its = make(run)
            carry_out(run, disturbances, its.targets)
            run.run(until=its.is_over, limit_s=its.limit_s)
            its.check()
        except Violation as error:
            run.violate(str(error))
            for line in run.waiting():
                run.say(f"  {line}")
        except Exception:  # noqa: BLE001 - of the world, or of the simulator
            run.violate(traceback.format_exc())
    if its is not None:
        its.close()
    forget()
    gc.collect()
    return Played(
        seed, disturbances, tuple(run.violations), tuple(run.log), run.switches, run.now - began
    )


def shrunk(world: str, failed: Played) -> Played:
    """A run of the same seed that fails too, of whose disturbances none can be left out."""
    while True:
        fewer = (
            play(world, failed.seed, [*failed.disturbances[:at], *failed.disturbances[at + 1 :]])
            for at in range(len(failed.disturbances))
        )
        smaller = next((each for each in fewer if each.violations), None)
        if smaller is None:
            return failed
        failed = smaller


class _Trace(logging.Handler):
    """Puts what the program logs into the trace."""

    def __init__(self, run: Scheduler) -> None:
        super().__init__(logging.INFO)
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line."""
        error = record.exc_info[1] if record.exc_info else None
        why = "" if error is None else f": {type(error).__name__}: {error}"
        self._run.say_here(f"{record.getMessage()}{why}")


class _Lines(io.TextIOBase):
    """Puts what the program prints into the trace."""

    def __init__(self, run: Scheduler) -> None:
        self._run = run

    def write(self, text: str, /) -> int:
        """Add lines."""
        for line in filter(str.strip, text.splitlines()):
            self._run.say_here(line)
        return len(text)
