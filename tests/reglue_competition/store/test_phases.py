from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from reglue.errors import UnknownName, UsageError
from reglue_competition.store import Store
from reglue_competition.store.schema import TABLES
from tests.error_facts import raises
from tests.reglue_competition.competitions import (
    AFTER,
    CLOSES,
    OPENS,
    definition,
    phase,
    practice,
    private,
)

LATER = AFTER + timedelta(days=30)


def late() -> dict[str, object]:
    """A private phase after LATER."""
    return private(opens=LATER, closes=LATER + timedelta(days=1))


def test_a_definition_is_kept_as_it_was_read(store: Store) -> None:
    with raises(UsageError, "no competition file"):
        store.definition()
    about = definition(phase(), private(), title="ünï")
    store.apply(about)
    store.apply(about)
    assert store.definition() == about
    assert [each.name for each in store.phases()] == ["public", "private"]
    assert [event.kind for event in store.events()] == ["definition applied"]


def test_a_phase_is_open_from_its_opening_to_its_date(store: Store) -> None:
    store.apply(definition())
    assert store.phases_open_at(OPENS) == []
    store.open_phase("public", "the hash")
    (found,) = store.phases_open_at(OPENS)
    assert (found.name, found.state, found.plan_commitment) == ("public", "open", "the hash")
    assert store.phases_open_at(CLOSES - timedelta(seconds=1)) == [found]
    assert store.phases_open_at(CLOSES) == []


def test_one_phase_is_open_at_a_time(store: Store) -> None:
    store.apply(definition(phase(), private()))
    store.open_phase("public", "hash")
    with raises(UsageError, "private", "public"):
        store.open_phase("private", "hash")
    store.close_phase("public")
    store.open_phase("private", "hash")


def test_a_phase_of_practice_is_open_beside_another_and_no_two_of_either(store: Store) -> None:
    again = practice(name="again", opens=AFTER, closes=AFTER + timedelta(days=1))
    store.apply(definition(practice(), again, phase(opens=AFTER, closes=LATER), late()))
    store.open_phase("public", "hash")
    store.open_phase("practice", "hash")
    assert [each.name for each in store.phases_open_at(OPENS)] == ["practice", "public"]
    for name, other in (("again", "practice"), ("private", "public")):
        with raises(UsageError, f"phase {name} cannot be opened", f"{other} is open"):
            store.open_phase(name, "hash")
        with raises(UsageError, f"{other} is open"):
            store.ask_open(name)
    store.close_phase("practice")
    store.open_phase("again", "hash")
    with raises(UsageError, "again is open"):
        store.reopen_phase("practice")


@pytest.mark.parametrize("name", ["again", "private"])
def test_the_database_itself_refuses_two_of_either(store: Store, name: str) -> None:
    again = practice(name="again", opens=AFTER, closes=AFTER + timedelta(days=1))
    store.apply(definition(practice(), again, phase(opens=AFTER, closes=LATER), late()))
    for each in ("practice", "public"):
        store.open_phase(each, "hash")
    table = TABLES.tables["phase"]
    with (
        pytest.raises(sa.exc.IntegrityError),
        store._database._engine.begin() as connection,
    ):
        connection.execute(sa.update(table).where(table.c.name == name).values(state="open"))


def test_closing_is_undone_while_nobody_knows_what_was_played(store: Store) -> None:
    store.apply(definition(phase(), private()))
    with raises(UsageError, "phase public", "never open"):
        store.reopen_phase("public")
    store.open_phase("public", "hash")
    store.reopen_phase("public")  # nothing to do
    store.close_phase("public")
    before = store.phases()
    store.open_phase("private", "hash")
    with raises(UsageError, "phase public", "private is open"):
        store.reopen_phase("public")
    store.close_phase("private")
    store.add_team("B")
    store.note_shown("private", "B")  # another's is no obstacle
    store.reopen_phase("public")
    (again, _) = store.phases()
    assert (again.state, again.closed_at) == ("open", None)
    assert again.plan_commitment == before[0].plan_commitment
    kinds = [event.kind for event in store.events()]
    assert kinds.count("phase reopened") == 1


