"""What a competition's store holds, for other programs: one JSON document, or a table of runs."""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, TextIO

from reglue_competition.store import Run, Store, Submission

_PAGE = 1000  # events that are read at once


def exported(store: Store) -> dict[str, Any]:
    """All but what tokens are checked with; dates are ISO 8601, in UTC."""
    return {
        "definition": store.definition().model_dump(mode="json"),
        "phases": [plain(each) for each in store.phases()],
        "teams": [plain(each) for each in store.teams()],
        "tokens": [plain(each) for each in store.tokens()],
        "submissions": [plain(each) for each in store.submissions()],
        "runs": [plain(each) for each in store.runs()],
        "events": _events(store),
    }


def plain(record: Any) -> dict[str, Any]:
    """A record as JSON."""
    return {name: _plain(value) for name, value in asdict(record).items()}


def write_csv(store: Store, file: TextIO) -> None:
    """A row for each run, and one for each submission without any, with all of the submission."""
    of_submission = [each.name for each in fields(Submission) if each.name != "progress"]
    of_run = [each.name for each in fields(Run) if each.name not in ("submission", "result")]
    writer = csv.writer(file, lineterminator="\n")
    names = [f"run_{name}" if name in of_submission else name for name in of_run]
    writer.writerow([*of_submission, *names])
    runs: dict[str, list[Run]] = {}
    for run in store.runs(with_results=False):
        runs.setdefault(run.submission, []).append(run)
    for submission in store.submissions():
        told = [_cell(getattr(submission, name)) for name in of_submission]
        for each in runs.get(submission.id, [None]):
            writer.writerow([*told, *(_cell(getattr(each, name, None)) for name in of_run)])


def _events(store: Store) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := store.events(after=found[-1]["id"] if found else 0, limit=_PAGE):
        found += map(plain, page)
    return found


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _cell(value: Any) -> Any:
    """A cell of a table: what begins as a formula would is no formula."""
    found = "" if value is None else _plain(value)
    return f"'{found}" if isinstance(found, str) and found[:1] in ("=", "+", "-", "@") else found
