"""`reglue competition submit`, `advance`, `repeat`, `images`: agents that the organiser runs."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from typer import Argument, Exit, Option, confirm

from glue_server.commands.command import FAULTS
from glue_server.console import console, say
from reglue.errors import EntryRefused, UnknownName, UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import Folder, print_json, print_table, read_folder, to_json

_SHOWN = 24  # characters of a digest in a table


def submit(
    folder: Folder,
    team: Annotated[str, Argument(metavar="TEAM", help="the team's name")],
    agent: Annotated[
        str,
        Argument(
            metavar="ARCHIVE|FILE.py:CLASS",
            help="the file of `docker save IMAGE`, an OCI archive, or an agent in Python with the "
            "files beside it",
        ),
    ],
    name: Annotated[str, Option(metavar="NAME", help="the submission's name")],
    phase: Annotated[
        str | None,
        Option(
            metavar="PHASE",
            help="the phase to enter (default: the one that is open, of two the one that is not "
            "practice)",
        ),
    ] = None,
) -> None:
    """Enter an agent that came by other ways than `reglue submit`; the server plays it.

    The phase says agents = "submitted" or "both". The archive is read as data, within the limits of
    the table [images]. Of an image for this machine, only configuration and layers are kept, in
    FOLDER/images: its tags reach no engine. The server needs Docker or Podman with cgroups, and the
    image a client of Reglue, which finds REGLUE_ADDRESS.

    If images.python names an image of yours, it plays FILE.py:CLASS with all files in the folder
    of FILE.py, and archives of such a folder, with reglue.txt at its top, whose one line names the
    agent: agent.py:MyAgent.

    reglue competition submit my-comp "Team A" team-a.tar --name second-try

    Exit codes: 0 entered; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue.net.project_archive import archive_of
        from reglue_competition.images import GIB, keep_archive

    competition = read_folder(folder)
    with competition.store() as store:
        of, limits = store.team(team), store.definition().images
        if of.retired_at is not None:
            raise UsageError(f"team {team} is retired")
        output = console()
        bar = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True))
        hidden = not output.is_terminal
        with ExitStack() as held:
            with output.status("waiting until no other archive is checked"):
                held.enter_context(competition.images_lock())
            progress = held.enter_context(
                Progress(*bar, console=output, transient=True, disable=hidden)
            )
            archive = held.enter_context(archive_of(agent)).archive
            task = progress.add_task(archive.name, total=None)
            digest = keep_archive(
                archive,
                competition.images_path,
                most_bytes=int(limits.image_gib * GIB),
                most_in_all=int(limits.images_gib * GIB),
                takes_projects=limits.python is not None,
                watcher=lambda done: progress.update(task, completed=done),
            )
            try:
                entered = competition.enter_image(store, of, name, digest, phase=phase)
            except EntryRefused as refused:
                raise UsageError(str(refused)) from refused
    say(f"submission {entered.id} of {team}, {entered.name!r}, waits in phase {entered.phase}")
    say(f"its agent is {digest}")


