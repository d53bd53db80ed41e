"""`reglue competition status` and `runs`: the state of a competition, and its submissions."""

from __future__ import annotations

import json as json_text
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from glue_server.console import say
from reglue.error_message import printable
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import (
    Folder,
    format_date,
    json_value,
    print_json,
    print_table,
    read_folder,
    to_json,
)
from reglue_competition.cli.database_export import chosen_by_teams, chosen_to_json

if TYPE_CHECKING:
    from reglue_competition.store import Phase, Run, Store, Submission

_SHOWN = 200  # submissions in a table for people


def status(folder: Folder, json: AsJson = False) -> None:
    """Show the phases, how many submissions each has by status, and the queue.

    reglue competition status my-comp

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.formatting import plural
        from reglue_competition.store import UNFINISHED

    competition = read_folder(folder)
    with competition.store() as store:
        phases, submissions, rulings = store.phases(), store.submissions(), store.rulings()
        chosen = chosen_by_teams(store, competition.runs_path)
        voids = {each.name: store.voids(each.name) for each in phases}
        now = datetime.now(UTC)
        opened = [each.name for each in store.phases_open_at(now)]
        refused = {each.name: _why_not_open(store, each) for each in phases}
    begins = {each: competition.definition.round_of(each, now) for each in opened}
    counts = {
        phase.name: Counter(each.status for each in submissions if each.phase == phase.name)
        for phase in phases
    }
    broken = {
        phase.name: {e.team: e.broken for e in submissions if e.phase == phase.name and e.broken}
        for phase in phases
    }
    queue = [each for each in submissions if each.status in UNFINISHED]
    by_name = {phase.name: phase for phase in phases}
    until = {each.id: each.waits_until(by_name[each.phase]) for each in queue}
    if json:
        print_json(
            {
                "name": competition.definition.name,
                "public_key": competition.secrets().public_key.hex(),
                "open": opened,
                "phases": [
                    to_json(each)
                    | {"submissions": counts[each.name], "not_opened": refused[each.name]}
                    | {"next_round": json_value(begins.get(each.name))}
                    | {"broken": broken[each.name], "void": _numbered(voids[each.name])}
                    for each in phases
                ],
                "queue": [
                    to_json(each) | {"waits_until": json_value(until[each.id])} for each in queue
                ],
                "rulings": [
                    {"team": each.team, "phase": each.phase, "submission": each.id}
                    | to_json(rulings[each.id])
                    for each in submissions
                    if each.id in rulings
                ],
                "chosen": list(map(chosen_to_json, chosen)),
            }
        )
        return
    print_table(
        competition.definition.title,
        ("phase", "kind", "state", "opens (UTC)", "closes (UTC)", "submissions"),
        (
            (
                *(
                    each.name,
                    each.kind,
                    each.state,
                    format_date(each.opens_at),
                    format_date(each.closes_at),
                ),
                ", ".join(f"{count} {what}" for what, count in counts[each.name].items()),
            )
            for each in phases
        ),
    )
    _print_submissions("queue", queue, [])
    for key, date in until.items():
        if date is not None:
            say(f"{key}: withdrawn if its agent does not come by {format_date(date)} UTC")
    for name, teams in broken.items():
        for team, count in teams.items():
            say(f"{name}: {printable(team)} has {plural(count, 'broken submission')}")
    for each in submissions:
        if (ruling := rulings.get(each.id)) is not None:
            say(f"{each.id}: {ruling.standing}, {printable(each.team)}: {ruling.why}")
    for choice in chosen:
        if choice.by == "team":
            say(f"{choice.submission.id}: {choice.how}, {printable(choice.submission.team)}")
    for name, of in voids.items():
        for number, why in _numbered(of).items():
            say(f"{name}: benchmark {number} is void: {why}")
    for name, reason in refused.items():
        if reason is not None:
            say(f"{name}: not opened: {reason}")
    for name, begin in begins.items():
        if begin is not None:
            say(f"{name}: the next round begins at {begin:%Y-%m-%d %H:%M:%S} UTC")


def runs(
    folder: Folder,
    phase: Annotated[str | None, Option(metavar="NAME", help="only this phase's")] = None,
    team: Annotated[str | None, Option(metavar="NAME", help="only this team's")] = None,
    last: Annotated[
        int | None,
        Option(metavar="N", min=1, help="only the newest N (default: 200; JSON has all)"),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show the submissions in the order in which they were entered, with their runs' scores.

    reglue competition runs my-comp --phase public --team "Team A"

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        every = store.submissions(phase, team)
        played = store.runs(with_results=json)
    submissions = every[-(last or (len(every) if json else _SHOWN)) :]
    if json:
        print_json(
            [
                to_json(each)
                | {"runs": [_as_json(run) for run in played if run.submission == each.id]}
                for each in submissions
            ]
        )
    else:
        shown = {each.id for each in submissions}
        less = f", the newest {len(shown)} of {len(every):,}" if len(shown) < len(every) else ""
        runs_ = [run for run in played if run.submission in shown]
        _print_submissions(f"submissions{less}", submissions, runs_)


def _numbered(voids: Mapping[int, str]) -> dict[int, str]:
    """The reasons by numbers from 1, as people count."""
    return {place + 1: why for place, why in voids.items()}


def _why_not_open(store: Store, phase: Phase) -> str | None:
    """The server's last noted reason why it did not open a planned phase."""
    if phase.state != "planned":
        return None
    refusals = store.events_of("phase not opened", phase=phase.name)
    return str(refusals[-1].detail["why"]) if refusals else None


def _as_json(run: Run) -> dict[str, Any]:
    return to_json(run) | {"result": json_text.loads(run.result) if run.result else None}


def _print_submissions(
    title: str, submissions: Sequence[Submission], played: Sequence[Run]
) -> None:
    """A table, and beneath it what is too long for one: each benchmark's name, each detail."""
    from reglue_bench.formatting import number

    scores: dict[str, list[str]] = {}
    for run in played:
        text = run.status if run.score is None else number(run.score)
        scores.setdefault(run.submission, []).append(text)
    print_table(
        title,
        ("id", "team", "phase", "name", "status", "entered (UTC)", "scores"),
        (
            (
                *(
                    each.id,
                    each.team,
                    each.phase,
                    each.name,
                    _status(each),
                    format_date(each.queued_at),
                ),
                ", ".join(scores.get(each.id, [])),
            )
            for each in submissions
        ),
    )
    if names := dict.fromkeys(run.benchmark for run in played):
        print(f"scores: of {', '.join(map(printable, names))}")
    for each in submissions:
        if each.detail:
            print(f"{each.id}: {printable(each.detail)}")


def _status(submission: Submission) -> str:
    return f"{submission.status} (cancel asked)" if submission.cancel_asked else submission.status
