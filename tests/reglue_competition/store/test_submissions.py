from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from reglue.errors import BadArgument, EntryRefused, UnknownName, UsageError
from reglue_competition.store import Run, Status, Store, Submission, Team
from tests.error_facts import raises
from tests.reglue_competition.competitions import (
    AFTER,
    CLOSES,
    definition,
    phase,
    practice,
    private,
)

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def opened(store: Store, **quotas: int | None) -> Team:
    """A team of a competition whose phase is open, with these quotas."""
    store.apply(definition(quotas={"at_once": None} | quotas))
    store.open_phase("public", "hash")
    return store.add_team("Team A")


def test_a_submission_waits_until_it_plays_and_ends(store: Store) -> None:
    team = opened(store)
    entered = store.enter(team, " sarsa ", NOON)
    assert (entered.team, entered.phase, entered.name) == ("Team A", "public", "sarsa")
    assert (entered.status, entered.queued_at, entered.started_at) == ("waiting", NOON, None)
    assert len(entered.id) >= 12
    assert store.set_status(entered.id, "playing")
    started = store.submission(entered.id).started_at
    assert started is not None
    assert store.set_status(entered.id, "finished", "all\0 played")
    ended = store.submission(entered.id)
    assert (ended.status, ended.detail, ended.started_at) == ("finished", "all played", started)
    assert ended.ended_at is not None
    kinds = [event.kind for event in store.events(after=3)]
    assert kinds == ["submission entered", "submission playing", "submission finished"]


def test_a_name_goes_on_until_it_has_ended(store: Store) -> None:
    team = opened(store)
    first = store.enter(team, "sarsa", NOON)
    store.set_status(first.id, "playing")
    store.close_phase("public")
    assert store.enter(team, "sarsa", NOON).id == first.id
    store.set_status(first.id, "finished")
    with raises(EntryRefused, "competition is over"):
        store.enter(team, "sarsa", NOON)


def test_nobody_enters_before_a_phase_is_open_or_after_it(store: Store) -> None:
    store.apply(definition(phase(), private()))
    team = store.add_team("A")
    with raises(EntryRefused, "public", "2026-01-01 00:00 UTC"):
        store.enter(team, "sarsa", NOON)
    store.open_phase("public", "hash")
    with raises(EntryRefused, "private", "2100-01-01 00:00 UTC"):
        store.enter(team, "sarsa", CLOSES)


def two_opened(store: Store, **changes: Any) -> Team:
    """A team of a competition in which a public phase and one of practice are open."""
    store.apply(definition(practice(**changes), phase(**changes), private()))
    store.open_phase("practice", "hash")
    store.open_phase("public", "hash")
    return store.add_team("Team A")


def test_practice_is_entered_by_its_name_or_where_no_other_phase_is_open(store: Store) -> None:
    team = two_opened(store)
    assert store.enter(team, "a", NOON).phase == "public"
    assert store.enter(team, "b", NOON, phase="practice").phase == "practice"
    assert store.enter(team, "c", NOON, phase="public").phase == "public"
    store.close_phase("public")
    assert store.enter(team, "d", NOON).phase == "practice"


@pytest.mark.parametrize(
    ("name", "now", "words"),
    [
        ("private", NOON, ("phase private is not open yet", "2100-01-01 00:00 UTC")),
        ("practice", AFTER, ("phase practice is closed",)),
        ("practise", NOON, ("phase 'practise'", "practice")),
    ],
)
def test_a_phase_that_is_not_open_is_named(
    store: Store, name: str, now: datetime, words: Sequence[str]
) -> None:
    team = two_opened(store, agents="both")
    for image in (None, IMAGE):
        with raises(EntryRefused, *words):
            store.enter(team, "a", now, phase=name, image=image)
    with raises(EntryRefused, *words):
        store.check_image(team, "a", now, phase=name)
    assert store.submissions() == []


def test_a_closed_phase_is_not_entered_by_its_name(store: Store) -> None:
    team = two_opened(store)
    store.close_phase("practice")
    with raises(EntryRefused, "phase practice is closed"):
        store.enter(team, "a", NOON, phase="practice")


def test_a_name_goes_on_in_its_own_phase_alone(store: Store) -> None:
    team = two_opened(store, agents="both")
    first = store.enter(team, "a", NOON, phase="practice", image=IMAGE)
    assert store.enter(team, "a", NOON, phase="practice", image=IMAGE).id == first.id
    assert store.enter(team, "a", NOON, image=IMAGE).id == first.id
    with raises(EntryRefused, "'a' waits or plays in phase practice, not in public"):
        store.enter(team, "a", NOON, phase="public", image=IMAGE)
    with raises(EntryRefused, "'a' waits or plays in phase practice, not in public"):
        store.check_image(team, "a", NOON, phase="public")
    store.set_status(first.id, "cancelled")
    assert store.enter(team, "a", NOON, phase="public").phase == "public"


