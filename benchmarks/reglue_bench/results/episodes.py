"""A run's episodes, one row each, read from its ledger."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from reglue_bench.plans.keys import PUBLIC
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results.result_tables import COLUMNS, Values, frame_of
from reglue_bench.runs.ledger import LedgerReader, Row


@dataclass(frozen=True, slots=True)
class EpisodeRow(Row):
    """The outcome of one cell, from the unit's last complete try, with the cell."""

    task: str
    variant: int
    repeat: int
    phase: str  # a key of PHASES
    seed: int | None = None  # of its environment, see Plan.cell_seed; None if a secret keys it

    @property
    def values(self) -> Values:
        """Its values in the order of COLUMNS."""
        return tuple(getattr(self, field) for field, _ in COLUMNS.values())


class Episodes(Iterable[EpisodeRow]):
    """The rows of a run in the order of units and cells; each iteration reads them again.

    Any number of rows takes the same memory. Iterating raises what LedgerReader raises.
    """

    def __init__(self, folder: Path, *, is_temporary: bool = False) -> None:
        """Read the run in `folder`; delete it with this object if it `is_temporary`."""
        self.folder = folder
        if is_temporary:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    @property
    def plan(self) -> Plan:
        """The run's plan."""
        with LedgerReader(self.folder) as ledger:
            return Plan.from_json(ledger.about["plan"])

    def __iter__(self) -> Iterator[EpisodeRow]:
        with LedgerReader(self.folder) as ledger:
            yield from with_cells(Plan.from_json(ledger.about["plan"]), ledger.rows())

    def to_pandas(self) -> Any:
        """A DataFrame with the columns of `reglue export`, a row for each episode.

        Raises MissingExtra without pandas.
        """
        frame = frame_of(COLUMNS, (row.values for row in self))
        return frame.astype({"seed": "Int64"})  # none where a secret keys it

    def __eq__(self, other: object) -> bool:
        """Whether all rows are equal."""
        if not isinstance(other, Episodes):
            return NotImplemented
        return all(row == of_other for row, of_other in zip_longest(self, other))

    __hash__ = None  # type: ignore[assignment]


def with_cells(plan: Plan, rows: Iterable[Row]) -> Iterator[EpisodeRow]:
    """A ledger's rows, each with its cell of the plan."""
    procedure = procedure_of(plan)
    for row in rows:
        cell = procedure.cell(row.unit, row.k)
        fields: dict[str, Any] = {name: getattr(row, name) for name in Row.__slots__}
        yield EpisodeRow(
            **fields,
            task=cell.task,
            variant=cell.variant,
            repeat=cell.repeat,
            phase=cell.phase,
            seed=plan.cell_seed(row.unit, cell) if plan.cells == PUBLIC else None,
        )
