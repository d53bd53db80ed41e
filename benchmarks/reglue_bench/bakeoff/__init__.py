"""Several agents over one plan, and who is better."""

from __future__ import annotations

from reglue_bench.bakeoff.bakeoff_file import REPORT, Entrant, read_bakeoff
from reglue_bench.bakeoff.bakeoff_runs import Bakeoff

__all__ = ["REPORT", "Bakeoff", "Entrant", "read_bakeoff"]
