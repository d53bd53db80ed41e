"""The records that the store returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from reglue_competition.definition.models import PhaseKind, PhaseState

Status: TypeAlias = Literal[
    "waiting", "playing", "finished", "failed", "broken", "cancelled", "withdrawn"
]
STATUSES: tuple[Status, ...] = get_args(Status)

UNFINISHED: tuple[Status, ...] = ("waiting", "playing")
FREE: tuple[Status, ...] = ("broken", "withdrawn")
"""Statuses that count against no quota, but have limits of their own."""
REPLAYED: tuple[Status, ...] = ("broken", "failed", "cancelled")
"""Statuses of submissions that the organiser may play again."""

SCORED: tuple[Status, ...] = ("finished", "failed")
"""Statuses of submissions that have a score."""
MOST_WAIT = timedelta(hours=48)
"""The time that a submission waits for its agent once its phase is closed; then it is withdrawn."""
FINAL: tuple[Status, ...] = tuple(status for status in STATUSES if status not in UNFINISHED)


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase as it is now."""

    id: int
    name: str
    kind: PhaseKind
    opens_at: datetime  # all dates are UTC
    closes_at: datetime
    state: PhaseState
    plan_commitment: str | None  # published when it opened
    open_asked: bool = False  # before its date, by the organiser; the server opens it
    closed_at: datetime | None = None
    revealed_at: datetime | None = None  # when what it played was published

    def is_open_at(self, now: datetime) -> bool:
        """Whether it is open, and its closing date has not passed."""
        return self.state == "open" and now < self.closes_at


def default_phase(are_open: Iterable[Phase]) -> Phase | None:
    """The default one of the open phases: one of practice only if no other is open."""
    return min(are_open, key=lambda each: each.kind == "practice", default=None)


@dataclass(frozen=True, slots=True)
class Team:
    """A team."""

    id: int
    name: str
    created_at: datetime
    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class Organiser:
    """The holder of an organiser's token."""

    token_id: str


Bearer: TypeAlias = Team | Organiser


@dataclass(frozen=True, slots=True)
class Token:
    """The public facts about a token."""

    id: str  # says nothing about the token
    team: str | None  # None: the organiser's
    phase: str | None  # it enters no other; None: the one that is open, see `default_phase`
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Submission:
    """One agent that a team entered into a phase."""

    id: str  # hexadecimal digits, so that it can name a folder
    team: str
    phase: str
    name: str
    status: Status
    detail: str
    queued_at: datetime
    waits_since: datetime  # or waited last
    started_at: datetime | None
    ended_at: datetime | None
    cancel_asked: bool
    draw: int  # which goals and cells it plays: 0 those of its phase, else some of its own
    interrupted: int  # times that its process failed since it was queued
    progress: Mapping[str, Any]  # as the queue last reported it
    image: str | None  # its agent's, by digest; None: its agent connects by itself
    processor_s: float | None  # that its containers used, in all; None: not measured
    peak_memory_bytes: int | None  # of one of them, with what was cached of its files
    broken: int  # submissions of its team in its phase that are broken now

    @property
    def folder(self) -> str:
        """The name of the folder of its runs: a play on other cells begins anew."""
        return f"{self.id}-{self.draw}" if self.draw else self.id

    def ended_before(self, date: datetime) -> bool:
        """Whether it had ended by then."""
        return self.ended_at is not None and self.ended_at < date

    def waits_until(self, phase: Phase) -> datetime | None:
        """The time of its withdrawal unless its agent comes; None while its phase is not closed."""
        if self.status != "waiting" or phase.closed_at is None:
            return None
        return max(self.waits_since, phase.closed_at) + MOST_WAIT


Standing: TypeAlias = Literal["ranked", "unranked", "off the board", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision about a submission's score."""

    standing: Standing
    why: str
    by_team: bool  # else the organiser
    at: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """One submission's play of one benchmark."""

    submission: str
    index: int  # of the benchmark in its phase
    benchmark: str
    status: str  # as its result says it
    owner: str = ""  # of the fault that ended it; empty: nobody's
    score: float | None = None
    low: float | None = None  # of its interval
    high: float | None = None
    result: str = ""  # result.json; empty if it was not asked for
    transcript_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the log."""

    id: int  # grows in the order of commits
    at: datetime
    kind: str
    team: str | None
    submission: str | None
    run: int | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class News:
    """An announcement of the organiser to everybody."""

    id: int  # of the event
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Appeal:
    """A team's complaint about its submission, and the answer."""

    id: int  # of the event that filed it
    at: datetime
    team: str
    submission: str
    text: str
    answer: str = ""  # the organiser's
    answered_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.answered_at is None
