"""`reglue competition submit` and `advance`: agents as images of containers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS
from glue_server.console import console, say
from reglue.errors import EntryRefused, UnknownName, UsageError
from reglue.tools.loading_modules import loading
from reglue_competition.cli.common import Folder, read_folder


def submit(
    folder: Folder,
    team: Annotated[str, Argument(metavar="TEAM", help="the team's name")],
    archive: Annotated[
        Path,
        Argument(metavar="ARCHIVE", help="the file of `docker save IMAGE`, or an OCI archive"),
    ],
    name: Annotated[str, Option(metavar="NAME", help="the submission's name")],
) -> None:
    """Enter an image that came by other ways than `reglue submit`; the server plays it.

    The phase that is open says agents = "submitted" or "both". The archive is read as data, and
    only configuration and layers are kept, in FOLDER/images: its tags reach no engine. It must hold
    one image for this machine, within the limits of the table [images]. The server needs Docker
    or Podman with cgroups, and the image a client of Reglue, which finds REGLUE_ADDRESS.

    reglue competition submit my-comp "Team A" team-a.tar --name second-try

    Exit codes: 0 entered; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.images import GIB, keep_image

    competition = read_folder(folder)
    with competition.store() as store:
        of, limits = store.team(team), store.definition().images
        if of.retired_at is not None:
            raise UsageError(f"team {team} is retired")
        output = console()
        bar = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True))
        hidden = not output.is_terminal
        with (
            competition.images_lock(),
            Progress(*bar, console=output, transient=True, disable=hidden) as progress,
        ):
            task = progress.add_task(archive.name, total=None)
            digest = keep_image(
                archive,
                competition.images_path,
                most_bytes=int(limits.image_gib * GIB),
                most_in_all=int(limits.images_gib * GIB),
                watcher=lambda done: progress.update(task, completed=done),
            )
            try:
                entered = competition.enter_image(store, of, name, digest)
            except EntryRefused as refused:
                raise UsageError(str(refused)) from refused
    say(f"submission {entered.id} of {team}, {entered.name!r}, waits in phase {entered.phase}")
    say(f"its image is {digest}")


def advance(
    folder: Folder,
    phase: Annotated[
        str, Argument(metavar="PHASE", help="the phase whose chosen submissions go on")
    ],
) -> None:
    """Enter the images that were chosen in a phase into the phase that is open now.

    Of each team on PHASE's leaderboard it is the submission that counts there. Teams need not be
    connected, or do anything. A second time it enters what is missing. A phase that says
    images_from = "PHASE" has it done by the server.

    reglue competition advance my-comp public

    Exit codes: 0 all are entered; 1 some were refused, or the database is away; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.runs.advancement import advance as advanced

    competition = read_folder(folder)
    with competition.store() as store:
        now = datetime.now(UTC)
        phases = {each.name: each for each in store.phases()}
        if phase not in phases:
            raise UnknownName("phase", phase, phases)
        to = store.phase_open_at(now)
        if to is None or to.name == phase:
            raise UsageError(
                got=f"phase {phase}, and {'none' if to is None else 'the same'} open",
                wanted="another phase that is open, to enter into",
            )
        runs, refused = competition.runs_path, False
        for each in advanced(store.definition(), store, runs, phases[phase], to, now):
            before = each.before.submission
            whose = f"{before.team}: {before.name!r}, {each.before.how},"
            if each.entered is not None:
                say(f"{whose} waits in phase {to.name} as {each.entered.id}")
            else:
                say(f"{whose} is not entered: {each.why_not}")
            refused |= each.is_refused
    if refused:
        raise Exit(FAULTS)
