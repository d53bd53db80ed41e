"""Several agents over one plan, and their comparison."""

from __future__ import annotations

from reglue_bench.bakeoff.bakeoff_file import REPORT, read_bakeoff
from reglue_bench.bakeoff.bakeoff_runs import Bakeoff
from reglue_bench.bakeoff.entrant import Entrant

__all__ = ["REPORT", "Bakeoff", "Entrant", "read_bakeoff"]
