"""Deletion of a team's personal data; its scores stay."""

from __future__ import annotations

import sqlalchemy as sa

from reglue.errors import UsageError
from reglue_competition.store import schema
from reglue_competition.store.access import forgotten_name, retire_in, revoke_in, team_in, tokens_in
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events
from reglue_competition.store.records import UNFINISHED, Team


class Forgetting(Events):
    """The part of the store that deletes personal data."""

    def forget_team(self, name: str) -> Team:
        """Delete what is personal of a team, and retire it; returns it by its new name.

        Deleted are its name, the names of its submissions, its appeals, and all texts in its
        events and results, such as reasons and errors. Submissions, scores and tokens' ids stay.
        Raises UnknownName, and UsageError while a submission of it waits or plays.
        """

        def forget(transaction: Transaction) -> Team:
            to = transaction.connection
            team = team_in(to, name)
            _check_idle(to, team)
            retire_in(transaction, team)
            for each in tokens_in(to, team.name):
                revoke_in(transaction, each)
            of_team = schema.teams.c.id == team.id
            forgotten = forgotten_name(team)
            to.execute(sa.update(schema.teams).where(of_team).values(name=forgotten))
            _delete_texts(to, team)
            transaction.note("team forgotten", team=forgotten)
            return team_in(to, forgotten)

        return self._database.write(forget)


def _check_idle(to: sa.Connection, team: Team) -> None:
    columns = schema.submissions.c
    going_on = (columns.team_id == team.id, columns.status.in_(UNFINISHED))
    if keys := list(to.scalars(sa.select(columns.id).where(*going_on))):
        raise UsageError(
            f"{team.name} has submissions that wait or play, {', '.join(keys)}: wait until they "
            "have ended, or cancel them (`reglue competition cancel`), before it is forgotten"
        )


def _delete_texts(to: sa.Connection, team: Team) -> None:
    of = schema.submissions.c
    change = sa.update(schema.submissions).where(of.team_id == team.id)
    to.execute(change.values(name=sa.literal("#") + of.id, detail=""))
    runs = schema.runs.c
    theirs = sa.select(runs.submission_id, runs.index, runs.result).join(schema.submissions)
    for key, index, result in to.execute(theirs.where(of.team_id == team.id)).all():
        of_run = (runs.submission_id == key, runs.index == index)
        change = sa.update(schema.runs).where(*of_run)
        to.execute(change.values(result=_without_texts(result, f"#{key}")))
    events = sa.select(schema.events.c.id).where(schema.events.c.team_id == team.id)
    texts = schema.event_texts
    to.execute(sa.delete(texts).where(texts.c.event_id.in_(events)))


def _without_texts(text: str, name: str) -> str:
    """A result of an agent of that name, without its errors' words; empty if it is unreadable."""
    from reglue_bench.results.result import parse_result  # few commands read results

    if not text:
        return text
    try:
        result = parse_result(text, "a run")
    except UsageError:  # it is on no leaderboard
        return ""
    ending = result.ended_early
    changes = {
        "agent": result.agent.model_copy(update={"name": name, "label": name}),
        "ended_early": ending and ending.model_copy(update={"what": ending.status}),
        "faults": [each.model_copy(update={"detail": ""}) for each in result.faults],
    }
    return result.model_copy(update=changes).model_dump_json(by_alias=True)
