"""A competition's database: phases, teams, tokens, submissions, runs, and all that happened."""

from __future__ import annotations

from reglue_competition.store.migrate import migrate
from reglue_competition.store.records import (
    FINAL,
    UNFINISHED,
    Appeal,
    Bearer,
    Event,
    Organiser,
    Phase,
    Run,
    Status,
    Submission,
    Team,
    Token,
)
from reglue_competition.store.store import Store

__all__ = [
    "FINAL",
    "UNFINISHED",
    "Appeal",
    "Bearer",
    "Event",
    "Organiser",
    "Phase",
    "Run",
    "Status",
    "Store",
    "Submission",
    "Team",
    "Token",
    "migrate",
]
