"""Phases, and the competition file that is in force."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from reglue.errors import UnknownName, UsageError
from reglue_competition.definition import Definition, PhaseState, changes, may_overlap
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events, events_in
from reglue_competition.store.records import UNFINISHED, Phase

_SHOWN = "phase shown"
"""The kind of event that says that a team has seen what a closed phase played."""


class Phases(Events):
    """The part of the store that holds phases and the competition file."""

    def apply(self, definition: Definition) -> None:
        """Put a competition file in force.

        Raises UsageError, and changes nothing, if it changes what may not change while a phase is
        open, or after it closed: see `definition.changes`.
        """

        def put(transaction: Transaction) -> None:
            before = definition_in(transaction.connection)
            if before == definition:
                return
            states = {phase.name: phase.state for phase in phases_in(transaction.connection)}
            if before is not None and (refused := changes(before, definition, states)):
                raise UsageError(
                    "the competition file was changed where it may not be: " + "; ".join(refused)
                )
            _write(transaction, definition, states)
            transaction.note("definition applied", again=before is not None)

        self._database.write(put)

    def definition(self) -> Definition:
        """The competition file that is in force. Raises UsageError before the first one."""
        definition = self._database.read(definition_in)
        if definition is None:
            raise UsageError("the store holds no competition file yet")
        return definition

    def phases(self) -> list[Phase]:
        """All phases, in the order of their dates."""
        return self._database.read(phases_in)

    def phases_open_at(self, now: datetime) -> list[Phase]:
        """The phases that are open and have not passed their closing dates: at most one of
        practice, and one other.
        """
        return [each for each in self.phases() if each.is_open_at(now)]

    def ask_open(self, name: str) -> None:
        """Ask the server to open a planned phase now. Raises UsageError as `open_phase`."""

        def ask(transaction: Transaction) -> None:
            phase = phase_in(transaction.connection, name)
            _check_may_open(transaction, phase)
            if not phase.open_asked:
                _change(transaction, phase, open_asked=True)
                transaction.note("opening asked", phase=name)

        self._database.write(ask)

    def open_phase(self, name: str, plan_commitment: str) -> None:
        """Open a planned phase, and record the commitment to its plan.

        Raises UsageError if another is open that has to be closed first, or this one was closed.
        """

        def opened(transaction: Transaction) -> None:
            phase = phase_in(transaction.connection, name)
            if phase.state == "open" and phase.plan_commitment == plan_commitment:
                return
            _check_may_open(transaction, phase)
            _change(transaction, phase, state="open", plan_commitment=plan_commitment)
            transaction.note("phase opened", phase=name, plan_commitment=plan_commitment)

        self._database.write(opened)

    def close_phase(self, name: str) -> None:
        """Close a phase; its submissions are played to their end. Raises UsageError if it was
        never open.
        """

        def closed(transaction: Transaction) -> None:
            phase = phase_in(transaction.connection, name)
            if phase.state == "planned":
                raise UsageError(f"phase {name} cannot be closed: it was never open")
            if phase.state == "open":
                _change(transaction, phase, state="closed", closed_at=transaction.at)
                transaction.note("phase closed", phase=name)

        self._database.write(closed)

    def reopen_phase(self, name: str) -> None:
        """Open a closed phase again, by the commitment that it had.

        Raises UsageError if what it plays may be known, another phase is open that has to be
        closed first, or its date is over.
        """

        def reopened(transaction: Transaction) -> None:
            phase = phase_in(transaction.connection, name)
            if phase.state == "open":
                return
            if phase.state == "planned":
                raise UsageError(f"phase {name} cannot be opened again: it was never open")
            if phase.revealed_at is not None:
                raise UsageError(f"phase {name} cannot be opened again: it was revealed")
            if (team := _shown_to(transaction.connection, name)) is not None:
                raise UsageError(
                    f"phase {name} cannot be opened again: team {team} has seen what it played"
                )
            _check_free(transaction, phase)
            _change(transaction, phase, state="open", closed_at=None)
            transaction.note("phase reopened", phase=name)

        self._database.write(reopened)

    def note_shown(self, name: str, team: str) -> None:
        """Record that a team sees what a closed phase played: a transcript, or its episodes.

        To be called before it does. Raises UsageError if the phase is open: nothing may be shown;
        and UnknownName for a team that has just been forgotten.
        """

        def shown(transaction: Transaction) -> None:
            if phase_in(transaction.connection, name).state != "closed":
                raise UsageError(f"phase {name} is not closed: what it plays is not shown yet")
            if _shown_to(transaction.connection, name) is None:
                transaction.note(_SHOWN, team=team, phase=name)

        self._database.write(shown)

    def reveal_phase(self, name: str) -> None:
        """Record that the plan of a phase is published; nothing is played there again.

        Raises UsageError unless it is closed, and all that was entered was played.
        """

        def revealed(transaction: Transaction) -> None:
            to, columns = transaction.connection, schema.submissions.c
            phase = phase_in(to, name)
            going_on = (columns.phase_id == phase.id, columns.status.in_(UNFINISHED))
            counted = sa.select(sa.func.count()).select_from(schema.submissions)
            count = to.scalar(counted.where(*going_on))
            if phase.state != "closed" or count:
                of = (
                    "it is"
                    if phase.state != "closed"
                    else f"{count} submissions wait or play, and it is"
                )
                raise UsageError(
                    f"phase {name} cannot be revealed: {of} {phase.state}; wanted it closed and "
                    "played"
                )
            if phase.revealed_at is None:
                _change(transaction, phase, revealed_at=transaction.at)
                transaction.note("phase revealed", phase=name)

        self._database.write(revealed)


def definition_in(connection: sa.Connection) -> Definition | None:
    """The competition file that is in force."""
    text = connection.scalar(sa.select(schema.competition.c.definition))
    return None if text is None else Definition.model_validate_json(text)


def _write(
    transaction: Transaction, definition: Definition, states: Mapping[str, PhaseState]
) -> None:
    to, table = transaction.connection, schema.phases
    to.execute(sa.delete(schema.competition))
    row = {"id": 1, "definition": definition.model_dump_json(), "applied_at": transaction.at}
    to.execute(sa.insert(schema.competition).values(row))
    names = [phase.name for phase in definition.phases]
    to.execute(sa.delete(table).where(table.c.name.not_in(names)))
    for phase in definition.phases:
        values: dict[str, Any] = definition.quotas_of(phase).model_dump()
        dates = {"opens_at": phase.opens, "closes_at": phase.closes}
        values |= {"kind": phase.kind, "cells": phase.cells, "agents": phase.agents, **dates}
        if phase.name in states:
            to.execute(sa.update(table).where(table.c.name == phase.name).values(values))
        else:
            to.execute(
                sa.insert(table).values(
                    values | {"name": phase.name, "state": "planned", "open_asked": False}
                )
            )


def _shown_to(connection: sa.Connection, phase: str) -> str | None:
    """The first team that has seen what a closed phase played."""
    shown = events_in(connection, _SHOWN)
    return next((each.team for each in shown if each.detail["phase"] == phase), None)


_COLUMNS = [schema.phases.c[name] for name in Phase.__dataclass_fields__]


def phases_in(connection: sa.Connection) -> list[Phase]:
    """All phases, in the order of their dates."""
    order = (schema.phases.c.opens_at, schema.phases.c.id)
    rows = connection.execute(sa.select(*_COLUMNS).order_by(*order))
    return [Phase(**row) for row in rows.mappings()]


def phase_in(connection: sa.Connection, name: str) -> Phase:
    """The phase of that name. Raises UnknownName."""
    phases = {phase.name: phase for phase in phases_in(connection)}
    if name not in phases:
        raise UnknownName("phase", name, phases)
    return phases[name]


def _check_may_open(transaction: Transaction, phase: Phase) -> None:
    """Raise UsageError."""
    if phase.state == "closed":
        raise UsageError(
            f"phase {phase.name} was closed: `reglue competition reopen` undoes that, while nobody "
            "knows what it played"
        )
    _check_free(transaction, phase)


def _check_free(transaction: Transaction, phase: Phase) -> None:
    """Raise UsageError if another phase is open beside which this one may not be, or its date is
    over.
    """
    for each in phases_in(transaction.connection):
        if each.state == "open" and not may_overlap(phase.kind, each.kind):
            raise UsageError(
                f"phase {phase.name} cannot be opened: {each.name} is open; close that first"
            )
    if transaction.at >= phase.closes_at:
        raise UsageError(
            f"phase {phase.name} cannot be opened: it was to close at "
            f"{phase.closes_at:%Y-%m-%d %H:%M} UTC; change `closes` in the competition file"
        )


def _change(transaction: Transaction, phase: Phase, **values: str | bool | datetime | None) -> None:
    change = sa.update(schema.phases).where(schema.phases.c.id == phase.id)
    transaction.connection.execute(change.values(values))
