"""The display while a run goes on."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from env_adapters import Cell
from glue_server import Order, Outcome
from reglue.messages.agent_messages import Phase
from reglue_bench.formatting import time_left
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.observer import Observer, RunStarted
from reglue_bench.terminal.progress import Display, Lines, watcher
from reglue_bench.terminal.tally import tally_of
from tests.reglue_bench.toys import corridor_plan, online_plan


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(
    make: Callable[[Console, Clock], Observer], *, terminal: bool, plan: Plan | None = None
) -> str:
    """The output of a watcher for a run that played 4 of 6 episodes in 20 s, one with a fault."""
    clock, text = Clock(), io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, color_system=None)
    looking = make(console, clock)
    looking.drawing(2, 2)
    looking.begin(RunStarted(plan or corridor_plan(), left=range(1, 6), executed=lambda: 500))
    for unit, task, status, success in (
        (1, "a", "ok", True),
        (2, "a", "ok", False),
        (3, "b", "agent_error", False),
    ):
        clock.now += 20 / 3
        cell = Cell(task, 0, 0, 0, Phase.EVALUATE)
        order = Order(unit, 0, cell, 0)
        looking.outcome(Outcome(order, status, success=success), "evaluate")
    looking.end()
    return text.getvalue()


TOLD = "4 of 6 episodes, 1 succeeded of 5 that were left, 25 steps/s, 13 s left, 1 fault"


def test_a_line_says_how_long_nothing_has_moved_and_may_not_move() -> None:
    clock, steps, lines = Clock(), 7, []
    begun = RunStarted(corridor_plan(), range(6), lambda: steps, lambda: "an agent may take 60 s")
    tally = tally_of(procedure_of(begun.plan), begun, clock)
    for seconds, more in ((0, 0), (29, 0), (30, 0), (1, 1), (40, 0)):
        clock.now += seconds
        steps += more
        lines.append(tally.line().partition("no step for ")[2])
    assert lines == ["", "", "59 s: an agent may take 60 s", "", "40 s: an agent may take 60 s"]


def test_lines_tell_episodes_successes_time_left_and_faults() -> None:
    assert shown(Lines, terminal=False).splitlines()[-1] == TOLD


def test_episodes_alone_are_told_where_success_never_is() -> None:
    plan = corridor_plan()
    plan = replace(plan, parameters={**plan.parameters, "judged_by": "return"})
    told = TOLD.replace(" 1 succeeded of 5 that were left,", "")
    assert shown(Lines, terminal=False, plan=plan).splitlines()[-1] == told
    text = shown(Display, terminal=True, plan=plan)
    [bar] = [line for line in text.splitlines() if line.split()[:1] == ["a"]]
    assert bar.split()[-1] == "2/2"  # both that were left of this task


@pytest.mark.parametrize("judged_by", ["success", "return"])
def test_an_episode_that_is_played_again_is_counted_once(judged_by: str) -> None:
    text, plan = io.StringIO(), corridor_plan()
    plan = replace(plan, parameters={**plan.parameters, "judged_by": judged_by})
    lines = Lines(Console(file=text, width=200))
    lines.begin(RunStarted(plan, left=range(6), executed=lambda: 0))
    for unit in (0, 1, 0, 1, 2):
        order = Order(unit, 0, Cell("a", 0, 0, 0, Phase.EVALUATE), 0)
        lines.outcome(Outcome(order, "ok", success=True), "evaluate")
    lines.end()
    told = "3 of 6 episodes, " + "3 succeeded of 6 planned, " * (judged_by == "success")
    assert text.getvalue().splitlines()[-1].startswith(told)


def test_time_left_is_not_told_from_a_few_episodes() -> None:
    assert time_left(10, 1, 499) == ""
    assert time_left(10, 3, 497) == ""
    assert time_left(10, 25, 475) == "3 min 10 s left"
    assert time_left(10, 500, 0) == ""
    assert time_left(20, 3, 4997) == "about 9 h 15 min left"  # after a while, roughly


def test_time_left_is_at_most_what_the_steps_that_are_left_take() -> None:
    assert time_left(20, 3, 497, most_s=95) == "at most 1 min 35 s left"
    assert time_left(20, 0, 500, most_s=95) == "at most 1 min 35 s left"
    assert time_left(10, 0, 500, most_s=95) == ""  # the speed is not known yet
    assert time_left(10, 25, 475, most_s=300) == "3 min 10 s left"


def test_where_all_episodes_are_in_play_at_once_their_horizon_limits_the_time_left() -> None:
    """The first to succeed say nothing about when the others end."""
    clock, plan = Clock(), corridor_plan()
    plan = replace(plan, parameters={**plan.parameters, "horizon": 100})
    begun = RunStarted(plan, left=range(6), executed=lambda: 210)
    tally = tally_of(procedure_of(plan), begun, clock)
    clock.now += 30
    for unit in range(3):
        order = Order(unit, 0, Cell("a", 0, 0, 0, Phase.EVALUATE), 0)
        tally.take(Outcome(order, "ok", success=True, steps=10), "evaluate")
    # 3 episodes of 100 steps are left, of which 180 were played, at 7 steps a second.
    assert tally.line().endswith("7 steps/s, at most 17 s left")


def test_lines_go_on_during_a_long_episode_and_name_its_limit() -> None:
    text = io.StringIO()
    lines = Lines(Console(file=text, width=200), every_s=0.001)
    lines.begin(RunStarted(online_plan(runs=3), left=[0, 1, 2], executed=lambda: 6_000))
    deadline = time.monotonic() + 10
    while text.getvalue().count("episode 0 of 4") < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    lines.end()
    assert text.getvalue().count("episode 0 of 4") >= 3
    assert "6,000 steps an episode (an episode limit cuts it off)" in text.getvalue()


def test_the_last_line_is_told_once() -> None:
    """The last episode has ended, and what follows it takes longer than a line's time."""
    text = io.StringIO()
    lines = Lines(Console(file=text, width=200), every_s=0.001)
    plan = corridor_plan()
    lines.begin(RunStarted(plan, left=range(6), executed=lambda: 500))
    for unit in range(6):
        order = Order(unit, 0, Cell("a", 0, 0, 0, Phase.EVALUATE), 0)
        lines.outcome(Outcome(order, "ok"), "evaluate")
    time.sleep(0.02)
    lines.end()
    assert text.getvalue().count("6 of 6 episodes,") == 1


