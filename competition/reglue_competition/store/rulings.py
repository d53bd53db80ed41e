"""Rulings: which scores stand on a leaderboard, and which benchmarks count there."""

from __future__ import annotations

import sqlalchemy as sa

from reglue.errors import BadArgument, UnknownName, UsageError, brief, printable
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events, events_in
from reglue_competition.store.phases import definition_in, phase_in
from reglue_competition.store.records import SCORED, Ruling, Standing, Team

MOST_WHY = 500  # characters of a reason

_RULED, _VOIDED = "ruling", "benchmark ruling"
"""Kinds of events, which are all that is kept of rulings: the newest counts."""

FORGOTTEN = "the reason was deleted with what else was personal of the team"
"""Instead of the reason of a ruling on a team that was forgotten."""


class Rulings(Events):
    """The part of the store that says what counts of what was played."""

    def rule(
        self, submission_id: str, standing: Standing, why: str, *, team: Team | None = None
    ) -> None:
        """Rule on a submission's score, as the organiser or as its `team`, which may withdraw it.

        The newest ruling counts; `why` stands on the page, and may be empty for one that is ranked
        again. Raises UsageError for a submission that has no score or is not the team's, and a
        reason that is missing or too long.
        """
        why = _normalise(why, is_needed=standing != "ranked")

        def rule(transaction: Transaction) -> None:
            of = schema.submissions.c
            query = sa.select(of.status, schema.teams.c.name).join_from(
                schema.submissions, schema.teams
            )
            row = transaction.connection.execute(query.where(of.id == submission_id)).first()
            if row is None or (team is not None and row.name != team.name):
                known = sa.select(of.id).where(sa.literal(team is None))  # others' are not named
                raise UnknownName(
                    "submission", submission_id, transaction.connection.scalars(known)
                )
            if row.status not in SCORED:
                raise UsageError(
                    f"submission {submission_id} is {row.status}: only a score can be ruled on"
                )
            now = _rulings(transaction.connection).get(submission_id)
            if team is not None and now is not None and now.standing != "unranked":
                raise UsageError(f"submission {submission_id} is {now.standing} already")
            transaction.note(
                _RULED,
                team=row.name,
                submission=submission_id,
                texts={"why": why},
                standing=standing,
                by="organiser" if team is None else "team",
            )

        self._database.write(rule)

    def rulings(self) -> dict[str, Ruling]:
        """The ruling on each submission that is not ranked like any other, by its id."""
        return self._database.read(_rulings)

    def void(self, phase: str, benchmark: int, why: str) -> None:
        """Leave a benchmark of a phase out of all totals; without a reason it counts again.

        `benchmark` is its index. Raises UsageError if there is no such one, its phase was never
        open, or no other one would count.
        """
        why = _normalise(why, is_needed=False)

        def void(transaction: Transaction) -> None:
            to = transaction.connection
            if phase_in(to, phase).state == "planned":
                raise UsageError(f"phase {phase} was never open: change the competition file")
            definition = definition_in(to)
            places = range(len(definition.phase(phase).benchmarks) if definition else 0)
            if benchmark not in places:
                raise BadArgument(
                    got=f"benchmark {benchmark + 1}", wanted=f"1 to {len(places)}, of phase {phase}"
                )
            if why and {*_voids(to, phase), benchmark} == {*places}:
                raise UsageError(f"phase {phase} has no other benchmark that counts")
            transaction.note(_VOIDED, phase=phase, benchmark=benchmark, void=why)

        self._database.write(void)

    def voids(self, phase: str) -> dict[int, str]:
        """Why benchmarks of a phase do not count, by their indexes."""
        return self._database.read(lambda to: _voids(to, phase))


def _rulings(connection: sa.Connection) -> dict[str, Ruling]:
    found = {}
    for each in events_in(connection, _RULED):
        found[each.submission or ""] = Ruling(
            standing=each.detail["standing"],
            why=each.detail.get("why", FORGOTTEN),
            by_team=each.detail["by"] == "team",
            at=each.at,
        )
    return {submission: each for submission, each in found.items() if each.standing != "ranked"}


def _voids(connection: sa.Connection, phase: str) -> dict[int, str]:
    details = [each.detail for each in events_in(connection, _VOIDED)]
    found = {each["benchmark"]: each["void"] for each in details if each["phase"] == phase}
    return {place: why for place, why in found.items() if why}


def _normalise(why: str, *, is_needed: bool) -> str:
    normalised = " ".join(printable(why).split())
    if len(normalised) > MOST_WHY or (is_needed and not normalised):
        raise BadArgument(
            got=f"the reason {brief(why)}", wanted=f"1 to {MOST_WHY} characters, for the page"
        )
    return normalised
