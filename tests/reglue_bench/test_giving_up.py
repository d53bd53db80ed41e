"""An agent that gives up, fails or leaves is never better off than one that plays badly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue import Actions, Agent
from reglue_bench import evaluate
from reglue_bench.report.page_contents import comparison_view
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore

pytestmark = pytest.mark.slow

WALK = "online:tests.reglue_bench.bench_worlds:Lottery"
AGENTS = Path(__file__).with_name("agents.py")


class Random(Agent):
    """Draws its actions; how well a run goes is chance."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def agent_init(self, spec: Any) -> None:
        self.earned, self.episodes = 0.0, 0

    def agent_start(self, observations: Any, starts: Any) -> Any:
        return self.draw(starts)

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        self.earned += float(rewards.sum())
        return self.draw(steps)

    def agent_end(self, rewards: Any, observations: Any, ends: Any) -> None:
        self.earned += float(rewards.sum())
        self.episodes += 1

    def draw(self, rows: Any) -> Any:
        return self.rng.uniform(-1, 1, (len(rows), 1))


class LeavesBadRuns(Random):
    """The same policy; a run that has earned less than `bar` when most of it is over is left."""

    def __init__(self, seed: int, how: str, bar: float) -> None:
        super().__init__(seed)
        self.how, self.bar = how, bar

    def draw(self, rows: Any) -> Any:
        drawn = super().draw(rows)
        if self.episodes < 2 or self.earned >= self.bar:
            return drawn
        match self.how:
            case "abandons":
                return Actions({"action": drawn}, abandon=tuple(rows.slots.tolist()))
            case "answers nonsense":
                return drawn * np.nan
            case _:
                raise RuntimeError("that run did not please me")


class LeavesAtOnce(LeavesBadRuns):
    """Leaves every other run at its first action."""

    runs = 0

    def agent_init(self, spec: Any) -> None:
        super().agent_init(spec)
        self.runs += 1
        self.episodes, self.bar = 2, np.inf if self.runs % 2 else -np.inf


def evaluated(agent: Agent, **options: Any) -> Result:
    asked: dict[str, Any] = {"runs": 4, "episodes": 3, "raise_faults": False} | options
    return evaluate(WALK, agent=agent, **asked)


def online(result: Result) -> PerformanceScore:
    return result.score_as(PerformanceScore)


STRATEGIES = [
    (kind, how)
    for kind in (LeavesBadRuns, LeavesAtOnce)
    for how in ("abandons", "answers nonsense", "raises")
]


def test_leaving_bad_runs_never_raises_the_score() -> None:
    """60 tries: no score, or one that is no better than that of playing on."""
    left = scored = 0
    for seed in range(60):
        kind, how = STRATEGIES[seed % len(STRATEGIES)]
        played = online(evaluated(Random(seed))).performance
        found = online(evaluated(kind(seed, how, bar=0.0)))
        assert played is not None
        left += len(found.completed) < len(found.runs)
        if found.performance is not None:
            scored += 1
            assert found.performance <= played, (seed, kind, how)
    assert left > 30
    assert scored > 30


def test_an_abandoned_run_is_worth_the_least_that_a_run_can_come_to() -> None:
    found = online(evaluated(LeavesAtOnce(0, "abandons", bar=0.0)))
    assert [run.status for run in found.runs] == ["agent_abandoned", "ok"] * 2
    assert found.worst_performance == -3.0  # three steps of -1
    assert [run.performance for run in found.runs][::2] == [-3.0, -3.0]
    performances = [run.performance for run in found.runs if run.performance is not None]
    assert found.performance == pytest.approx(np.mean(performances))


def test_an_agent_that_abandons_keeps_its_place_and_plays_the_other_runs() -> None:
    result = evaluated(LeavesAtOnce(0, "abandons", bar=0.0))
    assert result.complete
    assert result.ended_early is None


@pytest.mark.parametrize("how", ["exits", "hangs"])
def test_a_process_that_is_lost_loses_its_run(tmp_path: Path, how: str) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    found = online(
        evaluate(
            WALK,
            agent=f"{AGENTS}:FailsOnce",
            agent_args={"fuse": str(fuse), "how": how},
            raise_faults=False,
            step_timeout=2,
            runs=2,
            episodes=3,
            processes=1,
        )
    )
    lost = {"exits": "agent_disconnected", "hangs": "agent_timeout"}
    assert [run.status for run in found.runs] == [lost[how], "ok"]
    assert found.runs[0].performance == -3.0


def test_without_a_least_reward_the_score_is_withheld() -> None:
    unbounded = {"environment_args": {"bounded": False}}
    result = evaluated(LeavesAtOnce(0, "abandons", bar=0.0), **unbounded)
    found = online(result)
    assert (found.performance, found.interval95) == (None, None)
    assert "no worst performance is known" in found.withheld
    completed = [run.performance for run in found.completed if run.performance is not None]
    assert found.completed_only == pytest.approx(np.mean(completed))
    assert online(evaluated(Random(0), **unbounded)).performance is not None


def test_a_worst_performance_may_be_declared() -> None:
    result = evaluated(
        LeavesAtOnce(0, "abandons", bar=0.0),
        environment_args={"bounded": False},
        worst_performance=-50,
    )
    assert result.parameters["worst_performance"] == -50
    assert online(result).runs[0].performance == -50


def test_a_fault_is_worth_no_more_than_the_worst_run_whatever_was_declared() -> None:
    found = online(evaluated(LeavesAtOnce(0, "abandons", bar=0.0), worst_performance=50))
    completed = [run.performance for run in found.completed if run.performance is not None]
    assert len(completed) == 2
    assert found.runs[0].performance == min(completed)


def test_who_has_no_score_is_neither_ranked_nor_called_better() -> None:
    unbounded = {"environment_args": {"bounded": False}, "runs": 8}
    leaves = evaluated(LeavesBadRuns(0, "abandons", bar=0.5), **unbounded)
    plays = evaluated(Random(0), **unbounded)
    assert online(leaves).completed_only is not None
    view = comparison_view([("plays", plays), ("leaves", leaves)])
    assert view.verdict == ""
    assert view.runs.rows[1][2] == "–"
    assert any("leaves" in note and "no score" in note for note in view.notes)


class Breaks(Random):
    """Raises in its third run."""

    runs = 0

    def agent_init(self, spec: Any) -> None:
        super().agent_init(spec)
        self.runs += 1
        if self.runs == 3:
            raise RuntimeError("tired")


def test_runs_that_were_not_played_leave_no_score() -> None:
    result = evaluated(Breaks(0))
    assert not result.complete
    assert online(result).performance is None
    assert "1 of 4 runs not played" in online(result).withheld
