"""What a session of a run has to play."""

from __future__ import annotations

from array import array

from glue_server import LOST
from reglue.errors import EnvironmentFault
from reglue_bench.procedures import Procedure, Todos
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.run import Retry


def left_to_play(ledger: Ledger, procedure: Procedure, retry: Retry = "none") -> Todos:
    """Units without a row, and those that were lost or have a fault of `retry`; each with its next
    try.

    A unit that was in play when its session was killed has had a try, too.
    """
    tries = array("i", [-1]) * procedure.units
    again = bytearray(procedure.units)  # a flag each
    for row in ledger.rows():
        tries[row.unit] = row.attempt
        again[row.unit] |= _is_retried(row.status, retry)
    units = array("I", (unit for unit, last in enumerate(tries) if last < 0 or again[unit]))
    for unit, attempt in ledger.begun().items():
        tries[unit] = max(tries[unit], attempt)
    return Todos(units, array("I", (tries[unit] + 1 for unit in units)))


def _is_retried(status: str, retry: Retry) -> bool:
    if status == LOST:
        return True
    if retry == "environment":
        return status == EnvironmentFault.status
    return retry == "all" and status != "ok"
