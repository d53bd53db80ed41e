"""What a plan and a run's keys say of each of its episodes."""

from __future__ import annotations

import math

from glue_server import Order
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.replay.recorded import order_of
from reglue_bench.runs.ledger import Row
from reglue_competition.transcript.contents import PlannedCell


class PlannedCells:
    """The episodes of one run, as its plan has them."""

    def __init__(self, plan: Plan, cell_key: bytes | None, start_key: bytes) -> None:
        """Raises UsageError for a plan that no procedure plays."""
        self.plan, self._cell_key, self._start_key = plan, cell_key, start_key
        self.procedure = procedure_of(plan)

    def order(self, row: Row, steps_before: int) -> Order:
        """Of the episode of a row. Raises LookupError if the plan has none."""
        if row.unit >= self.procedure.units or self.most_steps(row, steps_before) <= 0:
            raise LookupError(f"episode {row.k} of unit {row.unit}")
        return order_of(self.plan, row, steps_before, self._cell_key, self._start_key)

    def most_steps(self, row: Row, steps_before: int) -> float:
        """After which it is cut off; infinite if the plan has no limit."""
        return self.procedure.steps_left(row.k, steps_before)

    def told(self, row: Row, steps_before: int) -> PlannedCell:
        """What a transcript says of it. Raises LookupError."""
        order = self.order(row, steps_before)
        most = self.most_steps(row, steps_before)
        return PlannedCell(
            task=order.cell.task,
            variant=order.cell.variant,
            seed=order.cell.seed,
            repeat=order.cell.repeat,
            phase=self.procedure.cell(row.unit, row.k).phase,
            start_seed=order.start_seed,
            steps_before=steps_before,
            max_steps=0 if math.isinf(most) else int(most),
        )
