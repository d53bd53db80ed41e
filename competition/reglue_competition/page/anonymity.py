"""Phases that name no team to others before they are closed and played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from reglue_competition.page.site import Snapshot
from reglue_competition.store import Submission


def hides_names(snapshot: Snapshot, phase: str) -> bool:
    """Whether a phase names no team now."""
    of = snapshot.definition.phase(phase)
    return of.names == "after_close" and not snapshot.is_over(phase)


def anonymous(snapshot: Snapshot, reader: str) -> Snapshot:
    """The snapshot for anybody but the organiser: the team `reader` finds its own name there.

    Others are numbered in the order of their first submissions of a phase, and what they call their
    submissions is left out.
    """
    hidden = {each.name for each in snapshot.phases if hides_names(snapshot, each.name)}
    if not hidden:
        return snapshot
    numbers = _numbers(snapshot)

    def shown(submission: Submission) -> Submission:
        if submission.phase not in hidden or submission.team == reader:
            return submission
        number = numbers.get((submission.phase, submission.team), "–")  # –: it came just now
        return replace(submission, team=f"Team {number}", name="")

    boards = {}
    for name, board in snapshot.boards.items():
        rows = []
        for row in board.rows:
            submission = shown(row.submission)
            rows.append(replace(row, team=submission.team, submission=submission))
        boards[name] = replace(board, rows=rows)
    submissions = {each.id: shown(each) for each in snapshot.submissions.values()}
    return replace(
        snapshot, submissions=MappingProxyType(submissions), boards=MappingProxyType(boards)
    )


def _numbers(snapshot: Snapshot) -> Mapping[tuple[str, str], int]:
    """The number of each team of a phase."""
    entered = sorted(snapshot.submissions.values(), key=lambda each: (each.queued_at, each.id))
    teams: dict[str, dict[str, int]] = {}
    for each in entered:
        of_phase = teams.setdefault(each.phase, {})
        of_phase.setdefault(each.team, len(of_phase) + 1)
    return {(phase, team): number for phase, of in teams.items() for team, number in of.items()}
