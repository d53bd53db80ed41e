"""What a reset of Meta-World to a known goal costs, task by task, in CPU time.

`python -m speed.reset_cost [TASK …]` prints it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from env_adapters.metaworld import ALL_TASKS, MetaWorld, draw_goals, task_set
from reglue.environments.world import Cell
from reglue.messages.agent import Phase

_GOALS = 2  # which take turns: each reset leads to another goal


class ResetCost(NamedTuple):
    """Of one task, microseconds of CPU time."""

    task: str
    first: float  # the goal was never played in this process; what a cache brings counts
    known: float  # median of repetitions


def metric(tasks: Sequence[str] = ALL_TASKS, repetitions: int = 20) -> list[ResetCost]:
    """A row a task."""
    return [_measure(task, repetitions) for task in tasks]


def _measure(task: str, repetitions: int) -> ResetCost:
    goals = draw_goals(task_set(f"MT1:{task}"), 0)[task][:_GOALS]
    world = MetaWorld(goals={task: [list(goal) for goal in goals]}, goal_visible=True).world()
    cells = [Cell(task, variant, 0, 0, Phase.EVALUATE) for variant in range(_GOALS)]
    world.start(cells[0])  # builds the simulator

    def reset(place: int) -> float:
        began = time.process_time_ns()
        world.start(cells[place % _GOALS])
        return (time.process_time_ns() - began) / 1000

    first = reset(1)
    return ResetCost(task, first, median(reset(place) for place in range(repetitions)))


def main() -> None:
    """Print a table."""
    for task, first, known in metric(sys.argv[1:] or ALL_TASKS):
        print(f"{task:32}{first:10.0f} µs at first{known:10.1f} µs then")


if __name__ == "__main__":
    main()
