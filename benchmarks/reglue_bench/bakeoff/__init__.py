"""Several agents over one plan, and who is better."""

from __future__ import annotations

from reglue_bench.bakeoff.bakeoff import Bakeoff
from reglue_bench.bakeoff.file import REPORT, Entrant, read_bakeoff

__all__ = ["REPORT", "Bakeoff", "Entrant", "read_bakeoff"]
