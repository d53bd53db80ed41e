"""An evaluation of an agent over a network, which is resumed as often as it is killed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import typer

import reglue
from glue_server.commands.command import Command
from glue_server.environment import worker
from reglue_bench.cli.shared_flags import exit_code
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.observer import NullObserver
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play, rows
from tests.simulator.scheduler import Process, Scheduler, Violation, simulated
from tests.simulator.virtual_processes import mains
from tests.simulator.worlds.restarting import keep_starting
from tests.simulator.worlds.resumed_run import ResumedRun, Thinking

_ADDRESS, _TOKEN = "127.0.0.1:4096", "t" * 32
_HOW: dict[str, Any] = {
    "listen": _ADDRESS,
    "token": _TOKEN,
    "transport": "grpc",
    "reconnect_window": 20.0,
}
_WORKERS = (0, 2)
_EPISODES = 8  # of each task

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
        self._scheduler, self._wanted = run, _wanted()
        self._run = ResumedRun(run, may_fail=False)
        self._how = {**_HOW, "workers": run.rng.choice(_WORKERS)}
        until = self._run.is_over
        keep_starting(run, "evaluation", self._command, until=until, at_end=self._run.look)
        keep_starting(run, "agent", _play_agent, until=until)

    def targets(self) -> Sequence[Process]:
        """The evaluation, and the workers that play its environments."""
        names = "evaluation", "worker"
        return [each for each in self._scheduler.processes if each.name in names]

    def is_over(self) -> bool:
        """Whether it is complete, and its process has ended."""
        return self._run.is_over()

    def check(self) -> None:
        """Raise Violation if its rows are not those of an undisturbed run."""
        if self._run.rows != self._wanted:
            raise Violation(f"got rows {self._run.rows}, wanted {self._wanted}")

    def close(self) -> None:
        """Remove its folder."""
        self._run.close()

    def _command(self) -> None:
        Command(self._bench)([])

    def _bench(self) -> None:
        folder = self._run.folder
        result = self._run.go_on(
            lambda: resume(folder, NullObserver(), **self._how),
            lambda: play(folder, _plan(), "wait", **self._how),
        )
        raise typer.Exit(exit_code(result))


def _play_agent() -> None:
    reglue.connect(Thinking(), _ADDRESS, _TOKEN, transport="grpc", handle_signals=False)