def test_quotas_of_practice_are_its_own(store: Store) -> None:
    team = two_opened(store, quotas={"at_once": 1})
    store.enter(team, "a", NOON, phase="practice")
    assert store.quotas_left(team, NOON) == {
        "practice": {"at once": (0, 1)},
        "public": {"at once": (1, 1)},
    }
    with raises(EntryRefused, "phase practice allows a team 1 submissions"):
        store.enter(team, "b", NOON, phase="practice")
    store.enter(team, "b", NOON)


def ended(store: Store, team: Team, name: str, now: datetime, status: Status) -> Submission:
    entered = store.enter(team, name, now)
    store.set_status(entered.id, status)
    return entered


def test_a_quota_of_a_day_begins_anew_at_midnight_utc(store: Store) -> None:
    team = opened(store, a_day=2)
    ended(store, team, "a", NOON, "finished")
    ended(store, team, "b", NOON, "cancelled")
    with raises(EntryRefused, "phase public", "2 submissions", "UTC"):
        store.enter(team, "c", NOON + timedelta(hours=11))
    store.enter(team, "c", NOON + timedelta(hours=12))


def left(store: Store, team: Team, now: datetime) -> list[tuple[int, int]]:
    """By each quota of the public phase."""
    return [*store.quotas_left(team, now)["public"].values()]


def test_a_team_knows_what_it_may_still_enter(store: Store) -> None:
    team = opened(store, a_day=3, at_once=1, in_all=4)
    assert store.quotas_left(team, NOON) == {
        "public": {"at once": (1, 1), "today (UTC)": (3, 3), "in this phase": (4, 4)}
    }
    ended(store, team, "a", NOON, "finished")
    ended(store, team, "b", NOON, "broken")
    store.enter(team, "c", NOON)
    assert left(store, team, NOON) == [(0, 1), (1, 3), (2, 4)]
    assert left(store, team, NOON + timedelta(days=1)) == [(0, 1), (3, 3), (2, 4)]
    store.close_phase("public")
    with raises(EntryRefused, "competition is over"):
        store.quotas_left(team, NOON)


def test_one_team_may_enter_more_where_the_organiser_allows_it(store: Store) -> None:
    team, other = opened(store, a_day=2, at_once=1, in_all=2), store.add_team("B")
    for of in (team, other):
        for name in "ab":
            ended(store, of, name, NOON, "finished")
    store.allow(team.name, "public", 9, "a mistake")
    store.allow(team.name, "public", 1, "our disk was full")  # the newest counts
    assert left(store, team, NOON) == [(1, 1), (1, 3), (1, 3)]
    assert left(store, other, NOON) == [(1, 1), (0, 2), (0, 2)]
    store.enter(team, "c", NOON)
    with raises(EntryRefused, "that wait or play"):
        store.enter(team, "d", NOON)
    with raises(EntryRefused, "2 submissions"):
        store.enter(other, "c", NOON)
    store.allow(team.name, "public", 0, "undone")
    assert left(store, team, NOON) == [(0, 1), (0, 2), (0, 2)]


@pytest.mark.parametrize(
    ("team", "phase", "more", "why"),
    [
        ("Nobody", "public", 1, "why"),
        ("Team A", "none", 1, "why"),
        ("Team A", "public", -1, "why"),
        ("Team A", "public", 1, " \0"),
    ],
    ids=["team", "phase", "fewer", "no reason"],
)
def test_what_is_allowed_wrongly_changes_nothing(
    store: Store, team: str, phase: str, more: int, why: str
) -> None:
    opened(store)
    before = store.events(limit=100)
    with pytest.raises(UsageError):
        store.allow(team, phase, more, why)
    assert store.events(limit=100) == before


def test_a_clock_that_was_set_back_leaves_a_day_its_quota(store: Store) -> None:
    team = opened(store, a_day=1)
    ended(store, team, "tomorrow's", NOON + timedelta(days=1), "finished")
    ended(store, team, "today's", NOON, "finished")
    for now in (NOON, NOON + timedelta(days=1)):
        with raises(EntryRefused, "1 submissions"):
            store.enter(team, "another", now)


def test_a_quota_at_once_is_free_again_when_one_has_ended(store: Store) -> None:
    team = opened(store, at_once=1)
    first = store.enter(team, "a", NOON)
    with raises(EntryRefused, "phase public", "1 submissions", "'a'"):
        store.enter(team, "b", NOON)
    store.set_status(first.id, "finished")
    store.enter(team, "b", NOON)


