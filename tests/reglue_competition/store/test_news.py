from __future__ import annotations

import pytest

from reglue.errors import BadArgument, UnknownName
from reglue_competition.store import Store
from tests.error_facts import raises


def test_news_are_there_until_they_are_removed_and_stay_events(store: Store) -> None:
    store.tell("  It begins\n today. ")
    store.tell("It closes later.")
    later, first = store.news()
    assert (first.text, later.text) == ("It begins today.", "It closes later.")
    store.remove_news(first.id)
    assert store.news() == [later]
    with raises(UnknownName, "news", str(later.id), got=str(first.id)):
        store.remove_news(first.id)
    kinds = [each.kind for each in store.events()]
    assert kinds.count("news") == 2
    assert kinds.count("news removed") == 1


@pytest.mark.parametrize("text", ["", " \n", "x" * 1001])
def test_news_are_short(store: Store, text: str) -> None:
    with raises(BadArgument, "1,000"):
        store.tell(text)
    assert store.news() == []
