"""Rulings and choices: which scores and benchmarks count on a leaderboard."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from reglue.error_message import brief, printable
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events, events_in
from reglue_competition.store.phases import definition_in, phase_in
from reglue_competition.store.records import SCORED, Ruling, Standing, Team

MOST_WHY = 500  # characters of a reason

_RULED, _VOIDED, _CHOSEN = "ruling", "benchmark ruling", "submission chosen"
"""Kinds of events, which are all that is kept of rulings and choices: the newest counts."""

FORGOTTEN = "the reason was deleted with what else was personal of the team"
"""Instead of the reason of a ruling on a team that was forgotten."""


class Rulings(Events):
    """The part of the store with rulings on submissions, benchmarks and scores."""

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
            row = _submission(transaction.connection, submission_id, team)
            if row.status not in SCORED:
                raise UsageError(
                    f"submission {submission_id} is {row.status}: only a score can be ruled on"
                )
            now = _rulings(transaction.connection).get(submission_id)
            if team is not None and now is not None and now.standing != "unranked":
                raise UsageError(f"submission {submission_id} is {now.standing} already")
            transaction.note(
                _RULED,
                team=row.team,
                submission=submission_id,
                texts={"why": why},
                standing=standing,
                by="organiser" if team is None else "team",
            )

        self._database.write(rule)

    def rulings(self) -> dict[str, Ruling]:
        """The ruling on each submission that is not ranked like any other, by its id."""
        return self._database.read(_rulings)

    def choose(self, submission_id: str, team: Team) -> None:
        """Let a team say which of its scored submissions counts in its phase.

        The newest choice counts, until the phase is closed. Raises UsageError once it is, where
        the competition file does not let teams choose, and for a submission of another team, one
        without a score, and one with a ruling.
        """

        def choose(transaction: Transaction) -> None:
            to = transaction.connection
            row = _submission(to, submission_id, team)
            definition = definition_in(to)
            if definition is None or definition.ranking.choose != "team":
                raise UsageError("no team chooses here which of its submissions counts")
            if row.status not in SCORED:
                raise UsageError(
                    f"submission {submission_id} is {row.status}: choose one that has a score"
                )
            if (ruling := _rulings(to).get(submission_id)) is not None:
                raise UsageError(
                    f"submission {submission_id} is {ruling.standing}: choose one that is ranked"
                )
            if phase_in(to, row.phase).state == "closed":
                raise UsageError(f"phase {row.phase} is closed: what was chosen before counts")
            transaction.note(_CHOSEN, team=team.name, submission=submission_id, phase=row.phase)

        self._database.write(choose)

    def choices(self, phase: str, before: datetime | None = None) -> dict[str, str]:
        """The submission that each team has chosen in a phase, by the team's name.

        With `before`, as it was then. One that has a ruling since is in it, and does not count.
        """

        def read(to: sa.Connection) -> dict[str, str]:
            return {
                each.team or "": each.submission or ""
                for each in events_in(to, _CHOSEN)
                if each.detail["phase"] == phase and (before is None or each.at < before)
            }

        return self._database.read(read)

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
        """The reasons why benchmarks of a phase do not count, by their indexes."""
        return self._database.read(lambda to: _voids(to, phase))


def _submission(connection: sa.Connection, id_: str, team: Team | None) -> sa.Row:  # type: ignore[type-arg]
    """The status, team and phase of a submission. Raises UnknownName, also if not the `team`'s."""
    of = schema.submissions.c
    query = sa.select(
        of.status, schema.teams.c.name.label("team"), schema.phases.c.name.label("phase")
    ).join_from(schema.submissions, schema.teams)
    row = connection.execute(query.join(schema.phases).where(of.id == id_)).first()
    if row is None or (team is not None and row.team != team.name):
        known = sa.select(of.id).where(sa.literal(team is None))  # others' are not named
        raise UnknownName("submission", id_, connection.scalars(known))
    return row


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
