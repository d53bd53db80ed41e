"""What is added up over the rows of a run, whatever its procedure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from reglue_bench.results.result import FaultCount
from reglue_bench.runs.ledger import Row


class RowCounts:
    """Steps and faults of the rows that have gone through `over`."""

    def __init__(self) -> None:
        self.steps = 0
        self.clipped_steps = 0
        self.succeeded = 0  # episodes
        self.retried = 0  # episodes of a second or later try
        self._faults: Counter[tuple[str, str]] = Counter()

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, counted as they go by."""
        for row in rows:
            self.steps += row.steps
            self.clipped_steps += row.clipped
            self.succeeded += row.success
            self.retried += row.attempt > 0
            if row.status != "ok":
                self._faults[row.status, _brief(row.detail)] += 1
            yield row

    @property
    def faults(self) -> list[FaultCount]:
        """The commonest first."""
        return [
            FaultCount(status=status, detail=detail, count=count)
            for (status, detail), count in self._faults.most_common()
        ]


def _brief(detail: str) -> str:
    """The line that says most: the first, or the last of a traceback."""
    lines = detail.strip().splitlines() or [""]
    return lines[-1 if lines[0].startswith("Traceback ") else 0][:200]
