"""Who may enter, what an entry plays, and what may be played again."""

from __future__ import annotations

from datetime import UTC, datetime, time

import sqlalchemy as sa

from reglue.errors import EntryRefused, UsageError
from reglue_competition.store import schema
from reglue_competition.store.records import FREE, UNFINISHED, Submission, Team

MOST_WITHDRAWN = 20  # of a team in a day: they count against no other quota
MOST_BROKEN = 3  # of a team in a phase, unless the organiser has one of them played again


def phase_to_enter(connection: sa.Connection, now: datetime) -> sa.RowMapping:
    """The row of the open phase. Raises EntryRefused."""
    rows = connection.execute(sa.select(schema.phases).order_by(schema.phases.c.opens_at))
    phases = list(rows.mappings())
    for row in phases:
        if row["state"] == "open" and now < row["closes_at"]:
            return row
    coming = [row for row in phases if row["state"] == "planned" and now < row["closes_at"]]
    later = (
        f"{coming[0]['name']} opens at {_minute(coming[0]['opens_at'])}"
        if coming
        else ("the competition is over")
    )
    raise EntryRefused(f"no phase is open: {later}")


def check_quotas(
    connection: sa.Connection, team: Team, phase: sa.RowMapping, now: datetime
) -> None:
    """Raise EntryRefused if one more exceeds a quota. Withdrawn and broken ones do not count.

    They have limits of their own: each that was withdrawn leaves a row and two events, and of each
    that broke an agent may have seen something.
    """
    columns = schema.submissions.c
    today = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    of_team = sa.select(sa.func.count()).select_from(schema.submissions)
    of_team = of_team.where(columns.team_id == team.id)
    counted = of_team.where(columns.phase_id == phase["id"], columns.status.not_in(FREE))
    left = of_team.where(columns.status == "withdrawn", columns.queued_at >= today)
    if (count := connection.scalar(left) or 0) >= MOST_WITHDRAWN:
        raise EntryRefused(
            f"{team.name} left {count} submissions today (UTC) before they began, wanted fewer "
            f"than {MOST_WITHDRAWN}: the next day begins at 00:00 UTC; stay connected until your "
            "turn comes"
        )
    broken = _count(connection, team.id, phase["id"], columns.status == "broken")
    if broken >= MOST_BROKEN:
        raise EntryRefused(
            f"{broken} submissions of {team.name} are broken in phase {phase['name']}, wanted "
            f"fewer than {MOST_BROKEN}: ask the organiser to have one of them played again "
            "(`reglue competition replay`), and join by its name"
        )
    for key, only, what in (
        ("at_once", columns.status.in_(UNFINISHED), "that wait or play"),
        (
            "a_day",
            columns.queued_at >= today,
            "entered today (UTC): the next day begins at 00:00 UTC",
        ),
        ("in_all", sa.true(), "in this phase"),
    ):
        most = phase[key]
        count = connection.scalar(counted.where(only)) or 0
        if most is not None and count >= most:
            message = (
                f"phase {phase['name']} allows a team {most} submissions {what}; {team.name} has "
            )
            if key == "at_once":
                names = connection.scalars(counted.where(only).with_only_columns(columns.name))
                listed = ", ".join(map(repr, names))
                raise EntryRefused(
                    f"{message}{listed}: wait until one has ended, or join by its name to go on "
                    "with it"
                )
            raise EntryRefused(f"{message}{count}")


def has_own_cells(connection: sa.Connection, team: Team, phase: sa.RowMapping) -> bool:
    """Whether a new submission plays cells of its own, and not those of its phase.

    So does each where another of its team has broken: its agent has seen the phase's, and it
    counts against no quota. It may have been played again since, on cells of its own.
    """
    columns = schema.submissions.c
    seen = sa.or_(columns.status == "broken", columns.draw > 0)
    return phase["cells"] == "own" or _count(connection, team.id, phase["id"], seen) > 0


def check_may_play_again(connection: sa.Connection, submission: Submission) -> None:
    """Raise UsageError if a replay would use revealed cells or exceed a quota."""
    columns, of_phase = schema.submissions.c, schema.phases.c.name == submission.phase
    phase = connection.execute(sa.select(schema.phases).where(of_phase)).mappings().one()
    if phase["revealed_at"] is not None:
        raise UsageError(
            f"submission {submission.id} cannot be played again: phase {submission.phase} was "
            f"revealed at {_minute(phase['revealed_at'])}, so that everybody knows its goals"
        )
    counted = sa.select(sa.func.count()).join_from(schema.submissions, schema.teams)
    counted = counted.where(schema.teams.c.name == submission.team, columns.phase_id == phase["id"])
    count = connection.scalar(counted.where(columns.status.not_in(FREE))) or 0
    if submission.status in FREE and phase["in_all"] is not None and count >= phase["in_all"]:
        raise UsageError(
            f"submission {submission.id} cannot be played again: {submission.team} has "
            f"entered {count} since, and phase {submission.phase} allows {phase['in_all']}"
        )


def _count(connection: sa.Connection, team: int, phase: int, *of: sa.ColumnElement[bool]) -> int:
    """How many submissions of a team in a phase are of that kind."""
    columns = schema.submissions.c
    counted = sa.select(sa.func.count()).select_from(schema.submissions)
    counted = counted.where(columns.team_id == team, columns.phase_id == phase, *of)
    return connection.scalar(counted) or 0


def _minute(date: datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M} UTC"
