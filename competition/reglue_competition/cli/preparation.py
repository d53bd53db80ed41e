"""`reglue competition init`, `check`, `admit` and `kit`: before a competition is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue.tools.outputs import product
from reglue_bench.cli.shared_flags import MARKS
from reglue_competition.cli.common import (
    Folder,
    TokenEnv,
    format_date,
    read_folder,
    token_in,
    warn_of_engine,
)

_LONG_H = 12.0  # for one submission: `check` warns beyond it
_APART = 0.1  # of success rates: what `check` says of ranks


def init(
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="the folder to make; its name is the competition's")
    ],
    title: Annotated[
        str | None, Option(help="what the page calls it (default: the folder's name)")
    ] = None,
    address: Annotated[
        str,
        Option(
            metavar="HOST:PORT",
            help="where teams connect: in their join strings, and in the certificate",
        ),
    ] = "127.0.0.1:4096",
    database: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="postgresql://USER@HOST/DATABASE, an empty one (default: SQLite in the folder)",
        ),
    ] = None,
    token_env: TokenEnv = None,
) -> None:
    """Make a competition: a folder that only you can read.

    It holds competition.toml, explained line by line; tasks/, a Python package for hidden tasks;
    secrets/, from which hidden goals are drawn, with the certificate and the key that signs
    transcripts; and the database. Its practice phase can be served at once.

    It prints the organiser's token, for the page, once; with --token-env it is one that you drew.

    reglue competition init my-comp --title "Find the treasure" --address comp.example.org:4096

    Exit codes: 0 made; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_competition.definition import FILE
        from reglue_competition.skeleton.new_competition import write_competition

    name = folder.absolute().name
    env_token = token_in(token_env)
    token = write_competition(
        folder, name=name, title=title or name, address=address, database=database, token=env_token
    )
    say(
        f"{folder}: edit {FILE} and tasks/, then\n"
        f"  pip install -e {folder / 'tasks'}\n"
        f"  reglue competition check {folder}\n"
        f"  reglue competition serve {folder}"
    )
    if env_token is None:
        say("The organiser's token, shown this once:")
        with product():
            print(token)


def check(
    folder: Folder,
    draw: Annotated[
        bool,
        Option(
            "--draw", help="also make each phase's environments, and draw its goals and episodes"
        ),
    ] = False,
) -> None:
    """Check the competition file, and whether it may take the place of the one in force.

    While a phase is open its rules stay: it may be prolonged, quotas may grow, and texts may
    change. What is refused is listed. With --draw it also says how long submissions may take, and
    what ranks can tell apart.

    reglue competition check my-comp --draw

    Exit codes: 0 it may be served; 1 the database is away; 2 a mistake; 130 interrupted.
    """
    with loading():
        from reglue_bench.formatting import plural
        from reglue_competition.definition import FILE, changes
        from reglue_competition.ranking.ranks import cells_that_separate

    competition = read_folder(folder)
    ranking, places = competition.definition.ranking, competition.definition.play.places
    teams = ranking.teams
    with competition.store() as store:
        states = {phase.name: phase.state for phase in store.phases()}
        if refused := changes(store.definition(), competition.definition, states):
            raise UsageError("\n".join([f"{folder / FILE} may not be changed so:", *refused]))
    for phase in competition.definition.phases:
        dates = f"{format_date(phase.opens)} to {format_date(phase.closes)} UTC"
        say(f"{phase.name}: {dates}, {phase.kind}")
        benchmarks = competition.benchmarks(phase.name) if draw else []
        for each in benchmarks:
            units = sum(each.plan.variants.values())
            counts = f"{plural(len(each.plan.variants), 'task')}, {plural(units, 'goal')}"
            say(f"  {each.entry.benchmark}: {counts}")
        if benchmarks:
            hours = sum(each.place_s for each in benchmarks) / 3600
            is_long = hours > _LONG_H
            say(
                f"  {'warning: ' if is_long else ''}one submission may hold a place for up to "
                f"{hours:.1f} h of its agent's time, and its environments'; play.run_s, or "
                "episode_limit in options, makes it less"
            )
            all_h = hours * teams / places
            say(f"  {teams} teams with one each: up to {all_h:,.0f} h on {plural(places, 'place')}")
    warn_of_engine(competition)
    if draw and ranking.ties == "shared":
        cells = cells_that_separate(teams, _APART)
        say(
            f"ranks allow for {teams} teams: success rates near 50 % that differ by "
            f"{100 * _APART:.0f} % are told apart four times in five from {cells:,} goals or "
            "episodes on"
        )


def admit(
    folder: Folder,
    phase: Annotated[
        list[str] | None, Argument(metavar="[PHASE]…", help="phases to play (default: all)")
    ] = None,
) -> None:
    """Play what phases will play, before anybody does: are its tasks fit for a competition?

    Of each benchmark it checks on the very episodes that teams will play: that they are the same
    to the bit, however they are played; that no action makes them fail; that a random agent scores
    less than `random_below`; and that an agent of yours, `reference`, scores `reference_at_least`.
    The table `admit` of the benchmark in the competition file defines the bars.

    A public or private phase with environments of your own, or with bars, opens only if exactly
    what it plays has passed; a phase's `needs_admission` decides otherwise.

    reglue competition admit my-comp public private

    Exit codes: 0 admitted; 1 not admitted; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.terminal.progress import watcher
        from reglue_competition.competition_folder import note_admission
        from reglue_competition.phase_admission import admission
        from reglue_competition.phases import commitment

    competition, output, failed = read_folder(folder), console(), []
    for name in phase or [each.name for each in competition.definition.phases]:
        passed = True
        benchmarks = competition.benchmarks(name)
        for each in benchmarks:
            say(f"{name}: {each.entry.benchmark}")
            for check in admission(each, watcher(console(stderr=True))):
                output.print(" ", MARKS[check.passed], end=" ")
                say(check.what)
                passed &= check.passed is not False
        if not passed:
            failed.append(name)
        with competition.store() as store:
            committed = commitment(benchmarks, competition.secrets().salt(name))
            note_admission(store, name, benchmarks, committed, passed=passed)
    if failed:
        say(f"not admitted: {', '.join(failed)}")
        raise Exit(FAULTS)


def kit(
    folder: Folder,
    out: Annotated[Path, Argument(metavar="OUT", help="the folder to make, for teams")],
) -> None:
    """Write the starter kit that you give to teams.

    It says how to join and what happens at each limit; it plays every phase on a team's own
    machine, with public goals; and it has an agent in each language. Environments that are not
    Reglue's own are hidden: a stand-in has their spaces. Nothing in it depends on a secret.

    reglue competition kit my-comp starter-kit

    Exit codes: 0 written; 1 the disk is full; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_competition.kit import write_kit

    competition = read_folder(folder)
    write_kit(competition.definition, competition.path, out)
    say(f"{out}: begin with {out / 'README.md'}, and give all of it to the teams")
