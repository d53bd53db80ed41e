"""The episodes left for a session of a run, and those that an earlier one lost.

An agent may have brought it about that its environment was lost for good. So before anybody is
asked again the episodes that were in play then, the recorded actions are played without the agent.
If an environment fails in the same step again, it was the agent's doing: all of them have crashed,
as those of other slots fell with it. If none does, it was the machine's, and they are another try.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from glue_server import CRASHED, LOST, EnvironmentCalls, Outcome
from glue_server.agent.actions import unpacked
from glue_server.environment.replaying import NO_SLOTS
from reglue.errors import EnvironmentFault
from reglue.messages.environment_messages import Play
from reglue_bench.procedures import Procedure, Todos
from reglue_bench.procedures.procedure import MakeOrder
from reglue_bench.runs.ledger import Ledger, LedgerReader, Row, Try
from reglue_bench.runs.run import Retry

_SLOT = 0  # in which lost episodes are played again


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


def lost_tries(ledger: LedgerReader, procedure: Procedure, order: MakeOrder) -> list[Try]:
    """The last tries of units that have a lost episode, as they were recorded."""
    tries = []
    for _, rows in groupby(ledger.rows(), key=lambda row: row.unit):
        of_unit = list(rows)
        if any(row.status == LOST for row in of_unit):
            outcomes = [*_outcomes(of_unit, ledger, procedure, order)]
            tries.append(Try(of_unit[0].attempt, outcomes))
    return tries


def fails_again(tries: Iterable[Try], environment: EnvironmentCalls) -> str | None:
    """The failure of a lost episode's environment in its last step again; None if none fails again.

    Raises EnvironmentFault if it is lost elsewhere.
    """
    for each in tries:
        for outcome in each.outcomes:
            if outcome.status == LOST and outcome.actions:
                plays = [*_plays(outcome, environment)]
                if what := environment.fails_again(plays):
                    return what
    return None


def crashed(outcomes: Iterable[Outcome], what: str) -> list[Outcome]:
    """The outcomes of a unit's next try, in which its lost episodes have crashed."""
    return [
        replace(each, status=CRASHED, detail=what) if each.status == LOST else each
        for each in outcomes
    ]


def _is_retried(status: str, retry: Retry) -> bool:
    if status == LOST:
        return True
    if retry == "environment":
        return status == EnvironmentFault.status
    return retry == "all" and status != "ok"


def _outcomes(
    rows: Sequence[Row], ledger: LedgerReader, procedure: Procedure, order: MakeOrder
) -> Iterator[Outcome]:
    steps = 0  # of the unit so far
    for row in rows:
        planned = order(row.unit, procedure.cell(row.unit, row.k))
        yield ledger.outcome(row, procedure.after_steps(planned, steps))
        steps += row.steps


def _plays(outcome: Outcome, environment: EnvironmentCalls) -> Iterator[Play]:
    """The calls of an episode in which its environment was lost, up to the last one."""
    yield Play(NO_SLOTS, {}, {_SLOT: outcome.order.cell})
    slots = np.array([_SLOT], np.uint32)
    actions = unpacked(outcome.actions, environment.spec.actions)
    for step in range(len(next(iter(actions.values())))):
        yield Play(slots, {name: rows[step : step + 1] for name, rows in actions.items()}, {})
