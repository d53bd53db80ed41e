"""The display of a run that trains its agent before it judges it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from env_adapters import Cell
from glue_server import Order, Outcome
from glue_server.episodes.recording import CUT_OFF
from reglue.messages.agent_messages import Phase
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.observer import RunStarted
from reglue_bench.settings import Settings
from reglue_bench.terminal.tally import Tally, tally_of

SETTINGS = Settings(
    benchmark="multi-task:tests.worlds:Corridor",
    environment_args={"solved": {"a": [1, 3], "b": [5, 0]}},
    slots=2,
    train_steps=1000,
    eval_every=500,
    num_episodes=3,
)


class Run:
    """One of which 10 s pass, and 20 steps, before each outcome is told."""

    def __init__(self, *, left: Sequence[int] = (0,)) -> None:
        self.now, self.executed = 100.0, 0
        plan = make_plan(SETTINGS)
        begun = RunStarted(plan, left, lambda: self.executed)
        self.tally: Tally = tally_of(procedure_of(plan), begun, lambda: self.now)

    def tell(
        self,
        phase: str,
        return_: float = 0.0,
        *,
        status: str = "ok",
        success: bool = False,
        detail: str = "",
        k: int = 0,
    ) -> None:
        self.now += 10
        self.executed += 20
        order = Order(0, k, Cell("a", 0, 0, 0, Phase.TRAIN), 0)
        outcome = Outcome(order, status, return_=return_, steps=20, success=success, detail=detail)
        self.tally.take(outcome, phase)


def test_training_is_counted_in_steps_and_what_follows_in_episodes() -> None:
    run = Run()
    assert (run.tally.done, run.tally.total, run.tally.counted_in) == (0, 1000, "steps")
    assert run.tally.title.endswith("1,000 steps of training, then multi-task, seed 0, 2 slots")
    run.tell("train", -1.0)
    run.tell("train", -3.0)
    assert (run.tally.done, run.tally.total, run.tally.counted_in) == (40, 1000, "steps")
    run.tell("evaluate", k=0)
    run.tell("evaluate", k=1)
    assert (run.tally.done, run.tally.total, run.tally.counted_in) == (2, 6, "episodes")


def test_a_line_tells_the_recent_return_and_success_and_the_time_left() -> None:
    run = Run()
    for success in (True, False, False, True):
        run.tell("train", -1.0 - success, success=success)
    assert run.tally.line() == (
        "training: 80 of 1,000 steps, return -1.500 (last 4), success 0.50, 2 steps/s, "
        "7 min 40 s left"
    )


def test_a_line_tells_the_mean_of_the_last_checkpoint_until_training_goes_on() -> None:
    run = Run()
    run.tell("train", -1.0)
    run.tell("checkpoint", -4.0)
    run.tell("checkpoint", -5.0)
    assert "checkpoint -4.5" in run.tally.line()
    run.tell("train", -1.0)
    assert "checkpoint" not in run.tally.line()


def test_episodes_that_were_cut_off_or_failed_have_no_return() -> None:
    """Those that the agent abandoned are no faults of it, either."""
    run = Run()
    run.tell("train", -1.0)
    run.tell("train", -9.0, detail=CUT_OFF)
    run.tell("train", -9.0, status="agent_abandoned")
    run.tell("train", -9.0, status="agent_error")
    line = run.tally.line()
    assert "training: 80 of 1,000 steps, return -1.000 (last 1)" in line
    assert line.endswith(", 1 fault")


def test_what_is_judged_has_a_speed_of_its_own() -> None:
    run = Run()
    run.now += 1000  # a long training, of which nothing ended
    run.tell("train")
    run.tell("evaluate", success=True)
    assert run.tally.line() == ("judging: 1 of 6 episodes, 1 succeeded of 6 planned, 2 steps/s")


@pytest.mark.parametrize("phase", ["adapt", "evaluate_before"])
def test_all_phases_of_the_judge_are_the_judges(phase: str) -> None:
    run = Run()
    run.tell(phase)
    assert run.tally.line().startswith("judging: 1 of 6 episodes")


def test_a_run_that_was_played_before_is_done() -> None:
    assert Run(left=()).tally.done == 1000
