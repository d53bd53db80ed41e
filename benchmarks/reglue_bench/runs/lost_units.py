"""Units that were in play when their environment was lost for good, in an earlier session.

Its agent may have brought that about. So before anybody is asked their episodes again, the recorded
actions are played without the agent. If an environment fails in the same step again, it was the
agent's doing: all of them have crashed, as those of other slots fell with it. If none does, it was
the machine's, and they are another try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from glue_server import CRASHED, LOST, EnvironmentCalls, Order, Outcome
from glue_server.agent.actions import unpacked
from glue_server.environment.replaying import NO_SLOTS
from reglue.messages.environment_messages import Play
from reglue_bench.procedures.procedure import MakeOrder, Procedure
from reglue_bench.runs.ledger import LedgerReader, Row

_SLOT = 0  # in which they are played again


def lost_units(ledger: LedgerReader) -> dict[int, list[Row]]:
    """All rows of each unit that has a lost episode."""
    found = {}
    for unit, rows in groupby(ledger.rows(), key=lambda row: row.unit):
        of_unit = list(rows)
        if any(row.status == LOST for row in of_unit):
            found[unit] = of_unit
    return found


class LostUnits:
    """Those of a run, and what comes of them."""

    def __init__(self, ledger: LedgerReader, procedure: Procedure, order: MakeOrder) -> None:
        self.rows: Mapping[int, Sequence[Row]] = lost_units(ledger)
        self._ledger = ledger
        self._procedure = procedure
        self._order = order

    def fails_again(self, environment: EnvironmentCalls) -> str | None:
        """Why an episode's environment fails again in its last step; None if that of none does.

        Raises EnvironmentFault if it is lost elsewhere.
        """
        for outcome in self._in_play():
            if what := environment.fails_again([*_plays(outcome, environment)]):
                return what
        return None

    def crashed(self, what: str) -> Iterator[tuple[int, list[Outcome]]]:
        """Each unit's next try, in which its lost episodes have crashed."""
        for rows in self.rows.values():
            outcomes = [*self._outcomes(rows)]
            yield (
                rows[0].attempt + 1,
                [_crashed(each, what) if each.status == LOST else each for each in outcomes],
            )

    def _in_play(self) -> Iterator[Outcome]:
        """The episodes in which the agent has acted."""
        for rows in self.rows.values():
            yield from (
                each for each in self._outcomes(rows) if each.status == LOST if each.actions
            )

    def _outcomes(self, rows: Iterable[Row]) -> Iterator[Outcome]:
        """The outcomes of a unit, as they were recorded."""
        steps = 0  # of the unit so far
        for row in rows:
            order = self._order(row.unit, self._procedure.cell(row.unit, row.k))
            yield _outcome(self._ledger, row, _at_step(order, steps, self._procedure))
            steps += row.steps


def _at_step(order: Order, steps: int, procedure: Procedure) -> Order:
    return (
        replace(order, cell=replace(order.cell, steps=steps)) if procedure.counts_steps else order
    )


def _outcome(ledger: LedgerReader, row: Row, order: Order) -> Outcome:
    key = (row.unit, row.attempt, row.k)
    return Outcome(
        order=order,
        status=row.status,
        success=row.success,
        return_=row.return_,
        steps=row.steps,
        clipped=row.clipped,
        defaulted=row.defaulted,
        first_success=row.first_success,
        actions=ledger.actions(*key),
        rewards=ledger.rewards(*key).tobytes(),
        detail=row.detail,
    )


def _crashed(outcome: Outcome, what: str) -> Outcome:
    return replace(outcome, status=CRASHED, detail=what)


def _plays(outcome: Outcome, environment: EnvironmentCalls) -> Iterator[Play]:
    """The calls of an episode in which its environment was lost, up to the last one."""
    yield Play(NO_SLOTS, {}, {_SLOT: outcome.order.cell})
    slots = np.array([_SLOT], np.uint32)
    actions = unpacked(outcome.actions, environment.spec.actions)
    for step in range(len(next(iter(actions.values())))):
        yield Play(slots, {name: rows[step : step + 1] for name, rows in actions.items()}, {})
