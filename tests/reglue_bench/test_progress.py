"""What is shown while a run goes on."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from env_adapters import Cell
from glue_server import Order, Outcome
from reglue.calls import Phase
from reglue_bench.progress import Display, Lines, watcher
from reglue_bench.watching import Begun, Watcher
from tests.reglue_bench.toys import corridor_plan


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(make: Callable[[Console, Clock], Watcher], *, terminal: bool) -> str:
    """What a watcher prints of a run that played 4 of 6 episodes in 20 s, one with a fault."""
    clock, text = Clock(), io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, color_system=None)
    looking = make(console, clock)
    looking.drawing(2, 2)
    looking.begin(Begun(corridor_plan(), {"evaluate": 6}, done=1, executed=lambda: 500))
    for status, success in (("ok", True), ("ok", False), ("agent_error", False)):
        clock.now += 20 / 3
        cell = Cell("a", 0, 0, 0, Phase.EVALUATE)
        order = Order(0, 0, cell, 0)
        looking.outcome(Outcome(order, status, success=success), "evaluate")
    looking.end()
    return text.getvalue()


def test_lines_tell_episodes_success_rate_time_left_and_faults() -> None:
    last = shown(Lines, terminal=False).splitlines()[-1]
    assert last == "4 of 6 episodes, success 0.333, 25 steps/s, 13 s left, 1 faults"


def test_lines_are_not_printed_more_often_than_every_ten_seconds() -> None:
    lines = shown(Lines, terminal=False).splitlines()
    assert len(lines) == 4  # goals, begin, one in between, end


def test_the_display_shows_the_same_and_success_of_each_task() -> None:
    text = shown(Display, terminal=True)
    assert "4 of 6 episodes, success 0.333, 25 steps/s, 13 s left, 1 faults" in text
    assert "1/3" in text


def test_a_terminal_gets_a_display_and_a_file_gets_lines() -> None:
    assert isinstance(watcher(Console(force_terminal=True)), Display)
    assert isinstance(watcher(Console(file=io.StringIO())), Lines)