@pytest.mark.parametrize("how", ["revealed", "shown"])
def test_a_phase_that_is_known_is_not_opened_again(store: Store, how: str) -> None:
    store.apply(definition(phase(), private()))
    for name in ("A", "B"):
        store.add_team(name)
    store.open_phase("public", "hash")
    with raises(UsageError, "public", "not closed"):
        store.note_shown("public", "B")
    store.close_phase("public")
    store.reopen_phase("public")
    store.close_phase("public")
    if how == "revealed":
        store.reveal_phase("public")
    else:
        store.note_shown("public", "A")
        store.note_shown("public", "B")
    with raises(UsageError, "public", "revealed" if how == "revealed" else "team A has seen"):
        store.reopen_phase("public")
    assert store.phases()[0].state == "closed"


def test_a_phase_whose_date_is_over_is_prolonged_before_it_is_opened_again(store: Store) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    store.apply(definition(phase(opens=past - timedelta(days=1), closes=CLOSES)))
    store.open_phase("public", "hash")
    store.close_phase("public")
    with store._database._engine.begin() as connection:  # as if that date had come
        connection.execute(sa.update(TABLES.tables["phase"]).values(closes_at=past))
    with raises(UsageError, "public", "closes"):
        store.reopen_phase("public")
    store.apply(definition(phase(opens=past - timedelta(days=1), closes=AFTER)))
    store.reopen_phase("public")
    assert store.phases()[0].state == "open"


def test_a_closed_phase_is_not_opened_as_a_new_one(store: Store) -> None:
    store.apply(definition())
    with raises(UsageError, "phase public", "never open"):
        store.close_phase("public")
    store.open_phase("public", "hash")
    store.open_phase("public", "hash")
    store.close_phase("public")
    store.close_phase("public")
    with raises(UsageError, "phase public", "closed", "reopen"):
        store.open_phase("public", "hash")
    kinds = [event.kind for event in store.events()]
    assert kinds == ["definition applied", "phase opened", "phase closed"]


def test_an_organiser_asks_to_open_a_phase_before_its_date(store: Store) -> None:
    store.apply(definition(phase(), private()))
    store.ask_open("private")
    store.ask_open("private")
    assert [each.open_asked for each in store.phases()] == [False, True]
    assert [event.kind for event in store.events()] == ["definition applied", "opening asked"]
    store.open_phase("public", "hash")
    with raises(UsageError, "private", "public"):
        store.ask_open("private")


def test_a_commitment_is_not_changed_while_the_phase_is_open(store: Store) -> None:
    store.apply(definition())
    store.open_phase("public", "hash")
    with raises(UsageError, "phase public", "public is open"):
        store.open_phase("public", "another")


def test_a_phase_whose_date_is_over_is_not_opened(store: Store) -> None:
    past = phase(opens=OPENS - timedelta(days=2), closes=OPENS - timedelta(days=1))
    store.apply(definition(past))
    with raises(UsageError, "public", "2025-12-31 00:00 UTC", "`closes`"):
        store.open_phase("public", "hash")


def test_a_planned_competition_may_change_altogether(store: Store) -> None:
    store.apply(definition(phase("one"), private()))
    store.apply(definition(phase("two"), name="other"))
    assert [each.name for each in store.phases()] == ["two"]


def test_an_open_phase_may_be_prolonged_and_is_else_kept(store: Store) -> None:
    store.apply(definition())
    store.open_phase("public", "hash")
    store.apply(definition(phase(closes=CLOSES + timedelta(days=1))))
    assert store.phases()[0].closes_at == CLOSES + timedelta(days=1)
    with raises(UsageError, "phases.public.closes"):
        store.apply(definition())
    with raises(UsageError, "phases: public", "removed"):
        store.apply(definition(phase("other")))
    assert store.phases()[0].closes_at == CLOSES + timedelta(days=1)


def test_an_unknown_phase_is_named(store: Store) -> None:
    store.apply(definition())
    with raises(UnknownName, "phase", "public", got="publik"):
        store.open_phase("publik", "hash")
