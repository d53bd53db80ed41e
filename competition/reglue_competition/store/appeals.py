"""Appeals: a team's complaint about a submission, and the organiser's answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa

from reglue.error_message import printable
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events, events_in
from reglue_competition.store.records import UNFINISHED, Appeal, Event, Team

MOST_TEXT = 2000  # characters of an appeal, or of its answer
MOST_A_DAY = 5  # appeals of a team within 24 hours

FILED, ANSWERED = "appeal filed", "appeal answered"
"""Kinds of events, which are all that is kept of appeals."""


class Appeals(Events):
    """The part of the store that teams write to, besides entering."""

    def file_appeal(self, team: Team, submission_id: str, text: str) -> None:
        """Appeal against the outcome of a team's submission.

        Raises UsageError for a submission that has not ended, or has an appeal that is open; for
        too many appeals of the team; and for a text that is empty or too long.
        """
        text = _normalise_text(text)

        def file(transaction: Transaction) -> None:
            columns = schema.submissions.c
            status_query = sa.select(columns.status).where(
                columns.id == submission_id, columns.team_id == team.id
            )
            status = transaction.connection.scalar(status_query)
            if status is None:
                raise UsageError(f"{team.name} has no submission {submission_id}")
            if status in UNFINISHED:
                raise UsageError(f"the submission is {status}: appeal once it has ended")
            appeals = _appeals(transaction.connection, team=team.name)
            if any(each.submission == submission_id and each.is_open for each in appeals):
                raise UsageError(
                    "there is an appeal against this submission already: wait for its answer"
                )
            since = transaction.at - timedelta(days=1)
            if sum(each.at > since for each in appeals) >= MOST_A_DAY:
                raise UsageError(f"got {MOST_A_DAY} appeals within a day: try again tomorrow")
            transaction.note(FILED, team=team.name, submission=submission_id, texts={"text": text})

        self._database.write(file)

    def answer_appeal(self, appeal: int, text: str) -> None:
        """Answer an appeal, which closes it. Raises UsageError if there is no such one open."""
        text = _normalise_text(text)

        def answer(transaction: Transaction) -> None:
            appeals = {each.id: each for each in _appeals(transaction.connection)}
            if appeal not in appeals:
                raise UnknownName("appeal", str(appeal), map(str, appeals))
            of = appeals[appeal]
            if not of.is_open:
                raise UsageError(f"appeal {appeal} was answered already")
            transaction.note(
                ANSWERED,
                team=of.team,
                submission=of.submission,
                texts={"text": text},
                appeal=appeal,
            )

        self._database.write(answer)

    def appeals(self, *, team: str | None = None, submission: str | None = None) -> list[Appeal]:
        """All appeals, or those of a team or a submission, in the order in which they came."""
        return self._database.read(lambda to: _appeals(to, team=team, submission=submission))


def _appeals(
    connection: sa.Connection, *, team: str | None = None, submission: str | None = None
) -> list[Appeal]:
    """Without those of forgotten teams, whose texts are gone."""
    found = events_in(connection, FILED, ANSWERED, team=team, submission=submission)
    return _pair_answers([each for each in found if "text" in each.detail])


def _pair_answers(events: Sequence[Event]) -> list[Appeal]:
    answers = {each.detail["appeal"]: each for each in events if each.kind == ANSWERED}
    appeals = []
    for event in events:
        if event.kind == FILED:
            answer = answers.get(event.id)
            appeals.append(
                Appeal(
                    id=event.id,
                    at=event.at,
                    team=event.team or "",
                    submission=event.submission or "",
                    text=event.detail["text"],
                    answer=answer.detail["text"] if answer else "",
                    answered_at=answer.at if answer else None,
                )
            )
    return appeals


def _normalise_text(text: str) -> str:
    """Plain text of at most so many characters. Raises BadArgument."""
    normalised = printable(text.replace("\r\n", "\n")).strip()
    if not 0 < len(normalised) <= MOST_TEXT:
        raise BadArgument(
            got=f"a text of {len(normalised):,} characters",
            wanted=f"1 to {MOST_TEXT:,} printable ones",
        )
    return normalised
