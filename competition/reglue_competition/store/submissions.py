"""Submissions and their runs."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from glue_server.processes.sandboxes.launch import Used
from reglue.error_message import brief, printable
from reglue.errors import BadArgument, EntryRefused, EnvironmentFault, UnknownName, UsageError
from reglue_competition.store import schema
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events
from reglue_competition.store.phases import phases_in
from reglue_competition.store.quotas import (
    ALLOWED,
    check_agents,
    check_may_play_again,
    check_quotas,
    has_own_cells,
    phase_to_enter,
    quotas_left,
    row_of,
)
from reglue_competition.store.records import (
    FINAL,
    REPLAYED,
    UNFINISHED,
    Run,
    Status,
    Submission,
    Team,
)

MOST_NAME = 100  # characters of a submission's name
MOST_DETAIL = 2000

_ID_BYTES = 8


class Submissions(Events):
    """The part of the store that holds submissions and their runs."""

    def enter(
        self,
        team: Team,
        name: str,
        now: datetime,
        *,
        phase: str | None = None,
        image: str | None = None,
        has_quotas: bool = True,
    ) -> Submission:
        """Enter a team's agent into a phase: one that connects, or an `image`.

        Without the name of a `phase` it is the one that is open: one of practice only if no other
        is. An unfinished submission of that name goes on, in whatever phase; otherwise a new one
        waits. It plays cells of its own where another of its team has broken in that phase, whose
        agent has seen the phase's. Raises EntryRefused if no such phase is open for such agents,
        if a quota is used up where it `has_quotas`, and if an unfinished submission of that name is
        in another `phase`, or has another agent: one that connects and not an image, or another
        image.
        """
        name = _checked_name(name)

        def entered(transaction: Transaction) -> Submission:
            to = transaction.connection
            if (row := _unfinished(to, team, name, phase)) is not None:
                if row["image"] != image:
                    raise EntryRefused(
                        f"the submission {name!r} waits or plays, and its agent is "
                        f"{_kind(row['image'])}, not {_kind(image)}: wait until it has ended, or "
                        "choose another name"
                    )
                return _submission(row)
            of = phase_to_enter(to, now, phase)
            check_agents(of, image)
            if has_quotas:
                check_quotas(to, team, of, now)
            key = secrets.token_hex(_ID_BYTES)
            values = {
                "id": key,
                "team_id": team.id,
                "phase_id": of["id"],
                "name": name,
                "status": "waiting",
                "detail": "",
                "queued_at": now,
                "waits_since": now,
                "cancel_asked": False,
                "draw": int(has_own_cells(to, team, of)),
                "interrupted": 0,
                "progress": {},
                "image": image,
            }
            to.execute(sa.insert(schema.submissions).values(values))
            transaction.note(
                "submission entered",
                team=team.name,
                submission=key,
                texts={"name": name},
                phase=of["name"],
                image=image,
            )
            return _known(to, key)

        return self._database.write(entered)

    def check_image(
        self, team: Team, name: str, now: datetime, *, phase: str | None = None
    ) -> None:
        """Raise EntryRefused if no image of a team could be entered now, as `enter` does."""
        name = _checked_name(name)

        def checked(to: sa.Connection) -> None:
            if (row := _unfinished(to, team, name, phase)) is None:
                of = phase_to_enter(to, now, phase)
                check_agents(of, "image")
                check_quotas(to, team, of, now)
            elif row["image"] is None:
                raise EntryRefused(
                    f"the submission {name!r} waits or plays, and its agent is {_kind(None)}: "
                    "wait until it has ended, or choose another name"
                )

        self._database.read(checked)

    def quotas_left(self, team: Team, now: datetime) -> dict[str, dict[str, tuple[int, int]]]:
        """The numbers of submissions that a team may still enter into each open phase, and the
        limits, by each quota. Raises EntryRefused if none is open.
        """

        def left(to: sa.Connection) -> dict[str, dict[str, tuple[int, int]]]:
            phase_to_enter(to, now)
            are_open = [each for each in phases_in(to) if each.is_open_at(now)]
            return {each.name: quotas_left(to, team, row_of(to, each), now) for each in are_open}

        return self._database.read(left)

    def allow(self, team: str, phase: str, more: int, why: str) -> None:
        """Let a team enter so many more into a phase, of a day and in all, than its quotas say.

        The newest such event counts; 0 undoes it. Raises UsageError for an unknown team or phase,
        and for an empty reason.
        """
        why = printable(why).strip()[:MOST_DETAIL]
        if not why:
            raise BadArgument(got="no reason", wanted="why this team may enter more")
        if more < 0:
            raise BadArgument("more", got=more, wanted="0 or a larger number")

        def allowed(transaction: Transaction) -> None:
            teams, phases = schema.teams.c, schema.phases.c
            for what, name, of in (("team", team, teams.name), ("phase", phase, phases.name)):
                known = list(transaction.connection.scalars(sa.select(of)))
                if name not in known:
                    raise UnknownName(what, name, known)
            transaction.note(ALLOWED, team=team, texts={"why": why}, phase=phase, more=more)

        self._database.write(allowed)

    def submissions(
        self,
        phase: str | None = None,
        team: str | None = None,
        statuses: Collection[Status] | None = None,
    ) -> list[Submission]:
        """Submissions in the order of entry; all, or those of a phase, a team or statuses."""
        query = _SUBMISSIONS
        if phase is not None:
            query = query.where(schema.phases.c.name == phase)
        if team is not None:
            query = query.where(schema.teams.c.name == team)
        if statuses is not None:
            query = query.where(schema.submissions.c.status.in_(statuses))
        order = (schema.submissions.c.queued_at, schema.submissions.c.id)
        return [_submission(row) for row in self._rows(query.order_by(*order))]

    def submission(self, submission_id: str) -> Submission:
        """The submission of that id. Raises UnknownName."""
        return self._database.read(lambda connection: _known(connection, submission_id))

    def set_status(
        self,
        submission_id: str,
        status: Status,
        detail: str = "",
        from_statuses: Collection[Status] = UNFINISHED,
        *,
        used: Used | None = None,
    ) -> bool:
        """Change a submission's status, if it has one of `from_statuses`; return whether it had.

        `used` is what its container has used since its last end or interruption.
        Of two that change it at once one gets False. The start is the first `playing`, the end a
        final status. If it breaks, those of its team that have not begun get cells of their own.
        Raises UnknownName.
        """
        detail = printable(detail)[:MOST_DETAIL]

        def change(transaction: Transaction) -> bool:
            submission = _known(transaction.connection, submission_id)
            if submission.status not in from_statuses:
                return False
            values: dict[str, Any] = {"status": status, "detail": detail, "ended_at": None}
            values |= _also_used(submission, used)
            if status == "playing" and submission.started_at is None:
                values["started_at"] = transaction.at
            if status == "waiting":
                values["waits_since"] = transaction.at
            if status in FINAL:
                values["ended_at"] = transaction.at
            _update(transaction, submission, values)
            if status == "broken":
                _redraw_waiting(transaction, submission)
            transaction.note(
                f"submission {status}",
                team=submission.team,
                submission=submission_id,
                texts={"detail": detail},
                before=submission.status,
            )
            return True

        return self._database.write(change)

    def set_progress(self, submission_id: str, progress: Mapping[str, Any]) -> None:
        """Store a submission's progress, as JSON, without an event."""
        of_id = schema.submissions.c.id == submission_id
        change = sa.update(schema.submissions).where(of_id).values(progress=dict(progress))

        def keep(transaction: Transaction) -> None:
            transaction.connection.execute(change)

        self._database.write(keep)

    def interrupt(self, submission_id: str, why: str, used: Used | None = None) -> int:
        """Note that a submission's process failed. Returns how often, since it was queued.

        `used`: as for `set_status`.
        """

        def count(transaction: Transaction) -> int:
            submission = _known(transaction.connection, submission_id)
            interrupted = submission.interrupted + 1
            values = {"interrupted": interrupted, **_also_used(submission, used)}
            _update(transaction, submission, values)
            transaction.note(
                "submission interrupted",
                team=submission.team,
                submission=submission_id,
                texts={"why": why},
            )
            return interrupted

        return self._database.write(count)

    def ask_cancel(self, submission_id: str) -> None:
        """Ask the queue to cancel a submission. Raises UsageError if it has ended."""

        def ask(transaction: Transaction) -> None:
            submission = _known(transaction.connection, submission_id)
            if submission.status in FINAL:
                raise UsageError(
                    f"submission {submission_id} is {submission.status}: only one that waits or "
                    "plays can be cancelled"
                )
            if not submission.cancel_asked:
                _update(transaction, submission, {"cancel_asked": True})
                transaction.note("cancel asked", team=submission.team, submission=submission_id)

        self._database.write(ask)

    def ask_replay(self, submission_id: str) -> None:
        """Put a submission that broke, failed or was cancelled in the queue again.

        Its ledgers say what is still to be played. One whose environment failed plays all again,
        on goals and cells of its own, as its agent has seen the others. Raises UsageError for any
        other, once its phase is revealed, if the team has another of that name in the queue, and
        if it has entered another instead and may have no more.
        """

        def ask(transaction: Transaction) -> None:
            to, columns = transaction.connection, schema.submissions.c
            submission = _known(to, submission_id)
            if submission.status not in REPLAYED:
                raise UsageError(
                    f"submission {submission_id} is {submission.status}; wanted one that is "
                    f"{', '.join(REPLAYED)}: a score that stands is not played again"
                )
            same = (schema.teams.c.name == submission.team, columns.name == submission.name)
            if to.execute(_SUBMISSIONS.where(*same, columns.status.in_(UNFINISHED))).first():
                raise UsageError(
                    f"submission {submission_id}: the team has another {submission.name!r} in the "
                    "queue; cancel that first"
                )
            check_may_play_again(to, submission)
            values: dict[str, Any] = {"status": "waiting", "detail": "", "ended_at": None}
            values |= {"waits_since": transaction.at, "interrupted": 0}
            draw, of_run = submission.draw, schema.runs.c.submission_id == submission.id
            if submission.status == "broken" and EnvironmentFault.status in to.scalars(
                sa.select(schema.runs.c.status).where(of_run)
            ):
                draw += 1
                values["progress"] = {}
                to.execute(sa.delete(schema.runs).where(of_run))
            _update(transaction, submission, values | {"cancel_asked": False, "draw": draw})
            transaction.note(
                "replay asked",
                team=submission.team,
                submission=submission_id,
                before=submission.status,
                draw=draw,
            )

        self._database.write(ask)

    def record_run(self, run: Run) -> None:
        """Store the result of a run, in place of an earlier one. Raises UnknownName."""
        values = asdict(run)
        key = values["submission_id"] = values.pop("submission")

        def record(transaction: Transaction) -> None:
            to, columns = transaction.connection, schema.runs.c
            submission = _known(to, key)
            of_run = (columns.submission_id == key, columns.index == run.index)
            to.execute(sa.delete(schema.runs).where(*of_run))
            to.execute(sa.insert(schema.runs).values(values))
            transaction.note(
                "run recorded",
                team=submission.team,
                submission=key,
                run=run.index,
                status=run.status,
                score=run.score,
            )

        self._database.write(record)

    def runs(
        self, submission: str | None = None, phase: str | None = None, *, with_results: bool = True
    ) -> list[Run]:
        """Runs of a submission, of a phase, or all; results may be long, and need not be read."""
        of_run = schema.runs.c
        columns = [each for each in of_run if each.name not in ("submission_id", "result")]
        result = of_run.result if with_results else sa.literal("")
        query = sa.select(
            of_run.submission_id.label("submission"), *columns, result.label("result")
        )
        query = query.select_from(schema.runs).order_by(of_run.submission_id, of_run.index)
        if submission is not None:
            query = query.where(of_run.submission_id == submission)
        if phase is not None:
            query = query.join(schema.submissions).join(schema.phases)
            query = query.where(schema.phases.c.name == phase)
        return [Run(**row) for row in self._rows(query)]


