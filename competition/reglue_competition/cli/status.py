"""`reglue competition status`, `runs` and `export`: the state of a competition, and its results."""

from __future__ import annotations

import csv
import io
import json as json_text
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from typer import Option

from glue_server.console import say
from reglue.errors import StorageFailed, UnknownName, UsageError, printable
from reglue.tools.loading_modules import loading
from reglue.tools.outputs import product
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import Folder, format_date, print_json, print_table, read_folder

if TYPE_CHECKING:
    from reglue_competition.ranking import Chosen
    from reglue_competition.store import Phase, Run, Store, Submission

_PAGE = 1000  # events that are read at once
_FOLLOW_S = 1.0  # between two looks at the log
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
        chosen = _chosen_by_teams(store, competition.runs_path)
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
                    | {"next_round": _value(begins.get(each.name))}
                    | {"broken": broken[each.name], "void": _numbered(voids[each.name])}
                    for each in phases
                ],
                "queue": [
                    to_json(each) | {"waits_until": _value(until[each.id])} for each in queue
                ],
                "rulings": [
                    {"team": each.team, "phase": each.phase, "submission": each.id}
                    | to_json(rulings[each.id])
                    for each in submissions
                    if each.id in rulings
                ],
                "chosen": list(map(_chosen_to_json, chosen)),
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
    for why in filter(None, refused.values()):
        say(why)
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


def export(
    folder: Folder,
    json: Annotated[bool, Option("--json", help="everything, as one JSON document")] = False,
    csv: Annotated[bool, Option("--csv", help="a table: a row for each run")] = False,
    board: Annotated[
        str | None,
        Option(metavar="PHASE", help="with --csv: this phase's leaderboard, a row for each team"),
    ] = None,
    track: Annotated[
        str | None, Option(metavar="TRACK", help="with --board: that of this track of the phase")
    ] = None,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="the file to write (default: stdout)")
    ] = None,
) -> None:
    """Write what the database holds: submissions, runs, teams, tokens' ids, events.

    No token or secret is in it. The table opens in any spreadsheet; its columns are those of
    submissions, then those of runs. A leaderboard's are rank, team, score (or mean_rank), its 95 %
    interval, the submission that counts, what was ruled on it and how it was chosen, then the
    score, interval and transcript's SHA-256 of each benchmark.

    reglue competition export my-comp --csv --out runs.csv

    reglue competition export my-comp --csv --board public --out board.csv

    Exit codes: 0 written; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    from reglue_bench.results.whole_file import whole_file

    if json == csv:
        raise UsageError("wanted --json or --csv")
    if board is not None and not csv:
        raise UsageError(got="--board with --json", wanted="--csv: a leaderboard is a table")
    if track is not None and board is None:
        raise UsageError(got=f"--track {track} alone", wanted="--board PHASE, whose track it is")
    text = io.StringIO()
    competition = read_folder(folder)
    with competition.store() as store:
        if board is not None:
            write_board(store, board, competition.runs_path, text, track)
        elif csv:
            write_csv(store, text)
        else:
            text.write(json_text.dumps(export_all(store, competition.runs_path), indent=1) + "\n")
    if out is None:
        with product():
            print(text.getvalue(), end="")
        return
    try:
        with whole_file(out) as file:
            file.write(text.getvalue().encode())
    except OSError as error:
        raise StorageFailed(f"{out} cannot be written: {error.strerror}") from error
    say(f"{out} is written")


def events(
    folder: Folder,
    after: Annotated[int, Option(metavar="ID", help="only those after this event's id")] = 0,
    follow: Annotated[
        bool, Option("--follow", help="go on with what happens from now on, until Ctrl-C")
    ] = False,
) -> None:
    """Print the log of events, a JSON object a line: who entered, how each ended, every decision.

    A program reads them, and goes on after the last id that it has read: for mail to teams, or a
    chat. Ids grow, and none is missed. No token or secret is in them.

    reglue competition events my-comp --follow | python tell_teams.py

    Exit codes: 0 printed; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store, product():
        while True:
            while page := store.events(after=after, limit=_PAGE):
                for each in page:
                    print(json_text.dumps(to_json(each)), flush=follow)
                after = page[-1].id
            if not follow:
                return
            time.sleep(_FOLLOW_S)


