"""Success, counted goal by goal."""

from __future__ import annotations

import math
from collections import Counter

from reglue_bench.plans.plan import PlanCell
from reglue_bench.results.result import Rates


class GoalCounts:
    """Cells and successes of each (task, variant), tasks in the order in which they come."""

    def __init__(self) -> None:
        self._cells: dict[str, Counter[int]] = {}
        self._won: dict[str, Counter[int]] = {}

    def add(self, cell: PlanCell, *, success: bool) -> None:
        """One more cell."""
        self._cells.setdefault(cell.task, Counter())[cell.variant] += 1
        self._won.setdefault(cell.task, Counter())[cell.variant] += success

    def __len__(self) -> int:
        """Cells."""
        return sum(cells.total() for cells in self._cells.values())

    @property
    def cells(self) -> dict[str, dict[int, int]]:
        """How many of each task's variants, in their order."""
        return {task: dict(sorted(of.items())) for task, of in self._cells.items()}

    @property
    def success(self) -> dict[str, list[float]]:
        """The success fraction of each goal, by task, in the order of variants."""
        return {
            task: [self._won[task][variant] / count for variant, count in of.items()]
            for task, of in self.cells.items()
        }

    @property
    def rates(self) -> Rates:
        """Success of each task, and the mean over tasks.

        Goals weigh alike, however often each was played: the interval's centre is the rate.
        """
        per_task = {task: math.fsum(of) / len(of) for task, of in self.success.items()}
        mean = math.fsum(per_task.values()) / len(per_task) if per_task else 0.0
        return Rates(mean_success_rate=mean, success_rate_per_task=per_task)
