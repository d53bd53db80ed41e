"""Images of one phase go on into another, without their teams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reglue.errors import EntryRefused
from reglue_competition.definition import Definition
from reglue_competition.ranking import chosen
from reglue_competition.store import SCORED, Phase, Store, Submission
from reglue_competition.store.submissions import MOST_NAME


@dataclass(frozen=True, slots=True)
class Advanced:
    """The result of advancing a submission to the next phase."""

    before: Submission
    how: str  # it was chosen, in words; empty: all go on
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
    *,
    every: bool = False,
) -> Iterator[Advanced]:
    """Enter the image that counts for each team in the phase `before` into `to`, which is open.

    With `every`, enter all that have a score, whatever the quotas of `to` are. What is there
    already is not entered again. Raises StoreFailed.
    """
    there = {(each.team, each.image) for each in store.submissions(to.name)}
    if every:
        going = [(each, "") for each in store.submissions(before.name, statuses=SCORED)]
    else:
        counted = chosen(definition, before, store, runs_folder)
        going = [(each.submission, each.how) for each in counted]
    for each, how in going:
        team = store.team(each.team)
        if each.image is None:
            yield Advanced(each, how, why_not="its agent connects by itself")
        elif team.retired_at is not None:
            yield Advanced(each, how, why_not="the team is retired")
        elif (each.team, each.image) in there:
            yield Advanced(each, how, why_not=f"it is in phase {to.name} already")
        else:
            try:
                name = f"{each.id} {each.name}"[:MOST_NAME] if every else each.name
                entered = store.enter(
                    team, name, now, phase=to.name, image=each.image, has_quotas=not every
                )
            except EntryRefused as refused:
                yield Advanced(each, how, why_not=str(refused), is_refused=True)
            else:
                there.add((each.team, each.image))
                yield Advanced(each, how, entered)