@pytest.mark.parametrize("status", ["withdrawn", "broken"])
def test_what_was_withdrawn_or_broke_counts_for_no_quota(store: Store, status: Status) -> None:
    team = opened(store, a_day=1, at_once=1, in_all=1)
    ended(store, team, "a", NOON, status)
    ended(store, team, "a", NOON, "failed")
    with pytest.raises(EntryRefused):
        store.enter(team, "a", NOON)


def test_what_was_withdrawn_has_a_limit_of_its_own(store: Store) -> None:
    """Each leaves a row and two events, which stay."""
    team, other = opened(store, in_all=1), store.add_team("B")
    for _ in range(20):
        ended(store, team, "a", NOON, "withdrawn")
    events = len(store.events(limit=1000))
    with raises(EntryRefused, team.name, 20, "UTC"):
        store.enter(team, "a", NOON)
    assert len(store.events(limit=1000)) == events
    store.enter(other, "a", NOON)
    store.enter(team, "a", NOON + timedelta(hours=12))


def test_a_play_on_cells_of_its_own_has_another_folder(store: Store) -> None:
    entered = store.enter(opened(store), "sarsa", NOON)
    assert entered.folder == entered.id
    assert replace(entered, draw=2).folder == f"{entered.id}-2"


def test_a_private_phase_is_played_once(store: Store) -> None:
    store.apply(definition(phase(kind="private")))
    store.open_phase("public", "hash")
    team, other = store.add_team("A"), store.add_team("B")
    ended(store, team, "a", NOON, "finished")
    with raises(EntryRefused, "1 submissions in this phase", "A has 1"):
        store.enter(team, "b", NOON)
    store.enter(other, "a", NOON)


def at_once(url: str, works: Sequence[Callable[[Store], object]]) -> list[object]:
    """The results or errors of all, which begin at the same time over stores of their own."""
    ready = Barrier(len(works))
    with ExitStack() as stack:
        stores = [stack.enter_context(Store(url)) for _ in works]

        def done(store: Store, work: Callable[[Store], object]) -> object:
            ready.wait(30)
            try:
                return work(store)
            except EntryRefused as error:
                return error

        with ThreadPoolExecutor(len(works)) as pool:
            return list(pool.map(done, stores, works))


def test_a_quota_holds_where_many_enter_at_once(store: Store, url: str) -> None:
    team = opened(store, in_all=3)
    works = [lambda of, n=n: of.enter(team, f"agent {n}", NOON) for n in range(8)]
    found = at_once(url, works)
    assert [isinstance(each, Submission) for each in found].count(True) == 3
    assert len(store.submissions()) == 3


def test_one_name_is_entered_once_by_two_at_once(store: Store, url: str) -> None:
    team = opened(store)
    found = at_once(url, [lambda of: of.enter(team, "sarsa", NOON)] * 4)
    assert len({each.id for each in found if isinstance(each, Submission)}) == 1
    assert len(store.submissions()) == 1


def test_of_two_that_change_a_status_one_wins(store: Store, url: str) -> None:
    entered = store.enter(opened(store), "sarsa", NOON)
    change: Callable[[Store], object]
    change = lambda of: of.set_status(entered.id, "playing", from_statuses=["waiting"])  # noqa: E731
    assert at_once(url, [change] * 4).count(True) == 1


def test_a_final_status_stays(store: Store) -> None:
    entered = store.enter(opened(store), "sarsa", NOON)
    assert store.set_status(entered.id, "cancelled")
    assert not store.set_status(entered.id, "playing")
    assert store.submission(entered.id).status == "cancelled"


def test_submissions_are_found_by_phase_team_and_status(store: Store) -> None:
    team = opened(store)
    other = store.add_team("B")
    first, second = store.enter(team, "x", NOON), store.enter(other, "x", NOON + timedelta(hours=1))
    store.set_status(first.id, "playing")
    assert [each.id for each in store.submissions()] == [first.id, second.id]
    assert [each.id for each in store.submissions(team="B")] == [second.id]
    assert [each.id for each in store.submissions("public", statuses=["playing"])] == [first.id]
    assert store.submissions("other") == []


def test_an_organiser_asks_to_cancel(store: Store) -> None:
    team = opened(store)
    entered = store.enter(team, "sarsa", NOON)
    store.ask_cancel(entered.id)
    store.ask_cancel(entered.id)
    assert store.submission(entered.id).cancel_asked
    with raises(EntryRefused, "'sarsa'", "cancelled"):
        store.enter(team, "sarsa", NOON)
    store.set_status(entered.id, "cancelled")
    with raises(UsageError, entered.id, "cancelled"):
        store.ask_cancel(entered.id)
    assert [event.kind for event in store.events()].count("cancel asked") == 1


def test_a_team_that_retires_has_its_submissions_cancelled(store: Store) -> None:
    team = opened(store)
    done, waiting = ended(store, team, "a", NOON, "finished"), store.enter(team, "b", NOON)
    store.retire_team(team.name)
    assert store.submission(waiting.id).cancel_asked
    assert not store.submission(done.id).cancel_asked


