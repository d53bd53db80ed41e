from __future__ import annotations

import pytest
import sqlalchemy as sa

from reglue.errors import StoreFailed, UnknownName
from reglue_competition.store import Store
from tests.error_facts import raises


def test_events_are_read_in_order_from_any_of_them_on(store: Store) -> None:
    for number in range(2):
        store.add_team(f"team {number}")
    before = store.events()[-1].id
    for number in range(5):
        store.note("tried", team=f"team {number % 2}", run=number, words="é\0", n=number)
    found = store.events(after=before)
    assert [event.detail["n"] for event in found] == [0, 1, 2, 3, 4]
    assert found[0].detail["words"] == "é\0"
    assert (found[3].team, found[3].run, found[3].submission) == ("team 1", 3, None)
    assert store.events(after=found[1].id, limit=2) == found[2:4]
    assert [event.run for event in store.events(after=before, team="team 1")] == [1, 3]


def test_an_event_is_about_a_team_that_is_known(store: Store) -> None:
    with raises(UnknownName, "team", got="Nobody"):
        store.note("happened", team="Nobody")
    assert store.events() == []


@pytest.mark.parametrize(
    "words",
    [
        "UPDATE event SET kind = 'other'",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event (id, at, kind, detail, operation) "
        "VALUES (1, '2026-01-01', 'x', '{}', '')",
        "TRUNCATE event CASCADE",
        "UPDATE event_text SET texts = '{}'",
        "INSERT OR REPLACE INTO event_text (event_id, texts) VALUES (1, '{}')",
    ],
)
def test_an_event_is_neither_changed_nor_deleted(store: Store, words: str) -> None:
    store.note("happened", texts={"why": "it rained"})
    before = store.events()
    with pytest.raises((StoreFailed, sa.exc.IntegrityError)):
        store._database.write(lambda to: [to.connection.execute(sa.text(words))].clear())
    assert store.events() == before
