"""`reglue competition export` and `events`: what the database of a competition holds."""

from __future__ import annotations

import csv
import io
import json as json_text
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from typer import Option

from glue_server.console import say
from reglue.errors import StorageFailed, UnknownName, UsageError
from reglue.tools.outputs import product
from reglue_competition.cli.common import Folder, json_value, read_folder, to_json

if TYPE_CHECKING:
    from reglue_competition.ranking import Chosen
    from reglue_competition.store import Store, Submission

_PAGE = 1000  # events that are read at once
_FOLLOW_S = 1.0  # between two looks at the log


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
        "chosen": list(map(chosen_to_json, chosen_by_teams(store, runs))),
        "events": _events(store),
    }


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


def chosen_by_teams(store: Store, runs: Path) -> list[Chosen]:
    """The submission that counts for each team, phase by phase, where teams choose; else none."""
    from reglue_competition.ranking import chosen

    definition = store.definition()
    if definition.ranking.choose != "team":
        return []
    begun = [each for each in store.phases() if each.state != "planned"]
    return [each for phase in begun for each in chosen(definition, phase, store, runs)]


def chosen_to_json(chosen: Chosen) -> dict[str, str]:
    """Whose choice counts, of which submission, and who made it."""
    submission = chosen.submission
    about = {"team": submission.team, "phase": submission.phase, "submission": submission.id}
    return about | {"by": chosen.by}


def _events(store: Store) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while page := store.events(after=events[-1]["id"] if events else 0, limit=_PAGE):
        events += map(to_json, page)
    return events


def _cell(value: Any) -> Any:
    """A cell of a table, quoted if a spreadsheet would read it as a formula."""
    cell = "" if value is None else json_value(value)
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell
