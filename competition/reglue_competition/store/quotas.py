"""Rules of entry: the teams that may enter, the draw of an entry, and what may be played again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa

from reglue.errors import EntryRefused, UnknownName, UsageError
from reglue_competition.store import schema
from reglue_competition.store.events import events_in
from reglue_competition.store.phases import phases_in
from reglue_competition.store.records import (
    FREE,
    UNFINISHED,
    Phase,
    Submission,
    Team,
    default_phase,
)

MOST_WITHDRAWN = 20  # of a team in a day: they count against no other quota
ALLOWED = "more submissions allowed"
"""The kind of event by which a team may enter more than its phase's quotas: the newest counts."""

MOST_BROKEN = 3  # of a team in a phase, unless the organiser has one of them played again


def phase_to_enter(
    connection: sa.Connection, now: datetime, name: str | None = None
) -> sa.RowMapping:
    """The row of the phase of that name, or without one of the phase that is open: one of practice
    only if no other is. Raises EntryRefused.
    """
    phases = phases_in(connection)
    if name is not None:
        known = [each.name for each in phases]
        phases = [each for each in phases if each.name == name]
        if not phases:
            raise EntryRefused(str(UnknownName("phase", name, known)))
    phase = default_phase(each for each in phases if each.is_open_at(now))
    if phase is None:
        raise EntryRefused(_why_not_open(phases, now, name))
    return row_of(connection, phase)


def _why_not_open(phases: Sequence[Phase], now: datetime, name: str | None) -> str:
    coming = [each for each in phases if each.state == "planned" and now < each.closes_at]
    if name is not None:
        if coming:
            return f"phase {name} is not open yet: it opens at {_minute(coming[0].opens_at)}"
        return f"phase {name} is closed: a token that names no phase enters the one that is open"
    if not coming:
        return "no phase is open: the competition is over"
    return f"no phase is open: {coming[0].name} opens at {_minute(coming[0].opens_at)}"


def row_of(connection: sa.Connection, phase: Phase) -> sa.RowMapping:
    """A phase with its rules and quotas."""
    of_id = schema.phases.c.id == phase.id
    return connection.execute(sa.select(schema.phases).where(of_id)).mappings().one()


def check_agents(phase: sa.RowMapping, image: str | None) -> None:
    """Raise EntryRefused unless the phase plays agents that connect, or images, as this one."""
    if image is None and phase["agents"] == "submitted":
        raise EntryRefused(
            f"phase {phase['name']} plays agents from images that teams hand in, and none that "
            "connects: hand the archive of yours in (`docker save`, `reglue submit`)"
        )
    if image is not None and phase["agents"] == "remote":
        raise EntryRefused(
            f"phase {phase['name']} plays agents that connect by themselves; images are handed in "
            'for a phase with agents = "submitted" or "both"'
        )


def check_quotas(
    connection: sa.Connection, team: Team, phase: sa.RowMapping, now: datetime
) -> None:
    """Raise EntryRefused if one more exceeds a quota. Withdrawn and broken ones do not count.

    They have limits of their own: each that was withdrawn leaves a row and two events, and of each
    that broke an agent may have seen something.
    """
    columns = schema.submissions.c
    count = _count(connection, team.name, columns.status == "withdrawn", _on_day(now))
    if count >= MOST_WITHDRAWN:
        raise EntryRefused(
            f"{team.name} left {count} submissions today (UTC) before they began, wanted fewer "
            f"than {MOST_WITHDRAWN}: the next day begins at 00:00 UTC; stay connected until your "
            "turn comes"
        )
    of_phase = columns.phase_id == phase["id"]
    count = _count(connection, team.name, columns.status == "broken", of_phase)
    if count >= MOST_BROKEN:
        raise EntryRefused(
            f"{count} submissions of {team.name} are broken in phase {phase['name']}, wanted "
            f"fewer than {MOST_BROKEN}: ask the organiser to have one of them played again "
            "(`reglue competition replay`), and join by its name"
        )
    limits = _limits(connection, team.name, phase)
    for key, count in _counts(connection, team, phase, now).items():
        if key not in limits or count < limits[key]:
            continue
        has = str(count)
        if key == "at_once":
            waiting = (of_phase, columns.status.in_(UNFINISHED))
            names = connection.scalars(_of_team(columns.name, team.name, *waiting))
            has = (
                f"{', '.join(map(repr, names))}: wait until one has ended, or join by its name to "
                "go on with it"
            )
        raise EntryRefused(
            f"phase {phase['name']} allows a team {limits[key]} submissions {_ALLOWED[key]}; "
            f"{team.name} has {has}"
        )


def quotas_left(
    connection: sa.Connection, team: Team, phase: sa.RowMapping, now: datetime
) -> dict[str, tuple[int, int]]:
    """The number of submissions that a team may still enter, and the limit, by quota."""
    counts = _counts(connection, team, phase, now)
    limits = _limits(connection, team.name, phase)
    return {_LEFT[key]: (max(0, most - counts[key]), most) for key, most in limits.items()}


def _limits(connection: sa.Connection, team: str, phase: sa.RowMapping) -> dict[str, int]:
    """A team's quotas, with what the organiser allows it beyond its phase's."""
    details = [each.detail for each in events_in(connection, ALLOWED, team=team)]
    more = [each["more"] for each in details if each["phase"] == phase["name"]] or [0]
    beyond = {"at_once": 0, "a_day": more[-1], "in_all": more[-1]}
    return {key: phase[key] + n for key, n in beyond.items() if phase[key] is not None}


_ALLOWED = {
    "at_once": "that wait or play",
    "a_day": "entered today (UTC): the next day begins at 00:00 UTC",
    "in_all": "in this phase",
}
_LEFT = {"at_once": "at once", "a_day": "today (UTC)", "in_all": "in this phase"}


def _counts(
    connection: sa.Connection, team: Team, phase: sa.RowMapping, now: datetime
) -> dict[str, int]:
    """The number of submissions that count against each quota."""
    columns = schema.submissions.c
    only = {"at_once": columns.status.in_(UNFINISHED), "a_day": _on_day(now), "in_all": sa.true()}
    counted = (columns.phase_id == phase["id"], columns.status.not_in(FREE))
    return {key: _count(connection, team.name, *counted, each) for key, each in only.items()}


def _on_day(now: datetime) -> sa.ColumnElement[bool]:
    """Entered on that day, in UTC: what a clock that was set back put into days to come is not."""
    queued, today = schema.submissions.c.queued_at, _midnight(now)
    return sa.and_(queued >= today, queued < today + timedelta(days=1))


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


def has_own_cells(connection: sa.Connection, team: Team, phase: sa.RowMapping) -> bool:
    """Whether a new submission plays cells of its own, and not those of its phase.

    So does each where another of its team has broken: its agent has seen the phase's, and it
    counts against no quota. It may have been played again since, on cells of its own.
    """
    columns = schema.submissions.c
    seen = sa.or_(columns.status == "broken", columns.draw > 0)
    of_phase = columns.phase_id == phase["id"]
    return phase["cells"] == "own" or _count(connection, team.name, of_phase, seen) > 0


def check_may_play_again(connection: sa.Connection, submission: Submission) -> None:
    """Raise UsageError if a replay would use revealed cells or exceed a quota."""
    columns, of_phase = schema.submissions.c, schema.phases.c.name == submission.phase
    phase = connection.execute(sa.select(schema.phases).where(of_phase)).mappings().one()
    if phase["revealed_at"] is not None:
        raise UsageError(
            f"submission {submission.id} cannot be played again: phase {submission.phase} was "
            f"revealed at {_minute(phase['revealed_at'])}, so that everybody knows its goals"
        )
    counted = (columns.phase_id == phase["id"], columns.status.not_in(FREE))
    count = _count(connection, submission.team, *counted)
    most = _limits(connection, submission.team, phase).get("in_all")
    if submission.status in FREE and most is not None and count >= most:
        raise UsageError(
            f"submission {submission.id} cannot be played again: {submission.team} has "
            f"entered {count} since, and phase {submission.phase} allows {most}"
        )


def _count(connection: sa.Connection, team: str, *only: sa.ColumnElement[bool]) -> int:
    return int(connection.scalar(_of_team(sa.func.count(), team, *only)) or 0)


def _of_team(
    what: sa.ColumnElement[Any], team: str, *only: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    """Selects something of those submissions of a team for which all of `only` hold."""
    selected = sa.select(what).join_from(schema.submissions, schema.teams)
    return selected.where(schema.teams.c.name == team, *only)


def _minute(date: datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M} UTC"