def test_an_organiser_has_what_broke_played_again(store: Store) -> None:
    team = opened(store)
    broken = ended(store, team, "a", NOON, "broken")
    store.ask_replay(broken.id)
    again = store.submission(broken.id)
    assert (again.status, again.ended_at, again.cancel_asked) == ("waiting", None, False)
    with raises(UsageError, broken.id, "waiting", "broken", "failed"):
        store.ask_replay(broken.id)
    store.set_status(broken.id, "finished")
    with raises(UsageError, broken.id, "finished", "broken", "failed"):
        store.ask_replay(broken.id)


def test_a_replay_waits_for_the_same_name(store: Store) -> None:
    team = opened(store)
    broken = ended(store, team, "a", NOON, "broken")
    store.enter(team, "a", NOON)
    with raises(UsageError, broken.id, "'a'"):
        store.ask_replay(broken.id)


def test_a_replay_gives_no_team_more_than_it_may_enter(store: Store) -> None:
    """A broken submission is free: its team may have entered another instead."""
    team = opened(store, in_all=1)
    broken = ended(store, team, "a", NOON, "broken")
    ended(store, team, "b", NOON, "finished")
    with raises(UsageError, broken.id, team.name, 1, "public"):
        store.ask_replay(broken.id)
    failed = ended(store, store.add_team("Team B"), "a", NOON, "failed")
    store.ask_replay(failed.id)


def test_progress_is_kept_without_an_event(store: Store) -> None:
    entered = store.enter(opened(store), "sarsa", NOON)
    before = store.events()
    store.set_progress(entered.id, {"benchmark": 1, "units": [3, 10]})
    assert store.submission(entered.id).progress == {"benchmark": 1, "units": [3, 10]}
    assert store.events() == before


def test_a_run_is_recorded_once_however_often_it_is_told(store: Store) -> None:
    entered = store.enter(opened(store), "sarsa", NOON)
    first = Run(entered.id, 0, "MT1:reach-v3", "partial", "agent")
    run = Run(entered.id, 0, "MT1:reach-v3", "complete", "", 0.5, 0.4, 0.6, '{"score": NaN}', "ab")
    other = Run(entered.id, 1, "MT10", "complete", "", 1.0)
    for each in (first, run, other, run):
        store.record_run(each)
    assert store.runs(entered.id) == [run, other] == store.runs(phase="public")
    assert store.runs(phase="other") == []
    assert [each.result for each in store.runs(with_results=False)] == ["", ""]


def test_what_is_unknown_is_named(store: Store) -> None:
    for ask in (store.submission, store.ask_cancel, store.ask_replay):
        with raises(UnknownName, "submission", got="x"):
            ask("x")
    with raises(UnknownName, "submission", got="x"):
        store.set_status("x", "playing")
    with raises(UnknownName, "submission", got="x"):
        store.record_run(Run("x", 0, "MT10", "complete"))


def test_a_name_that_cannot_be_shown_is_refused(store: Store) -> None:
    team = opened(store)
    for name in ["", " ", "a\nb", "a\u202eb", "x" * 101]:
        with raises(BadArgument, "agent's name", "101 characters" if name > "x" else repr(name)):
            store.enter(team, name, NOON)


IMAGE, OTHER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


@pytest.mark.parametrize(
    ("agents", "image", "words"),
    [
        ("remote", IMAGE, "plays agents that connect by themselves"),
        ("submitted", None, "plays agents from images that teams hand in"),
    ],
)
def test_a_phase_plays_the_agents_that_it_says(
    store: Store, agents: str, image: str | None, words: str
) -> None:
    store.apply(definition(phase(agents=agents)))
    store.open_phase("public", "hash")
    team = store.add_team("Team A")
    with raises(EntryRefused, "phase public", words):
        store.enter(team, "mine", NOON, image=image)
    assert store.submissions() == []


def test_an_image_is_entered_under_a_name_of_its_own(store: Store) -> None:
    store.apply(definition(phase(agents="both"), quotas={"at_once": None}))
    store.open_phase("public", "hash")
    team = store.add_team("Team A")
    entered = store.enter(team, "mine", NOON, image=IMAGE)
    assert entered.image == IMAGE
    assert store.enter(team, "mine", NOON, image=IMAGE).id == entered.id
    for other, words in ((None, "one that connects"), (OTHER, OTHER)):
        with raises(EntryRefused, f"its agent is {IMAGE}, not {words}"):
            store.enter(team, "mine", NOON, image=other)
    assert store.enter(team, "another", NOON).image is None
    (event, _) = [each for each in store.events() if each.kind == "submission entered"]
    assert event.detail["image"] == IMAGE
