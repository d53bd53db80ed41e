"""`reglue competition videos`: what everybody may watch after a phase."""

from __future__ import annotations

from typing import Annotated

from rich.progress import Progress
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue_bench.formatting import number
from reglue_competition.cli.common import Folder
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.videos import clips, write_videos


def videos(
    folder: Folder,
    phase: Annotated[str, Argument(metavar="PHASE", help="the phase's name")],
    episodes: Annotated[int, Option(min=1, help="episodes in each video, evenly spread")] = 3,
    fps: Annotated[float, Option(help="pictures per second")] = 30.0,
) -> None:
    """Make the videos of a closed phase: some episodes of each scored submission, played again.

    The page shows them to everybody where the competition file has page.replays = true. They show
    hidden goals, so they are refused while the phase is open, or something that was entered still
    waits or plays. Videos that are there already stay, so a command that was stopped goes on; of
    what was played again since, new ones are made. Of an episode 10,000 pictures are shown.

    MUJOCO_GL=egl reglue competition videos my-comp public

    An environment that does not draw is named in a line, and so is an episode that is not replayed
    to the bit, which has no video.

    Exit codes: 0 made; 1 something was not replayed, or the database is away; 2 wrong usage;
    130 interrupted.
    """
    if not 0.01 <= fps <= 1000:
        raise UsageError(f"got --fps {number(fps)}, wanted a number from 0.01 to 1000")
    found = CompetitionFolder.read(folder)
    with found.store() as store:
        wanted = clips(found, store, phase)
        is_public = store.definition().page.replays
    shown = console()
    with Progress(console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task(phase, total=None)
        troubles = write_videos(
            wanted,
            episodes=episodes,
            fps=fps,
            watcher=lambda done, total: progress.update(task, completed=done, total=total),
        )
        failed = False
        for trouble in troubles:
            say(trouble.words)
            failed = failed or trouble.is_fault
    there = sum(clip.is_made for clip in wanted)
    say(f"{there} of {len(wanted)} videos are in {found.replays_path}")
    if there and not is_public:
        say("nobody sees them yet: page.replays is false in the competition file that is in force")
    if failed:
        raise Exit(FAULTS)
