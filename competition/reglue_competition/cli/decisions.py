"""Opening, closing and revealing phases, cancelling and replaying submissions, and appeals."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from rich.progress import Progress
from typer import Argument, Exit, Option, confirm

from glue_server.commands.command import FAULTS
from glue_server.console import console, say
from reglue.error_message import printable
from reglue.errors import RunBusy, UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import Folder, format_date, print_json, read_folder, to_json

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
    with loading():
        from reglue_competition.competition_folder import waive_admission

    competition = read_folder(folder)
    with competition.store() as store:
        if not_admitted and competition.benchmarks(phase):
            waive_admission(store, phase)
        try:
            with competition.only_server():
                competition.open_phase(store, phase)
        except RunBusy:
            competition.check_admitted(store, phase)
            store.ask_open(phase)
            say(f"the server opens {phase} within some seconds")
        else:
            say(f"{phase} is open")


def close(
    folder: Folder,
    phase: _Phase,
    yes: Annotated[bool, Option("--yes", help="do not ask, in a terminal")] = False,
) -> None:
    """Close a phase now: nobody enters any more.

    What was entered is played to its end. `reglue competition reopen` undoes it, until a team sees
    what the phase played. In a terminal it asks first.

    reglue competition close my-comp public

    Exit codes: 0 closed; 1 not, or the database is away; 2 wrong usage; 130 interrupted.
    """
    if not yes and sys.stdin.isatty() and not confirm(f"close phase {phase} of {folder}?"):
        raise Exit(1)
    with read_folder(folder).store() as store:
        store.close_phase(phase)
    say(f"{phase} is closed; `reglue competition reopen` undoes it")


def reopen(folder: Folder, phase: _Phase) -> None:
    """Open a closed phase again: teams may enter until its date.

    So a close by mistake is undone, or a deadline prolonged: write a later `closes` into the
    competition file before. It is refused once the phase was revealed, a team has seen a transcript
    or episodes of it, or another phase is open. Without a server the file is put in force here; a
    server that runs reads it when it starts.

    reglue competition reopen my-comp public

    Exit codes: 0 open; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    competition = read_folder(folder)
    with competition.store() as store:
        with suppress(RunBusy), competition.only_server():
            store.apply(competition.definition)
        store.reopen_phase(phase)
    say(f"{phase} is open again")


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
    with loading():
        from reglue_competition.phases import commitment, reveal_file
        from reglue_competition.phases import reveal as write_reveal

    competition = read_folder(folder)
    benchmarks, salt = competition.benchmarks(phase), competition.secrets().salt(phase)
    with competition.store() as store:
        (about,) = (each for each in store.phases() if each.name == phase)
        if about.plan_commitment not in (None, commitment(benchmarks, salt)):
            raise UsageError(
                f"the plan of phase {phase} is not the one that was committed to: restore the "
                "files of its environments, the secrets and the installed versions as they were"
            )
        store.reveal_phase(phase)
    out = file or reveal_file(competition.path, phase)
    write_reveal(out, benchmarks, salt, competition=competition.definition.name, phase=phase)
    whose = "publish it with" if file else "the page publishes it; it opens"
    say(f"{out} is written; {whose} the commitment {about.plan_commitment}")


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
    with loading():
        from reglue_bench.formatting import number
        from reglue_competition.videos import clips, write_videos

    if not 0.01 <= fps <= 1000:
        raise UsageError(got=f"--fps {number(fps)}", wanted="a number from 0.01 to 1000")
    competition = read_folder(folder)
    with competition.store() as store:
        wanted = clips(competition, store, phase)
        is_public = store.definition().page.replays
    output = console()
    with Progress(console=output, transient=True, disable=not output.is_terminal) as progress:
        task = progress.add_task(phase, total=None)
        troubles = write_videos(
            wanted,
            episodes=episodes,
            fps=fps,
            watcher=lambda done, total: progress.update(task, completed=done, total=total),
        )
        failed = False
        for trouble in troubles:
            say(trouble.text)
            failed = failed or trouble.is_fault
    there = sum(clip.is_made for clip in wanted)
    say(f"{there} of {len(wanted)} videos are in {competition.replays_path}")
    if there and not is_public:
        say("nobody sees them yet: page.replays is false in the competition file that is in force")
    if failed:
        raise Exit(FAULTS)


