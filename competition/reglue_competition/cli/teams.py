"""`reglue competition team`: added, listed, retired and forgotten."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from shutil import rmtree
from typing import Annotated

from typer import Argument, Exit, Option, confirm

from glue_server.commands.command import Commands
from glue_server.console import say
from reglue.error_message import printable
from reglue.errors import BadArgument, UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import (
    Advertise,
    CertificateFile,
    Expires,
    Folder,
    TokenEnv,
    certificate_file,
    format_date,
    join_string_of,
    print_json,
    print_table,
    print_token,
    read_date,
    read_folder,
    to_json,
    token_in,
    write_certificate,
)

_TEAM = "team"  # the column of a table

_Name = Annotated[str, Argument(metavar="NAME", help="the team's name, as the page shows it")]


def add(
    folder: Folder,
    name: _Name,
    advertise: Advertise = None,
    expires: Expires = None,
    certificate: CertificateFile = None,
    token_env: TokenEnv = None,
    json: AsJson = False,
) -> None:
    """Add a team, and print its join string: once, as only a hash of its token is kept.

    Give the string to the team by a private channel: who has it plays as the team. It holds the
    server's address, the authority of its certificate, and the token.

    reglue competition team add my-comp "Team A"

    With --token-env the token is one that you drew, and the join string comes without it: the
    team's program takes it from REGLUE_TOKEN. To add the same team with it again changes nothing,
    so that scripts may.

    Exit codes: 0 added; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_competition.store.access import new_token

    competition, until = read_folder(folder), read_date(expires)
    # What is wrong with it is said before anything is changed.
    join_string_of(competition, "", advertise, name)
    env_token = token_in(token_env)
    token = env_token or new_token()
    with competition.store() as store:
        added = store.add_team_with(token, name, until)
    join_string = join_string_of(competition, "" if env_token else token, advertise, None)
    file = write_certificate(competition, added.name, token, certificate)
    print_token(name, token, join_string, json=json, certificate=file, variable=token_env)


def import_(
    folder: Folder,
    table: Annotated[
        Path, Argument(metavar="CSV", help="a table with the column `team`: a name in each row")
    ],
    out: Annotated[
        Path, Argument(metavar="OUT", help="the folder to make, with a file for each team")
    ],
    advertise: Advertise = None,
    expires: Expires = None,
) -> None:
    """Add the teams of a table, and write each one's join string to a file: all or none.

    Only you can read the files. OUT/teams.csv has the table's rows with the name of each file, for
    a program that sends them. Where the competition asks for certificates, each has one beside it.

    reglue competition team import my-comp registered.csv join-strings

    Exit codes: 0 added; 1 the database is away, or the disk full; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.formatting import plural
        from reglue_competition.competition_folder import new_folder
        from reglue_competition.phases.certificates import write_closed
        from reglue_competition.store.access import new_token

    competition, until = read_folder(folder), read_date(expires)
    rows = read_teams(table)
    tokens = {row[_TEAM]: new_token() for row in rows}
    with competition.store() as store:
        with new_folder(out) as made:
            for number, row in enumerate(rows, 1):
                name, stem = row[_TEAM], f"{number:03}"
                row["file"] = f"{stem}.join"
                join_string = join_string_of(competition, tokens[name], advertise, name)
                write_closed(made / row["file"], f"{join_string}\n".encode())
                write_certificate(competition, name, tokens[name], made / f"{stem}.pem")
            with (made / "teams.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        try:
            store.add_teams(tokens, until)
        except UsageError:  # else they may be there now, with these tokens
            rmtree(out)
            raise
    say(f"{plural(len(rows), 'team')} added; their join strings are in {out}")


def read_teams(table: Path) -> list[dict[str, str]]:
    """The rows of a table of teams. Raises UsageError, with the line that is wrong."""
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = [row for row in reader if any(row.values())]
            columns = list(reader.fieldnames or ())
    except OSError as error:
        raise UsageError(f"{table} cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{table} is no table in UTF-8: {error}") from error
    if _TEAM not in columns or not rows:
        raise BadArgument(
            str(table),
            got=f"{len(rows)} rows of the columns {', '.join(columns) or 'none'}",
            wanted=f"rows with the column {_TEAM}",
        )
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if None in row or not (row[_TEAM] or "").strip():
            raise UsageError(f"{table}, row {number}: wanted a name, and {len(columns)} cells")
        row[_TEAM] = row[_TEAM].strip()
        if (first := seen.setdefault(row[_TEAM], number)) != number:
            raise UsageError(f"{table}, row {number}: {row[_TEAM]!r} is in row {first} already")
    return rows


def list_(folder: Folder, json: AsJson = False) -> None:
    """List the teams, with how many submissions each has entered.

    reglue competition team list my-comp

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        teams = store.teams()
        entered = [submission.team for submission in store.submissions()]
    if json:
        print_json([to_json(team) | {"submissions": entered.count(team.name)} for team in teams])
        return
    print_table(
        "teams",
        ("team", "added (UTC)", "retired (UTC)", "submissions"),
        (
            (
                team.name,
                format_date(team.created_at),
                format_date(team.retired_at),
                entered.count(team.name),
            )
            for team in teams
        ),
    )


def remove(folder: Folder, name: _Name) -> None:
    """Retire a team: its tokens are refused, and what it has in the queue is cancelled.

    What it has played stays on the page.

    reglue competition team remove my-comp "Team A"

    Exit codes: 0 retired; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.retire_team(name)
    say(f"{name} is retired: its tokens are refused from now on")


_STAYS = (
    "Scores, tries and token ids stay, under another name. So do files: runs/ and images/, "
    "transcripts/, which hold the team's name in a signed header and cannot be changed, and "
    "backups, exports and logs that were made before. What is deleted cannot be brought back."
)


def forget(
    folder: Folder,
    name: _Name,
    yes: Annotated[bool, Option("--yes", help="do not ask")] = False,
) -> None:
    """Delete what is personal of a team: its name, and all that it wrote.

    It is retired and called `team #NUMBER` from then on, its submissions by their ids. Its
    appeals with their answers, the reasons and errors in its events and results, and its
    certificates in the folder are deleted. Its scores stay: else others' ranks would change.
    Transcripts hold its name in a signed header, and stay as they are; so do runs, images,
    backups, exports and logs. It is refused while a submission of it waits or plays. It asks
    first, and nobody can undo it.

    reglue competition team forget my-comp "Team A" --yes

    Exit codes: 0 forgotten; 1 not, or the database is away; 2 wrong usage; 130 interrupted.
    """
    competition = read_folder(folder)
    if not yes:
        say(_STAYS)
        if not sys.stdin.isatty():
            raise UsageError("got no terminal to ask in, wanted --yes")
        if not confirm(f"forget {printable(name)}?"):
            raise Exit(1)
    with competition.store() as store:
        forgotten = store.forget_team(name)
        tokens = [each.id for each in store.tokens() if each.team == forgotten.name]
    for each in tokens:
        certificate_file(competition, each).unlink(missing_ok=True)
    say(f"the team is {forgotten.name} from now on")


team = Commands(
    "team",
    "Add, list, retire and forget teams.\n\n"
    'reglue competition team add my-comp "Team A"\n\n'
    "Exit codes: 0 success; 1 the database is away; 2 wrong usage; 130 interrupted.",
    [add, import_, list_, remove, forget],
)
