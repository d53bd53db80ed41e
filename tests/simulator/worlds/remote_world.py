"""An evaluation of an agent object, whose environment connects by itself, and can be killed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import reglue
from glue_server.commands.command import FAULTS, OK
from reglue import Step
from reglue.environments.slot_worlds import Worlds
from reglue.spec import Arrays
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from tests.reglue_bench.toys import SOLVED
from tests.simulator.scheduler import Process, Scheduler, Violation, simulated
from tests.simulator.worlds.restarting import keep_starting
from tests.simulator.worlds.resumed_run import ResumedRun, Thinking
from tests.worlds import Corridor, Walk

_ADDRESS, _TOKEN = "127.0.0.1:4096", "e" * 32
_WINDOWS_S = (0.0, 20.0)
_SLOTS = (1, 2)
_EPISODES = 6  # of each task
_BREAKS = ("kill", "cut", "garble", "interrupt", "interrupt twice")  # an environment
_REPLAYS_S = 5.0  # from the loss of an environment to the end of what another plays again
_DEADLY = 0.9  # a larger action ends the environment's process


class RemoteWorld:
    """The rows are those of an undisturbed run: an episode that kills its environment has crashed.

    The environment is started again when it has ended. If the reconnect window is 0, or the wait is
    interrupted, the run ends, and is resumed. Then the episodes that were lost beside one whose
    last action kills the environment have crashed, too. So may any episode whose environment is
    disturbed while it plays it again: that is a failure in the same step.
    """

    disturbances: ClassVar[Sequence[str]] = (
        *("kill", "kill", "stop", "interrupt", "interrupt twice"),
        *("full disk", "slow disk", "clock", "cut", "refuse", "garble"),
    )
    disturbances_s: ClassVar[float] = 10.0
    limit_s: ClassVar[float] = 240.0

    def __init__(self, run: Scheduler) -> None:
        self._wanted = _wanted()
        slots, window_s = run.rng.choice(_SLOTS), run.rng.choice(_WINDOWS_S)
        self._slots = slots
        self._remote = Remote(run, slots=slots, window_s=window_s)

    def targets(self) -> Sequence[Process]:
        """The evaluation and its environment."""
        names = "evaluation", "environment"
        return [each for each in self._remote.scheduler.processes if each.name in names]

    def is_over(self) -> bool:
        """Whether the run is complete, and its process has ended."""
        return self._remote.run.is_over()

    def check(self) -> None:
        """Raise Violation if its rows are not those of an undisturbed run."""
        fallen, unexplained = self._fallen(), list[tuple[Any, ...]]()
        for got, wanted in zip(self._remote.run.rows, self._wanted, strict=True):
            status, _, return_, steps = got[6:]
            if got == wanted:
                continue
            if status != "crashed" or got[:6] != wanted[:6]:
                raise Violation(f"got the row {got}, wanted {wanted}")
            if (*got[:2], return_, steps) not in fallen:
                unexplained.append(got)
        if len(unexplained) > (hit := self._hit()):
            raise Violation(f"{hit} episodes may have crashed by a disturbance: {unexplained}")

    def _hit(self) -> int:
        """The most episodes whose environment was disturbed while it played them again.

        It had been lost a short time before then, and the run had waited for it.
        """
        breaks = [at for at, kind in self._remote.scheduler.disturbed if kind in _BREAKS]
        lost = sorted([*breaks, *self._remote.environment_ends])
        return sum(any(0.0 < at - each < _REPLAYS_S for each in lost) for at in breaks)

    def _fallen(self) -> set[tuple[Any, ...]]:
        """The unit, cell, return and steps of the episodes that may have crashed, once lost.

        They were lost beside a deadly action, or their environment was disturbed when it played
        them again. Raises Violation if more were lost than there are slots.
        """
        deadly = {(*row[:2], row[9]) for row in self._wanted if row[6] == "crashed"}
        fallen = set[tuple[Any, ...]]()
        for lost in self._remote.run.lost:
            if len(lost.rows) > self._slots:
                raise Violation(f"more episodes were lost than are in play: {lost.rows}")
            is_beside = any((each.unit, each.k, each.steps) in deadly for each in lost.rows)
            is_disturbed = any(
                kind in _BREAKS and lost.at < at <= lost.settled_by
                for at, kind in self._remote.scheduler.disturbed
            )
            if is_beside or is_disturbed:
                fallen |= {(each.unit, each.k, each.return_, each.steps) for each in lost.rows}
        return fallen

    def close(self) -> None:
        """Remove its folder."""
        self._remote.run.close()


class Remote:
    """The processes of such a run."""

    def __init__(self, scheduler: Scheduler, *, slots: int, window_s: float) -> None:
        self.scheduler = scheduler
        self.run = ResumedRun(scheduler, may_fail=True)
        self._how: dict[str, Any] = {
            "slots": slots,
            "num_episodes": _EPISODES,
            "seed": 3,
            "listen": _ADDRESS,
            "environment_token": _TOKEN,
            "transport": "grpc",
            "reconnect_window": window_s,
        }
        self.environment_ends: list[float] = []
        until = self.run.is_over
        keep_starting(scheduler, "evaluation", self._play, until=until, at_end=self.run.look)
        keep_starting(
            scheduler,
            "environment",
            _play_environment,
            until=until,
            at_end=lambda _: self.environment_ends.append(scheduler.now),
        )

    def _play(self) -> None:
        result = self.run.go_on(
            lambda: self._evaluate(resume=True), lambda: self._evaluate(resume=False)
        )
        raise SystemExit(OK if result.complete else FAULTS)

    def _evaluate(self, *, resume: bool) -> Result:
        return reglue.evaluate(
            "multi-task:wait",
            Thinking(),
            out=self.run.folder,
            resume=resume,
            raise_faults=False,
            watcher=NullObserver(),
            **self._how,
        )


@cache
def _wanted() -> list[tuple[Any, ...]]:
    """The rows of a run that nothing but its agent disturbs."""
    with simulated(Scheduler(0)) as scheduler:
        run = Remote(scheduler, slots=1, window_s=_WINDOWS_S[1]).run
        scheduler.run(until=run.is_over, limit_s=RemoteWorld.limit_s)
    run.close()
    assert {"ok", "crashed"} == {row[6] for row in run.rows}, "some episodes kill it"
    return run.rows


class _Deadly(Corridor):
    """A corridor whose process ends by a large action."""

    def world(self) -> Walk:
        return _DeadlyWalk(self)


class _DeadlyWalk(Walk):
    def step(self, action: Arrays) -> Step:
        if action["action"][0] > _DEADLY:
            os._exit(3)
        return super().step(action)


def _play_environment() -> None:
    reglue.connect(
        Worlds(_Deadly(solved=SOLVED)), _ADDRESS, _TOKEN, transport="grpc", handle_signals=False
    )
