from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from reglue.errors import BadArgument, UnknownName, UsageError
from reglue_competition.store import Store, Submission, Team
from tests.error_facts import raises
from tests.reglue_competition.competitions import Clock, definition

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    """That tests set."""
    return Clock(NOW)


@pytest.fixture
def store(url: str, clock: Clock) -> Iterator[Store]:
    """One with an open phase."""
    with Store(url, clock=clock) as opened:
        opened.apply(definition())
        opened.open_phase("public", "9f" * 32)
        yield opened


def ended(store: Store, team: Team, name: str = "x") -> Submission:
    found = store.enter(team, name, NOW)
    store.set_status(found.id, "failed", "agent_timeout")
    return found


def test_an_appeal_is_answered_once(store: Store) -> None:
    team = store.add_team("Ada")
    submission = ended(store, team)
    store.file_appeal(team, submission.id, "  It was\r\nyour network.\x1b[31m ")
    (found,) = store.appeals()
    assert (found.team, found.submission, found.at) == ("Ada", submission.id, NOW)
    assert (found.text, found.is_open) == ("It was\nyour network.[31m", True)
    store.answer_appeal(found.id, "It was not.")
    (answered,) = store.appeals(submission=submission.id)
    assert (answered.answer, answered.is_open) == ("It was not.", False)
    with raises(UsageError, f"appeal {found.id}", "answered"):
        store.answer_appeal(found.id, "It was.")
    assert [each.kind for each in store.events(limit=99)][-2:] == [
        "appeal filed",
        "appeal answered",
    ]


def test_an_appeal_is_against_a_submission_of_ones_own_that_has_ended(store: Store) -> None:
    ada, eve = store.add_team("Ada"), store.add_team("Eve")
    theirs, waits = ended(store, eve), store.enter(ada, "waits", NOW)
    for submission, named in ((theirs.id, ["Ada", theirs.id]), (waits.id, ["waiting"])):
        with raises(UsageError, *named):
            store.file_appeal(ada, submission, "unfair")
    with raises(UnknownName, "appeal", got="1"):
        store.answer_appeal(1, "yes")
    assert store.appeals() == []


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b", "x" * 2001])
def test_a_text_that_nobody_can_read_is_refused(store: Store, text: str) -> None:
    team = store.add_team("Ada")
    submission = ended(store, team)
    with raises(BadArgument, "1 to 2,000"):
        store.file_appeal(team, submission.id, text)


def test_a_submission_has_one_open_appeal_and_a_team_five_a_day(store: Store, clock: Clock) -> None:
    team, other = store.add_team("Ada"), store.add_team("Eve")
    submission = ended(store, team)
    for n in range(5):
        store.file_appeal(team, submission.id, f"again {n}")
        with raises(UsageError, "this submission already"):
            store.file_appeal(team, submission.id, "and again")
        store.answer_appeal(store.appeals()[-1].id, "no")
    with raises(UsageError, "5 appeals"):
        store.file_appeal(team, submission.id, "again")
    store.file_appeal(other, ended(store, other).id, "others may")
    clock.now += timedelta(days=1, seconds=1)
    store.file_appeal(team, submission.id, "the next day")
    assert [each.text for each in store.appeals(team="Ada")][-1] == "the next day"