def test_lines_are_ten_seconds_apart() -> None:
    assert len(shown(Lines, terminal=False).splitlines()) == 3  # goals, begin, end


def test_the_display_shows_the_same_and_success_of_each_task() -> None:
    text = shown(Display, terminal=True)
    assert TOLD in text
    [bar] = [line for line in text.splitlines() if line.split()[:1] == ["a"]]
    assert bar.split()[-1] == "1/2"  # of the two that were left of this task
    assert len(bar) > 80


def learning(make: Callable[[Console, Clock], Observer], *, terminal: bool, **plan: int) -> str:
    """The output of a watcher for 3 runs: the first was played before, the second is half-way."""
    clock, text = Clock(), io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=120, color_system=None)
    looking, executed = make(console, clock), 0
    looking.begin(RunStarted(online_plan(runs=3, **plan), left=[1, 2], executed=lambda: executed))
    for k, return_ in enumerate([-1100.0, -300.0, -100.0]):
        clock.now += 10
        executed += 50
        order = Order(1, k, Cell("walk", 0, 0, k, Phase.TRAIN), 0)
        looking.outcome(Outcome(order, "ok", return_=return_, steps=50), "train")
    looking.end()
    return text.getvalue()


def test_lines_tell_the_run_the_episode_and_the_return_of_late() -> None:
    first, *_, last = learning(Lines, terminal=False, episodes=6).splitlines()
    assert first == "corridor, 3 runs of 6 episodes, seed 0: 6 of 18 episodes are done"
    assert last == (
        "run 2 of 3, episode 3 of 6, return -500.0 (last 3), 5 steps/s, 1 min 30 s left"
    )


def test_lines_tell_the_step_where_a_run_is_counted_in_steps() -> None:
    last = learning(Lines, terminal=False, steps=200).splitlines()[-1]
    assert last.startswith("run 2 of 3, step 150 of 200, return -500.0 (last 3)")


def test_a_run_that_is_over_makes_room_for_the_next() -> None:
    last = learning(Lines, terminal=False, episodes=3).splitlines()[-1]
    assert last.startswith("run 3 of 3, episode 0 of 3")


def test_the_display_draws_the_returns_of_the_last_runs() -> None:
    text = learning(Display, terminal=True, episodes=6)
    assert "run 2  ▁▇█  -500.0" in text


def test_a_terminal_gets_a_display_and_a_file_gets_lines() -> None:
    assert isinstance(watcher(Console(force_terminal=True)), Display)
    assert isinstance(watcher(Console(file=io.StringIO())), Lines)