def cancel(folder: Folder, submission: _Submission) -> None:
    """Ask the server to cancel a submission that waits or plays. It is never scored.

    It counts against its team's quotas. `reglue competition replay` takes it back.

    reglue competition cancel my-comp 0123456789abcdef

    Exit codes: 0 asked; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
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
    with read_folder(folder).store() as store:
        store.ask_replay(submission)
    say(f"{submission} waits until its team's agent is connected")


def ruling(
    folder: Folder,
    submission: _Submission,
    standing: Annotated[
        Literal["off", "unranked", "ranked"],
        Argument(metavar="STANDING", help="off the board, unranked, or ranked again"),
    ],
    why: Annotated[
        str, Option(metavar="TEXT", help="what everybody reads beside it; needed but for ranked")
    ] = "",
) -> None:
    """Rule on a score: take it off the board, leave it unranked, or undo either.

    A score that is off the board is struck through, with the reason, and the team's next best one
    counts; its tries stay counted. An unranked one has its score and no rank, such as a baseline.
    Each ruling is an event. A team withdraws a score of its own on the page; that is undone here,
    too.

    reglue competition ruling my-comp 0123456789abcdef off --why "It read its goals from a file"

    Exit codes: 0 ruled; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.rule(submission, "off the board" if standing == "off" else standing, why)
    say(f"{submission} is {'off the board' if standing == 'off' else standing}")


def allow(
    folder: Folder,
    phase: _Phase,
    team: Annotated[str, Argument(metavar="TEAM", help="the team's name")],
    more: Annotated[
        int, Argument(metavar="NUMBER", min=0, help="how many more it may enter; 0 undoes it")
    ],
    why: Annotated[str, Option(metavar="TEXT", help="for the log of events")],
) -> None:
    """Let one team enter more into a phase than its quotas allow.

    Its quotas a_day and in_all are larger by NUMBER in that phase, and at_once stays. It is an
    event with its reason, and the newest one counts.

    reglue competition allow my-comp public "Team A" 2 --why "Our server failed two of theirs"

    Exit codes: 0 allowed; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.allow(team, phase, more, why)
    say(f"{printable(team)} may enter {more} more into phase {phase} than its quotas say")


def void(
    folder: Folder,
    phase: _Phase,
    benchmark: Annotated[
        int, Argument(metavar="NUMBER", help="which of the phase's benchmarks: 1 is the first")
    ],
    why: Annotated[
        str, Option(metavar="TEXT", help="what everybody reads of it; without it, it counts again")
    ] = "",
) -> None:
    """Leave a benchmark out of all totals, such as one whose task was broken, or undo that.

    Every team gets a new total and a new rank; the benchmark's scores stay on the page.

    reglue competition void my-comp public 2 --why "Its goal cannot be reached"

    Exit codes: 0 done; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.void(phase, benchmark - 1, why)
    say(f"benchmark {benchmark} of {phase} counts {'in no total' if why else 'again'}")


def news(
    folder: Folder,
    text: Annotated[
        str | None,
        Argument(metavar="[TEXT]", help="what everybody reads on the leaderboard's page"),
    ] = None,
    remove: Annotated[
        int | None, Option(metavar="NUMBER", help="take this one off the page")
    ] = None,
    json: AsJson = False,
) -> None:
    """Tell everybody something on the page, or show what is there.

    The page shows the newest five, in plain text. All are events, which stay.

    reglue competition news my-comp "The public phase closes two days later, on 17 March"

    Exit codes: 0 told, or shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    if text is not None and remove is not None:
        raise UsageError("wanted a text, or --remove")
    with read_folder(folder).store() as store:
        if text is not None:
            store.tell(text)
        if remove is not None:
            store.remove_news(remove)
        there = store.news()
    if json:
        print_json([to_json(each) for each in there])
        return
    for each in there:
        say(f"{each.id}: {format_date(each.at)} UTC: {each.text}")
    if not there:
        say("no news")


def appeals(
    folder: Folder,
    all_: Annotated[bool, Option("--all", help="also those that were answered")] = False,
    json: AsJson = False,
) -> None:
    """Show the appeals of teams that wait for an answer, the oldest first.

    Teams file them on the competition's page, against submissions of theirs that have ended.

    reglue competition appeals my-comp

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        appeals_ = [each for each in store.appeals() if all_ or each.is_open]
    if json:
        print_json([to_json(each) for each in appeals_])
        return
    for each in appeals_:
        say(f"{each.id}: {each.team}, {each.submission}, {format_date(each.at)} UTC")
        say(_indent(each.text))
        if not each.is_open:
            say(f"answered {format_date(each.answered_at)} UTC")
            say(_indent(each.answer))
    if not appeals_:
        say("no appeals" if all_ else "no appeal waits for an answer")


def answer(
    folder: Folder,
    appeal: Annotated[int, Argument(metavar="APPEAL", help="its number, as `appeals` shows it")],
    text: Annotated[str, Argument(metavar="TEXT", help="what the team reads")],
) -> None:
    """Answer an appeal, which closes it. The team reads the answer on the page.

    reglue competition answer my-comp 117 "You are right: it was our fault. It is played again."

    Exit codes: 0 answered; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.answer_appeal(appeal, text)
    say(f"appeal {appeal} is answered")


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in printable(text).splitlines())
