"""Images that count in one phase go on into another, without their teams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reglue.errors import EntryRefused
from reglue_competition.definition import Definition
from reglue_competition.ranking import Chosen, chosen
from reglue_competition.store import Phase, Store, Submission


@dataclass(frozen=True, slots=True)
class Advanced:
    """What became of the submission that counts for a team."""

    before: Chosen
    entered: Submission | None = None
    why_not: str = ""  # if it was not entered
    is_refused: bool = False  # by the phase's rules, so that somebody should look


def advance(
    definition: Definition,
    store: Store,
    runs_folder: Path,
    before: Phase,
    to: Phase,
    now: datetime,
) -> Iterator[Advanced]:
    """Enter the image that counts for each team in the phase `before` into `to`, which is open.

    What is there already is not entered again. Raises StoreFailed.
    """
    there = {(each.team, each.image) for each in store.submissions(to.name)}
    for each in chosen(definition, before, store, runs_folder):
        submission = each.submission
        team = store.team(submission.team)
        if submission.image is None:
            yield Advanced(each, why_not="its agent connects by itself")
        elif team.retired_at is not None:
            yield Advanced(each, why_not="the team is retired")
        elif (submission.team, submission.image) in there:
            yield Advanced(each, why_not=f"it is in phase {to.name} already")
        else:
            try:
                entered = store.enter(team, submission.name, now, image=submission.image)
            except EntryRefused as refused:
                yield Advanced(each, why_not=str(refused), is_refused=True)
            else:
                yield Advanced(each, entered)
