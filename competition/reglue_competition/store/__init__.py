"""A competition's database: phases, teams, tokens, submissions, runs, and all that happened."""

from __future__ import annotations

from reglue_competition.store.access import Access
from reglue_competition.store.appeals import Appeals
from reglue_competition.store.forgetting import Forgetting
from reglue_competition.store.migrate import migrate
from reglue_competition.store.news import Announcements
from reglue_competition.store.phases import Phases
from reglue_competition.store.records import (
    FINAL,
    MOST_WAIT,
    REPLAYED,
    SCORED,
    UNFINISHED,
    Appeal,
    Bearer,
    Event,
    News,
    Organiser,
    Phase,
    Ruling,
    Run,
    Standing,
    Status,
    Submission,
    Team,
    Token,
    default_phase,
)
from reglue_competition.store.rulings import Rulings
from reglue_competition.store.submissions import Submissions

__all__ = [
    "FINAL",
    "MOST_WAIT",
    "REPLAYED",
    "SCORED",
    "UNFINISHED",
    "Appeal",
    "Bearer",
    "Event",
    "News",
    "Organiser",
    "Phase",
    "Ruling",
    "Run",
    "Standing",
    "Status",
    "Store",
    "Submission",
    "Team",
    "Token",
    "default_phase",
    "migrate",
]


class Store(Access, Phases, Submissions, Appeals, Rulings, Announcements, Forgetting):
    """A competition's database, by its URL: `sqlite:////FOLDER/FILE` or `postgresql://…`.

    A context manager. Threads and processes may use it at once: what one method changes is
    changed as a whole, and what it changed is on the disk when it returns. Every method raises
    StoreFailed if the database stays away for `patience_s` seconds, or its disk is full.
    """
