"""Faults in the procedure online: each ends the run that it happens in, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue_bench import evaluate
from reglue_bench.results.scores import LearningRun
from tests.reglue_bench.agents import Learner
from tests.reglue_bench.procedures.test_online import kept, score_of
from tests.reglue_bench.toys import online_plan, play


class WrongIn(Learner):
    """Answers NaN at the second step of its run number `run`."""

    def __init__(self, run: int) -> None:
        super().__init__()
        self._run = run

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        drawn = super().agent_step(rewards, observations, steps)
        return drawn * np.nan if self.inits == self._run + 1 and self.learned > 0.15 else drawn


def statuses(runs: Sequence[LearningRun]) -> list[str]:
    return [run.status for run in runs]


def test_a_wrong_answer_ends_its_run_alone(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=3, episodes=4), WrongIn(1))
    runs = score_of(result).runs
    assert statuses(runs) == ["ok", "agent_error", "ok"]
    assert [run.performance is None for run in runs] == [False, True, False]
    assert [run.episodes for run in runs] == [4, 3, 4]
    assert [len(run.line) for run in runs] == [4, 2, 4]
    assert result.complete
    assert result.status_counts == {"agent_error": 1, "ok": 2}
    assert [fault.count for fault in result.faults] == [1]


def test_the_mean_of_completed_runs_stands_apart(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=3, episodes=4), WrongIn(1))
    online = score_of(result)
    assert online.performance is None
    assert online.completed_only == pytest.approx(5.075)
    assert (result.coverage.cells_completed, result.coverage.cells_planned) == (2, 3)
    assert len(online.completed) == 2


class RaisesIn(Learner):
    """Raises at the start of episode 1 of its second run."""

    def agent_start(self, observations: Any, starts: Any) -> Any:
        if self.inits == 2 and self.learned > 0:
            raise RuntimeError("out of memory")
        return super().agent_start(observations, starts)


def test_an_object_that_is_lost_ends_the_benchmark_early(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=3, episodes=4), RaisesIn())
    assert statuses(score_of(result).runs) == ["ok", "agent_error", "missing"]
    assert result.ended_early is not None
    assert "out of memory" in result.ended_early.what
    assert not result.complete


class FailsToInit(Learner):
    """Cannot begin its second run."""

    def agent_init(self, spec: Any) -> None:
        super().agent_init(spec)
        if self.inits == 2:
            raise RuntimeError("no licence")


def test_a_fault_before_the_first_episode_is_a_row(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=2, episodes=2), FailsToInit())
    assert statuses(score_of(result).runs) == ["ok", "agent_error"]
    assert [(unit, k, steps) for unit, k, _, _, steps in kept(tmp_path)][-1] == (1, 0, 0)


class FailsToClean(Learner):
    """Cannot end its first run."""

    def agent_cleanup(self) -> None:
        raise RuntimeError("disk full")


def test_a_fault_in_cleanup_leaves_its_run_whole(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=2, episodes=2), FailsToClean())
    assert statuses(score_of(result).runs) == ["ok", "missing"]
    assert result.ended_early is not None
    assert "disk full" in result.ended_early.what


def test_an_environment_that_failed_once_goes_unnoticed_by_the_agent(tmp_path: Path) -> None:
    """The recorded actions come through in a fresh world: nobody is asked again."""
    agent = Learner()
    result = evaluate(
        "online:tests.reglue_bench.bench_worlds:Fragile",
        agent=agent,
        environment_args={"breaks": 3, "times": 1},
        runs=2,
        episodes=4,
    )
    runs = score_of(result).runs
    assert statuses(runs) == ["ok", "ok"]
    assert [run.attempt for run in runs] == [0, 0]
    assert agent.inits == 2
    assert runs[0].line == runs[1].line


def test_a_run_whose_actions_crash_the_environment_counts_as_the_worst() -> None:
    agent = Learner()
    result = evaluate(
        "online:tests.reglue_bench.bench_worlds:Fragile",
        agent=agent,
        environment_args={"breaks": 3, "times": 2},
        runs=2,
        raise_faults=False,
        episodes=1,
        worst_performance=-7.0,
    )
    runs = score_of(result).runs
    assert statuses(runs) == ["crashed", "ok"]
    assert [run.attempt for run in runs] == [0, 0]
    assert runs[0].performance == -7.0
    assert agent.inits == 2