_of = schema.submissions.c
_broken = (
    sa.select(_of.team_id, _of.phase_id, sa.func.count().label("broken"))
    .where(_of.status == "broken")
    .group_by(_of.team_id, _of.phase_id)
    .subquery()
)
_SUBMISSIONS = (
    sa.select(
        *(each for each in _of if each.name not in ("team_id", "phase_id")),
        schema.teams.c.name.label("team"),
        schema.phases.c.name.label("phase"),
        sa.func.coalesce(_broken.c.broken, 0).label("broken"),
    )
    .join_from(schema.submissions, schema.teams)
    .join(schema.phases)
    .outerjoin(
        _broken, sa.and_(_broken.c.team_id == _of.team_id, _broken.c.phase_id == _of.phase_id)
    )
)


def _submission(row: sa.RowMapping) -> Submission:
    return Submission(**row)


def _known(connection: sa.Connection, submission_id: str) -> Submission:
    of_id = schema.submissions.c.id == submission_id
    row = connection.execute(_SUBMISSIONS.where(of_id)).mappings().first()
    if row is None:
        known = connection.scalars(sa.select(schema.submissions.c.id))
        raise UnknownName("submission", submission_id, known)
    return _submission(row)


def _update(transaction: Transaction, submission: Submission, values: Mapping[str, Any]) -> None:
    change = sa.update(schema.submissions).where(schema.submissions.c.id == submission.id)
    transaction.connection.execute(change.values(values))


