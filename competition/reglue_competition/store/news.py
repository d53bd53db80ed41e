"""News: what the organiser tells everybody, on the page."""

from __future__ import annotations

import sqlalchemy as sa

from reglue.error_message import printable
from reglue.errors import BadArgument, UnknownName
from reglue_competition.store.database import Transaction
from reglue_competition.store.events import Events, events_in
from reglue_competition.store.records import News

MOST_TEXT = 1000  # characters

_TOLD, _REMOVED = "news", "news removed"
"""Kinds of events, which are all that is kept of news."""


class Announcements(Events):
    """The part of the store by which the organiser speaks to everybody."""

    def tell(self, text: str) -> None:
        """Put a text on the page. Raises BadArgument."""
        text = " ".join(printable(text).split())
        if not 0 < len(text) <= MOST_TEXT:
            raise BadArgument(
                got=f"news of {len(text):,} characters", wanted=f"1 to {MOST_TEXT:,} printable ones"
            )
        self.note(_TOLD, text=text)

    def remove_news(self, number: int) -> None:
        """Take a text off the page; its event stays. Raises UnknownName."""

        def remove(transaction: Transaction) -> None:
            known = [each.id for each in _news(transaction.connection)]
            if number not in known:
                raise UnknownName("news with the number", str(number), map(str, known))
            transaction.note(_REMOVED, news=number)

        self._database.write(remove)

    def news(self) -> list[News]:
        """The announcements on the page, the newest first."""
        return self._database.read(_news)


def _news(connection: sa.Connection) -> list[News]:
    events = events_in(connection, _TOLD, _REMOVED)[::-1]
    removed = {each.detail["news"] for each in events if each.kind == _REMOVED}
    return [
        News(each.id, each.at, each.detail["text"])
        for each in events
        if each.kind == _TOLD and each.id not in removed
    ]