def advance(
    folder: Folder,
    phase: Annotated[str, Argument(metavar="PHASE", help="the phase whose submissions go on")],
    every: Annotated[
        bool,
        Option("--all", help="enter every image that has a score there, whatever the quotas say"),
    ] = False,
) -> None:
    """Enter the images that were chosen in a phase into the phase that is open now, and of two
    into the one that is not practice.

    Of each team on PHASE's leaderboard it is the submission that counts there. Teams need not be
    connected, or do anything. A second time it enters what is missing. A phase that says
    images_from = "PHASE" has it done by the server.

    With --all, every image that has a score in PHASE plays again: on new goals and cells, as each
    phase draws its own.

    reglue competition advance my-comp public

    reglue competition advance my-comp public --all

    Exit codes: 0 all are entered; 1 some were refused, or the database is away; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.runs.images.advancement import advance as advanced
        from reglue_competition.store import default_phase

    competition = read_folder(folder)
    with competition.store() as store:
        now = datetime.now(UTC)
        phases = {each.name: each for each in store.phases()}
        if phase not in phases:
            raise UnknownName("phase", phase, phases)
        to = default_phase(store.phases_open_at(now))
        if to is None or to.name == phase:
            raise UsageError(
                got=f"phase {phase}, and {'none' if to is None else 'the same'} open",
                wanted="another phase that is open, to enter into",
            )
        runs, refused = competition.runs_path, False
        for each in advanced(store.definition(), store, runs, phases[phase], to, now, every=every):
            how = f", {each.how}," if each.how else ""
            whose = f"{each.before.team}: {each.before.name!r}{how}"
            if each.entered is not None:
                say(f"{whose} waits in phase {to.name} as {each.entered.id}")
            else:
                say(f"{whose} is not entered: {each.why_not}")
            refused |= each.is_refused
    if refused:
        raise Exit(FAULTS)


def repeat(
    folder: Folder,
    submission: Annotated[
        str, Argument(metavar="SUBMISSION", help="its id; `reglue competition runs` lists them")
    ],
) -> None:
    """Play an image's submission once more, and say whether it comes to the same transcript.

    A new container of the image plays the same goals and episodes with the same seeds; every
    action, reward and status is compared. An agent that depends on a clock, on threads or on a
    graphics card may differ by honest means. Nothing of the submission changes; the log of events
    tells what was found. It plays here, beside the server, and needs Docker or Podman.

    reglue competition repeat my-comp 0123456789abcdef

    Exit codes: 0 the same; 1 it differs, or cannot be played; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_competition.runs.hosted import Hosted
        from reglue_competition.runs.images.repeated_play import difference, play_again
        from reglue_competition.store import SCORED

    competition = read_folder(folder)
    with competition.store() as store:
        played = store.submission(submission)
        if played.status not in SCORED:
            raise UsageError(f"submission {submission} is {played.status}, wanted one with a score")
        hosted, output = Hosted(competition, competition.secrets()), console()
        with (
            tempfile.TemporaryDirectory(prefix="reglue-repeat-") as there,
            Progress(console=output, transient=True, disable=not output.is_terminal) as progress,
        ):
            task = progress.add_task(played.name, total=None)
            play_again(
                hosted,
                played,
                Path(there),
                lambda done, total: progress.update(task, completed=done, total=total),
            )
            count = len(hosted.benchmarks(played.phase))
            found = difference(played, competition.transcripts_path, Path(there), count)
        store.note("submission repeated", team=played.team, submission=submission, difference=found)
    say(f"{submission} {f'differs: {found}' if found else 'came to the same transcript again'}")
    if found:
        raise Exit(FAULTS)


def images(
    folder: Folder,
    delete: Annotated[
        bool, Option("--delete", help="delete those that nothing needs any more")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="do not ask, in a terminal")] = False,
    as_json: AsJson = False,
) -> None:
    """List the agents that teams handed in, their size, and what still needs each.

    An image or a project is needed until each phase in which it was entered is revealed, and each
    phase that begins with images of such a phase (images_from). Then it may go: only `repeat` and
    `advance` cannot play it again. Scores, runs and transcripts stay.

    reglue competition images my-comp

    reglue competition images my-comp --delete

    Exit codes: 0 listed, or deleted; 1 not, or the database is away; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.images import GIB
        from reglue_competition.runs.images.kept_archives import delete_archives, kept_archives

    competition = read_folder(folder)
    with competition.store() as store:
        kept = kept_archives(competition, store)
        going = [each for each in kept if not each.needed_for]
        size_gib = sum(each.bytes for each in going) / GIB
        if as_json:
            print_json([to_json(each) for each in kept])
        else:
            rows = [
                (
                    each.digest[:_SHOWN],
                    f"{each.bytes / GIB:.3f}",
                    each.submissions,
                    each.needed_for,
                )
                for each in kept
            ]
            print_table("agents", ("digest", "GiB", "submissions", "needed for"), rows)
            say(f"{len(going)} of {len(kept)} may go, {size_gib:.3f} GiB")
        if not delete or not going:
            return
        question = f"delete {len(going)} of {folder}?"
        if not yes and sys.stdin.isatty() and not confirm(question, err=as_json):
            raise Exit(FAULTS)
        delete_archives(competition, store)
    if not as_json:
        say("they were deleted")
