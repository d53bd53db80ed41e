from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from reglue.errors import BadArgument, UnknownName, UsageError
from reglue_competition.store import Store
from tests.error_facts import raises
from tests.reglue_competition.competitions import Clock, definition, phase, private

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
TWO = [{"benchmark": "MT10"}, {"benchmark": "ML10"}]


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """One with an open phase of two benchmarks."""
    with Store(url, clock=Clock(NOW)) as opened:
        opened.apply(definition(phase(benchmarks=TWO), private()))
        opened.open_phase("public", "9f" * 32)
        yield opened


def scored(store: Store, team: str) -> str:
    found = store.enter(store.add_team(team), "x", NOW)
    store.set_status(found.id, "finished")
    return found.id


def test_the_newest_ruling_counts_and_all_are_events(store: Store) -> None:
    ada, eve = scored(store, "Ada"), scored(store, "Eve")
    store.rule(ada, "off the board", " It read\nits goals. ")
    store.rule(eve, "unranked", "a baseline")
    found = store.rulings()
    assert {key: (each.standing, each.why, each.by_team) for key, each in found.items()} == {
        ada: ("off the board", "It read its goals.", False),
        eve: ("unranked", "a baseline", False),
    }
    store.rule(ada, "ranked", "")
    assert [*store.rulings()] == [eve]
    events = [each for each in store.events(limit=99) if each.kind == "ruling"]
    assert [(each.team, each.detail["standing"]) for each in events] == [
        ("Ada", "off the board"),
        ("Eve", "unranked"),
        ("Ada", "ranked"),
    ]


def test_a_team_withdraws_its_own_score_and_cannot_undo_it(store: Store) -> None:
    mine, theirs = scored(store, "Ada"), scored(store, "Eve")
    ada = store.team("Ada")
    with raises(UnknownName, theirs):
        store.rule(theirs, "withdrawn", "why not", team=ada)
    store.rule(mine, "withdrawn", "a bug", team=ada)
    assert store.rulings()[mine].by_team
    with raises(UsageError, "withdrawn already"):
        store.rule(mine, "withdrawn", "again", team=ada)
    store.rule(mine, "off the board", "it cheated")
    with raises(UsageError, "off the board already"):
        store.rule(mine, "withdrawn", "no, a bug", team=ada)
    assert [*store.rulings()] == [mine]


@pytest.mark.parametrize("why", ["", " \n", "x" * 501])
def test_a_ruling_has_a_reason(store: Store, why: str) -> None:
    with raises(BadArgument, "500 characters"):
        store.rule(scored(store, "Ada"), "off the board", why)
    assert store.rulings() == {}


def test_only_scores_are_ruled_on(store: Store) -> None:
    waits = store.enter(store.add_team("Ada"), "x", NOW)
    with raises(UsageError, "is waiting"):
        store.rule(waits.id, "unranked", "a baseline")
    with raises(UnknownName, "nothing", waits.id):
        store.rule("nothing", "unranked", "a baseline")


def test_a_benchmark_is_void_and_counts_again(store: Store) -> None:
    store.void("public", 1, "its goal cannot be reached")
    assert store.voids("public") == {1: "its goal cannot be reached"}
    assert store.voids("private") == {}
    with raises(UsageError, "no other benchmark"):
        store.void("public", 0, "nor this one")
    store.void("public", 1, "")
    assert store.voids("public") == {}
    for benchmark in (-1, 2):
        with raises(BadArgument, f"benchmark {benchmark + 1}", "1 to 2"):
            store.void("public", benchmark, "none")
    with raises(UsageError, "never open"):
        store.void("private", 0, "too early")
    with raises(UnknownName, "pubic"):
        store.void("pubic", 0, "a typo")


CHOOSING = definition(phase(benchmarks=TWO), private(), ranking={"choose": "team"})
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def choosing(url: str, clock: Clock) -> Iterator[Store]:
    """One with an open phase, where teams choose."""
    with Store(url, clock=clock) as opened:
        opened.apply(CHOOSING)
        opened.open_phase("public", "9f" * 32)
        yield opened


def test_a_teams_newest_choice_counts_and_all_are_events(choosing: Store, clock: Clock) -> None:
    ada = choosing.add_team("Ada")
    first, second = (choosing.enter(ada, name, NOW).id for name in ("first", "second"))
    for each in (first, second):
        choosing.set_status(each, "finished")
    assert choosing.choices("public") == {}
    choosing.choose(first, ada)
    clock.now += HOUR
    choosing.choose(second, ada)
    assert choosing.choices("public") == {"Ada": second}
    assert choosing.choices("private") == {}
    assert choosing.choices("public", before=clock.now) == {"Ada": first}
    assert choosing.choices("public", before=NOW) == {}
    events = choosing.events_of("submission chosen", phase="public")
    assert [(each.team, each.submission) for each in events] == [("Ada", first), ("Ada", second)]


def test_a_team_chooses_a_ranked_score_of_its_own(choosing: Store) -> None:
    mine, theirs = scored(choosing, "Ada"), scored(choosing, "Eve")
    ada = choosing.team("Ada")
    waits = choosing.enter(ada, "y", NOW).id
    with raises(UnknownName, theirs):
        choosing.choose(theirs, ada)
    with raises(UsageError, "is waiting"):
        choosing.choose(waits, ada)
    choosing.rule(mine, "off the board", "it cheats")
    with raises(UsageError, "off the board"):
        choosing.choose(mine, ada)
    choosing.rule(mine, "ranked", "")
    choosing.rule(mine, "withdrawn", "a bug", team=ada)
    with raises(UsageError, "withdrawn"):
        choosing.choose(mine, ada)
    assert choosing.choices("public") == {}


def test_a_choice_stands_once_the_phase_is_closed(choosing: Store) -> None:
    ada = choosing.add_team("Ada")
    first, second = (choosing.enter(ada, name, NOW).id for name in ("first", "second"))
    for each in (first, second):
        choosing.set_status(each, "finished")
    choosing.choose(first, ada)
    choosing.close_phase("public")
    with raises(UsageError, "public is closed"):
        choosing.choose(second, ada)
    assert choosing.choices("public") == {"Ada": first}
    choosing.reopen_phase("public")
    choosing.choose(second, ada)
    assert choosing.choices("public") == {"Ada": second}


def test_teams_choose_only_where_the_file_says_so(store: Store) -> None:
    mine = scored(store, "Ada")
    with raises(UsageError, "no team chooses"):
        store.choose(mine, store.team("Ada"))
    assert store.choices("public") == {}
