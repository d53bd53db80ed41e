"""An evaluation of an agent object, whose environment connects by itself, and can be killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import reglue
from reglue import Step
from reglue.environments.slot_worlds import Worlds
from reglue.errors import RunBusy, RunDamaged, StorageFailed, UsageError
from reglue.spec import Arrays
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import SOLVED, rows
from tests.simulator.scheduler import Process, Scheduler, Violation, simulated
from tests.simulator.worlds.exits import check_exit
from tests.simulator.worlds.restarting import keep_starting
from tests.simulator.worlds.run_rows import CommittedRows, is_storage_failure
from tests.worlds import Corridor, Walk

_ADDRESS, _TOKEN = "127.0.0.1:4096", "e" * 32
_WINDOWS_S = (0.0, 20.0)
_SLOTS = (1, 2)
_EPISODES = 6  # of each task
_THINKS_S = 0.1
_DEADLY = 0.9  # a larger action ends the environment's process


class RemoteWorld:
    """The rows are those of an undisturbed run: who kills its environment gets no second try.

    The environment is started again when it has ended. If nobody waits for it (a reconnect window
    of 0), or the wait is interrupted, the run ends, and is resumed. Of an environment that was lost
    then, the episodes of all slots crash if one of them kills it.
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
        self._crash_together = slots > 1
        self._run = Remote(run, slots=slots, window_s=window_s)

    def targets(self) -> Sequence[Process]:
        """The evaluation and its environment."""
        names = "evaluation", "environment"
        return [each for each in self._run.scheduler.processes if each.name in names]

    def is_over(self) -> bool:
        """Whether the run is complete, and its process has ended."""
        return self._run.is_over()

    def check(self) -> None:
        """Raise Violation if its rows are not those of an undisturbed run."""
        for got, wanted in zip(self._run.rows, self._wanted, strict=True):
            if got != wanted and not (self._crash_together and "crashed" in got):
                raise Violation(f"got the row {got}, wanted {wanted}")

    def close(self) -> None:
        """Remove its folder."""
        self._run.close()


class Remote:
    """The processes of the run, and its rows once it is over."""

    def __init__(self, scheduler: Scheduler, *, slots: int, window_s: float) -> None:
        self.scheduler = scheduler
        self.rows: list[tuple[Any, ...]] = []
        self._is_over = False
        self._folder = Path(tempfile.mkdtemp(prefix="reglue-simulated-"))
        scheduler.masked["FOLDER"] = str(self._folder)
        self._out = self._folder / "run"
        self._committed = CommittedRows(scheduler, self._out)
        self._how: dict[str, Any] = {
            "slots": slots,
            "num_episodes": _EPISODES,
            "seed": 3,
            "listen": _ADDRESS,
            "environment_token": _TOKEN,
            "transport": "grpc",
            "reconnect_window": window_s,
        }
        keep_starting(
            scheduler, "evaluation", self._evaluate, until=self.is_over, at_end=self._look
        )
        keep_starting(scheduler, "environment", _play_environment, until=self.is_over)

    def is_over(self) -> bool:
        """Whether it is complete, and its process has ended."""
        return self._is_over

    def close(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self._folder)

    def _evaluate(self) -> None:
        try:
            result = self._result()
        except StorageFailed as error:
            if not is_storage_failure(error):
                self.scheduler.violate(f"the disk is full: {error}")
            raise
        except RunDamaged as error:
            self.scheduler.violate(str(error))
            raise
        if result.complete:
            self.rows = rows(result)
        elif result.ended_early is None:
            self.scheduler.violate("it is not complete, and did not end early")
        raise SystemExit(0 if result.complete else 1)

    def _result(self) -> Result:
        try:
            return self._played(resume=True)
        except (RunBusy, RunDamaged):
            raise
        except UsageError:  # no run yet: it was killed before it had begun one
            return self._played(resume=False)

    def _played(self, *, resume: bool) -> Result:
        return reglue.evaluate(
            "multi-task:wait",
            _Thinking(),
            out=self._out,
            resume=resume,
            raise_faults=False,
            watcher=NullObserver(),
            **self._how,
        )

    def _look(self, evaluation: Process) -> None:
        check_exit(self.scheduler, evaluation, may_fail=True)
        self._committed.look()
        self._is_over = bool(self.rows) and evaluation.exit_code in (0, 130)


@cache
def _wanted() -> list[tuple[Any, ...]]:
    """The rows of a run that nothing but its agent disturbs."""
    with simulated(Scheduler(0)) as scheduler:
        run = Remote(scheduler, slots=1, window_s=_WINDOWS_S[1])
        scheduler.run(until=run.is_over, limit_s=RemoteWorld.limit_s)
    run.close()
    assert {"ok", "crashed"} == {row[6] for row in run.rows}, "some episodes kill it"
    return run.rows


class _Thinking(Seeded):
    """Takes a while for each action, so that commits come in the middle of a run."""

    def _draw(self, slots: Any) -> Any:
        time.sleep(_THINKS_S)
        return super()._draw(slots)


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
