"""An evaluation of an agent over a network, which is resumed as often as it is killed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import typer

import reglue
from glue_server.commands.command import INTERRUPTED, OK, Command
from glue_server.environment import worker
from reglue import Steps
from reglue.errors import RunBusy, RunDamaged, StorageFailed, UsageError
from reglue.spec import Arrays
from reglue_bench.cli.shared_flags import exit_code
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play, rows
from tests.simulator.scheduler import Process, Scheduler, Violation, simulated
from tests.simulator.virtual_processes import mains
from tests.simulator.worlds.exits import check_exit
from tests.simulator.worlds.restarting import keep_starting
from tests.simulator.worlds.run_rows import CommittedRows, is_storage_failure

_ADDRESS, _TOKEN = "127.0.0.1:4096", "t" * 32
_HOW: dict[str, Any] = {
    "listen": _ADDRESS,
    "token": _TOKEN,
    "transport": "grpc",
    "reconnect_window": 20.0,
}
_WORKERS = (0, 2)
_EPISODES = 8  # of each task
_THINKS_S = 0.1

mains["glue_server.environment.worker"] = worker.main


def _plan() -> Plan:
    return corridor_plan(num_episodes=_EPISODES)


@cache
def _wanted() -> list[tuple[Any, ...]]:
    """The rows of a run that nothing disturbs, of an agent of its process."""
    found: list[tuple[Any, ...]] = []

    def evaluate() -> None:
        with tempfile.TemporaryDirectory() as folder:
            found.extend(rows(play(Path(folder) / "run", _plan(), Seeded())))

    with simulated(Scheduler(0)) as run:
        run.run(until=run.process("evaluation", evaluate).has_ended, limit_s=60.0)
    return found


class EvaluationWorld:
    """The rows are those of an undisturbed run, and what was committed stays.

    The evaluation is killed, stopped, interrupted, cannot write, and is resumed; its environments
    are there, or in workers, with which the same happens. The agent is cut off and stays: one that
    leaves would lose its episodes. Its session outlasts every stop.
    """

    disturbances: ClassVar[Sequence[str]] = (
        *("kill", "kill", "stop", "interrupt", "interrupt twice"),
        *("full disk", "slow disk", "clock", "cut", "refuse", "garble"),
    )
    disturbances_s: ClassVar[float] = 8.0
    limit_s: ClassVar[float] = 120.0

    def __init__(self, run: Scheduler) -> None:
        self._run = run
        self._folder = Path(tempfile.mkdtemp(prefix="reglue-simulated-"))
        run.masked["FOLDER"] = str(self._folder)
        self._committed = CommittedRows(run, self._folder / "run")
        self._rows: list[tuple[Any, ...]] | None = None
        self._wanted = _wanted()
        self._is_over = False
        self._how = {**_HOW, "workers": run.rng.choice(_WORKERS)}
        keep_starting(run, "evaluation", self._command, until=self.is_over, at_end=self._look)
        keep_starting(run, "agent", _play_agent, until=self.is_over)

    def targets(self) -> Sequence[Process]:
        """The evaluation, and the workers that play its environments."""
        return [each for each in self._run.processes if each.name in ("evaluation", "worker")]

    def is_over(self) -> bool:
        """Whether it is complete, and its process has ended."""
        return self._is_over

    def check(self) -> None:
        """Raise Violation if its rows are not those of an undisturbed run."""
        if self._rows != self._wanted:
            raise Violation(f"got rows {self._rows}, wanted {self._wanted}")

    def close(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self._folder)

    def _command(self) -> None:
        Command(self._bench)([])

    def _bench(self) -> None:
        try:
            result = self._evaluate()
        except RunDamaged as error:
            self._run.violate(str(error))
            raise
        except StorageFailed as error:
            if not is_storage_failure(error):
                self._run.violate(f"the disk is full: {error}")
            raise
        if result.complete:
            self._rows = rows(result)
        elif result.ended_early is None:
            self._run.violate("it is not complete, and did not end early")
        raise typer.Exit(exit_code(result))

    def _evaluate(self) -> Result:
        folder = self._folder / "run"
        try:
            return resume(folder, NullObserver(), **self._how)
        except (RunBusy, RunDamaged):
            raise
        except UsageError:  # no run yet: it was killed before it had begun one
            return play(folder, _plan(), "wait", **self._how)

    def _look(self, evaluation: Process) -> None:
        """Note a violation if it ended otherwise than documented, or lost a committed row."""
        check_exit(self._run, evaluation)
        self._committed.look()
        self._is_over = self._rows is not None and evaluation.exit_code in (OK, INTERRUPTED)


class _Thinking(Seeded):
    """Takes a while for each action, so that commits come in the middle of a run."""

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.float64]:
        time.sleep(_THINKS_S)
        return super().agent_step(rewards, observations, steps)


def _play_agent() -> None:
    reglue.connect(_Thinking(), _ADDRESS, _TOKEN, transport="grpc", handle_signals=False)
