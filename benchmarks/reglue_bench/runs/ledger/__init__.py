"""A run's ledger: one SQLite file, durable row by row, with one writer and any readers."""

from reglue_bench.runs.ledger.reader import (
    AGENT_NAME,
    ENDED_EARLY,
    ENVIRONMENTS,
    EVENT,
    ISOLATION,
    MACHINE,
    PARAMETERS,
    PLAYED_IN,
    REPEATS,
    LedgerReader,
    Row,
    Totals,
)
from reglue_bench.runs.ledger.storage import warn_of_lost_journal
from reglue_bench.runs.ledger.tries import Try
from reglue_bench.runs.ledger.writer import Begun, Ledger, check_empty

__all__ = [
    "AGENT_NAME",
    "ENDED_EARLY",
    "ENVIRONMENTS",
    "EVENT",
    "ISOLATION",
    "MACHINE",
    "PARAMETERS",
    "PLAYED_IN",
    "REPEATS",
    "Begun",
    "Ledger",
    "LedgerReader",
    "Row",
    "Totals",
    "Try",
    "check_empty",
    "warn_of_lost_journal",
]