def export_all(store: Store, runs: Path) -> dict[str, Any]:
    """Everything except the tokens' hashes; dates are ISO 8601, in UTC.

    `runs` is the folder of all submissions' runs.
    """
    return {
        "definition": store.definition().model_dump(mode="json"),
        "phases": [to_json(each) for each in store.phases()],
        "teams": [to_json(each) for each in store.teams()],
        "tokens": [to_json(each) for each in store.tokens()],
        "submissions": [to_json(each) for each in store.submissions()],
        "runs": [to_json(each) for each in store.runs()],
        "rulings": {key: to_json(each) for key, each in store.rulings().items()},
        "chosen": list(map(_chosen_to_json, _chosen_by_teams(store, runs))),
        "events": _events(store),
    }


def to_json(record: Any) -> dict[str, Any]:
    """A record as JSON."""
    return {name: _value(value) for name, value in asdict(record).items()}


def write_csv(store: Store, file: TextIO) -> None:
    """A row for each run, and one for each submission without any, with all of the submission."""
    from reglue_competition.store import Run, Submission

    of_submission = [each.name for each in fields(Submission) if each.name != "progress"]
    of_run = [each.name for each in fields(Run) if each.name not in ("submission", "result")]
    writer = csv.writer(file, lineterminator="\n")
    names = [f"run_{name}" if name in of_submission else name for name in of_run]
    writer.writerow([*of_submission, *names])
    runs: dict[str, list[Run]] = {}
    for run in store.runs(with_results=False):
        runs.setdefault(run.submission, []).append(run)
    for submission in store.submissions():
        cells = [_cell(getattr(submission, name)) for name in of_submission]
        for each in runs.get(submission.id, [None]):
            writer.writerow([*cells, *(_cell(getattr(each, name, None)) for name in of_run)])


def write_board(
    store: Store, name: str, runs: Path, file: TextIO, track: str | None = None
) -> None:
    """A phase's leaderboard, or a track's, the best team first.

    `runs` is the folder of all submissions' runs. Raises UnknownName.
    """
    from reglue_competition.ranking import leaderboard

    phases = {each.name: each for each in store.phases()}
    if name not in phases:
        raise UnknownName("phase", name, phases)
    definition = store.definition()
    of_track = None if track is None else definition.phase(name).track(track)
    board = leaderboard(definition, phases[name], store, runs, track=of_track)
    total = board.total.replace(" ", "_")
    of_total = [*("rank", "team", total, "low", "high"), *("submission", "name", "entered")]
    of_total += ["standing", "why", "chosen_by"]
    of_run = ("benchmark", "score", "low", "high", "transcript_sha256")
    places = [place + 1 for place in board.places]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*of_total, *(f"{each}_{place}" for place in places for each in of_run)])
    for row in board.rows:
        of, hashes = row.submission, _hashes(store, row.submission)
        cells: list[object] = [row.rank, row.team, row.score, *(row.interval95 or (None, None))]
        cells += [of.id, of.name, of.queued_at]
        cells += [row.ruling.standing, row.ruling.why] if row.ruling else ["ranked", ""]
        cells += [row.chosen_by]
        for index in board.places:
            run = row.runs[index]
            low, high = run.interval95 or (None, None)
            cells += [board.benchmarks[index].name, run.score, low, high, hashes.get(index)]
        writer.writerow(map(_cell, cells))


def _hashes(store: Store, submission: Submission) -> dict[int, str | None]:
    """The hashes of the transcripts of its runs, by the index of the benchmark."""
    runs = store.runs(submission.id, with_results=False)
    return {run.index: run.transcript_sha256 for run in runs}


def _chosen_by_teams(store: Store, runs: Path) -> list[Chosen]:
    """The submission that counts for each team, phase by phase, where teams choose; else none."""
    from reglue_competition.ranking import chosen

    definition = store.definition()
    if definition.ranking.choose != "team":
        return []
    begun = [each for each in store.phases() if each.state != "planned"]
    return [each for phase in begun for each in chosen(definition, phase, store, runs)]


def _chosen_to_json(chosen: Chosen) -> dict[str, str]:
    submission = chosen.submission
    about = {"team": submission.team, "phase": submission.phase, "submission": submission.id}
    return about | {"by": chosen.by}


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


def _events(store: Store) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while page := store.events(after=events[-1]["id"] if events else 0, limit=_PAGE):
        events += map(to_json, page)
    return events


def _value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _cell(value: Any) -> Any:
    """A cell of a table, quoted if a spreadsheet would read it as a formula."""
    cell = "" if value is None else _value(value)
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell
