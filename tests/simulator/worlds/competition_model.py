"""A small model of a competition's rules: quotas, rounds, cells and ranks, from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_UNFINISHED = ("waiting", "playing")
_UNCOUNTED = ("broken", "withdrawn")
_MOST_BROKEN = 3
_MOST_WITHDRAWN = 20


class Event(NamedTuple):
    """A row of the log."""

    id: int
    kind: str
    team: str | None
    submission: str | None
    detail: str  # JSON
    written_at: str  # UTC, by the clock of the process that wrote it

    @property
    def at(self) -> datetime:
        """The date of it."""
        return datetime.fromisoformat(self.written_at).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Limits:
    """The quotas of a phase."""

    a_day: int
    at_once: int
    in_all: int


@dataclass(frozen=True)
class Dates:
    """The dates of a phase."""

    opens: datetime
    closes: datetime


@dataclass
class Entry:
    """A submission."""

    team: str
    phase: str
    at: datetime
    draw: int
    status: str = "waiting"
    seen: set[str] | None = None  # submissions that had broken when it began to play

    @property
    def day(self) -> date:
        """On which it counts against a quota."""
        return self.at.date()

    def is_beside(self, other: Entry) -> bool:
        """Whether both are of one team and phase."""
        return (self.team, self.phase) == (other.team, other.phase)


@dataclass
class Rules:
    """The teams that may enter, when they play, and on which cells; `entries` are by id."""

    limits: Mapping[str, Limits]  # by phase
    dates: Mapping[str, Dates]  # by phase
    round_every_s: float | None  # None: there are no rounds
    places: int  # for submissions that play at once
    entries: dict[str, Entry] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)  # phases
    closed: set[str] = field(default_factory=set)  # phases

    def may_enter(self, team: str, phase: str, day: date) -> bool:
        """Whether a team may enter one more submission."""
        mine = [each for each in self.entries.values() if each.team == team]
        here = [each for each in mine if each.phase == phase]
        counted = [each for each in here if each.status not in _UNCOUNTED]
        withdrawn = [each for each in mine if each.status == "withdrawn" and each.day == day]
        limits = self.limits[phase]
        return (
            phase in self.open
            and len(withdrawn) < _MOST_WITHDRAWN
            and sum(each.status == "broken" for each in here) < _MOST_BROKEN
            and sum(each.status in _UNFINISHED for each in counted) < limits.at_once
            and sum(each.day == day for each in counted) < limits.a_day
            and len(counted) < limits.in_all
        )

    def may_play(self, key: str, now: datetime) -> bool:
        """Whether a submission may get a place: it waits, and its round has begun."""
        entry, statuses = self.entries[key], [each.status for each in self.entries.values()]
        has_begun = entry.phase in self.closed or now >= self._round_of(entry)
        return entry.status == "waiting" and has_begun and statuses.count("playing") < self.places

    def _round_of(self, entry: Entry) -> datetime:
        """The beginning of the first round after its entry: the last one is at the close."""
        if self.round_every_s is None:
            return entry.at
        dates, every = self.dates[entry.phase], timedelta(seconds=self.round_every_s)
        begins = dates.opens
        while begins <= entry.at:
            begins += every
        return min(begins, dates.closes)

    def enter(self, key: str, team: str, phase: str, at: datetime) -> None:
        """Enter a submission. If another one broke before it, it gets cells of its own."""
        entry = Entry(team, phase, at, 0)
        beside = [each for each in self.entries.values() if each.is_beside(entry)]
        entry.draw = int(any(each.status == "broken" or each.draw for each in beside))
        self.entries[key] = entry

    def change(self, key: str, status: str) -> None:
        """Change a status. If a submission breaks, those that wait get cells of their own."""
        entry = self.entries[key]
        entry.status = status
        beside = {k: each for k, each in self.entries.items() if each.is_beside(entry)}
        if status == "playing" and entry.seen is None:
            entry.seen = {k for k, each in beside.items() if each.status == "broken"}
        if status == "broken":
            for each in beside.values():
                if each.status == "waiting" and each.seen is None:
                    each.draw = max(each.draw, 1)

    def play_again(self, key: str, *, all_of_it: bool) -> None:
        """Queue a submission again; `all_of_it`: with other cells."""
        entry = self.entries[key]
        entry.status = "waiting"
        entry.draw += all_of_it


def ranked(scores: Iterable[tuple[str, float]]) -> list[str]:
    """Teams by their best score, of which the earliest counts; of equals that is first, too.

    `scores` are teams and scores of submissions, in the order in which they were entered.
    """
    best: dict[str, tuple[float, int]] = {}
    for place, (team, score) in enumerate(scores):
        best[team] = min(best.get(team, (0.0, place)), (-score, place))
    return sorted(best, key=best.__getitem__)
