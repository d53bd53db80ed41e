"""A process that enters a team's agents until some were let in, and ends each: test_quotas.py."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from reglue.errors import EntryRefused
from reglue_competition.store import Store

ROUNDS = 25


def main(url: str, team: str, name: str) -> None:
    """Begin when a line comes."""
    with Store(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        entered = 0
        while entered < ROUNDS:
            try:
                found = store.enter(store.team(team), f"{name} {entered}", datetime.now(UTC))
            except EntryRefused:
                continue
            entered += 1
            store.set_status(found.id, "cancelled")


if __name__ == "__main__":
    main(*sys.argv[1:])
