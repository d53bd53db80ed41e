"""`reglue competition open`, `close`, `cancel` and `replay`: what an organiser decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from glue_server.console import say
from reglue.errors import RunBusy, UsageError
from reglue_competition.admitted import waive_admission
from reglue_competition.cli.common import Folder
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.phases import commitment, reveal_file
from reglue_competition.phases import reveal as reveal_to

_Phase = Annotated[str, Argument(metavar="PHASE", help="the phase's name")]
_Submission = Annotated[
    str, Argument(metavar="SUBMISSION", help="its id, as `reglue competition runs` shows it")
]


def open_(
    folder: Folder,
    phase: _Phase,
    not_admitted: Annotated[
        bool,
        Option(
            "--not-admitted",
            help="open it although `admit` has not passed; the audit log says so",
        ),
    ] = False,
) -> None:
    """Open a phase now, also before its date: teams may enter.

    What the phase plays is drawn, and the hash of it is published, as at the phase's date. A server
    that runs does it, by the competition file that it has read; without one the file is put in
    force here. It is refused where what it plays needs `reglue competition admit`, and has not
    passed.

    reglue competition open my-comp public

    Exit codes: 0 open, or asked for; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    found = CompetitionFolder.read(folder)
    with found.store() as store:
        if not_admitted and found.drawn(phase):
            waive_admission(store, phase)
        try:
            with found.only_server():
                found.open_phase(store, phase)
        except RunBusy:
            found.check_admitted(store, phase)
            store.ask_open(phase)
            say(f"the server opens {phase} within some seconds")
        else:
            say(f"{phase} is open")


def close(folder: Folder, phase: _Phase) -> None:
    """Close a phase now, for good: nobody enters any more.

    What was entered is played to its end.

    reglue competition close my-comp public

    Exit codes: 0 closed; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with CompetitionFolder.read(folder).store() as store:
        store.close_phase(phase)
    say(f"{phase} is closed")


def reveal(
    folder: Folder,
    phase: _Phase,
    file: Annotated[
        Path | None,
        Argument(
            metavar="[FILE]",
            help="the file to write (default: FOLDER/reveals/PHASE.json, which the page publishes)",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Publish what a closed phase played, with its goals.

    The page links the file, and shows every episode of the phase. `reglue verify --plan FILE
    --commitment HEX` checks that it is what was committed to when the phase opened. It is refused
    while the phase is open, or something that was entered still waits or plays. Nothing is played
    again afterwards: `reglue competition replay` refuses it.

    reglue competition reveal my-comp public

    Exit codes: 0 written; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    found = CompetitionFolder.read(folder)
    drawn, salt = found.drawn(phase), found.secrets().salt(phase)
    with found.store() as store:
        (about,) = (each for each in store.phases() if each.name == phase)
        if about.plan_commitment not in (None, commitment(drawn, salt)):
            raise UsageError(
                f"the plan of phase {phase} is not the one that was committed to: restore the "
                "files of its environments, the secrets and the installed versions as they were"
            )
        store.reveal_phase(phase)
    out = file or reveal_file(found.path, phase)
    reveal_to(out, drawn, salt, competition=found.definition.name, phase=phase)
    whose = "publish it with" if file else "the page publishes it; it opens"
    say(f"{out} is written; {whose} the commitment {about.plan_commitment}")


def cancel(folder: Folder, submission: _Submission) -> None:
    """Ask the server to cancel a submission that waits or plays. It is never scored.

    It counts against its team's quotas. `reglue competition replay` takes it back.

    reglue competition cancel my-comp 0123456789abcdef

    Exit codes: 0 asked; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with CompetitionFolder.read(folder).store() as store:
        store.ask_cancel(submission)
    say(f"{submission} is cancelled as soon as the server sees it")


def replay(folder: Folder, submission: _Submission) -> None:
    """Put a submission that broke, failed or was cancelled in the queue again.

    It goes on where its ledgers end, once its team's agent is connected. One whose environment
    failed plays everything again, on goals and episodes that it alone plays. One that is finished
    is refused, as its score stands; so is one whose phase was revealed, and one whose team has
    entered another instead and may have no more.

    reglue competition replay my-comp 0123456789abcdef

    Exit codes: 0 it waits; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with CompetitionFolder.read(folder).store() as store:
        store.ask_replay(submission)
    say(f"{submission} waits until its team's agent is connected")