def _also_used(submission: Submission, used: Used | None) -> dict[str, Any]:
    """The columns of what its containers have used, if there is more of it."""
    if used is None:
        return {}
    return {
        "processor_s": (submission.processor_s or 0.0) + used.processor_s,
        "peak_memory_bytes": max(submission.peak_memory_bytes or 0, used.peak_memory_bytes),
    }


def _redraw_waiting(transaction: Transaction, broken: Submission) -> None:
    """Give those of its team and phase that have not begun cells of their own: it saw the others.

    Their own cells follow from their ids, so no agent has seen them.
    """
    to, columns = transaction.connection, schema.submissions.c
    of_id = sa.select(columns.team_id, columns.phase_id).where(columns.id == broken.id)
    team, phase = to.execute(of_id).one()
    change = sa.update(schema.submissions).where(
        columns.team_id == team,
        columns.phase_id == phase,
        columns.started_at.is_(None),
        columns.status == "waiting",
        columns.draw == 0,
    )
    to.execute(change.values(draw=1))


def _kind(image: str | None) -> str:
    return "one that connects" if image is None else image


def _unfinished(
    to: sa.Connection, team: Team, name: str, phase: str | None
) -> sa.RowMapping | None:
    """The team's submission of that name that goes on. Raises EntryRefused if it is not in
    `phase`, where that is named, or is being cancelled.
    """
    columns = schema.submissions.c
    unfinished = (
        columns.team_id == team.id,
        columns.name == name,
        columns.status.in_(UNFINISHED),
    )
    row = to.execute(_SUBMISSIONS.where(*unfinished)).mappings().first()
    if row is not None and row["cancel_asked"]:
        raise EntryRefused(
            f"the submission {name!r} is being cancelled by the organiser; try again in a minute, "
            "or under another name"
        )
    if row is not None and phase not in (None, row["phase"]):
        raise EntryRefused(
            f"the submission {name!r} waits or plays in phase {row['phase']}, not in {phase}: "
            "choose another name, or wait until it has ended"
        )
    return row


def _checked_name(name: str) -> str:
    normalised = name.strip()
    if not normalised or normalised != printable(normalised) or len(normalised.splitlines()) > 1:
        raise BadArgument(got=f"the agent's name {brief(name)}", wanted="letters that can be seen")
    if len(normalised) > MOST_NAME:
        raise BadArgument(
            got=f"an agent's name of {len(normalised)} characters", wanted=f"{MOST_NAME} or fewer"
        )
    return normalised
