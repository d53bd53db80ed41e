"""`reglue competition team`: added, listed and retired."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from glue_server.commands.command import Commands
from glue_server.console import say
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import (
    Advertise,
    CertificateFile,
    Expires,
    Folder,
    TokenEnv,
    format_date,
    join_string_of,
    print_json,
    print_table,
    print_token,
    read_date,
    read_folder,
    token_in,
    write_certificate,
)
from reglue_competition.cli.status import to_json

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
    join_string_of(
        competition, "", advertise
    )  # what is wrong with it is said before anything is changed
    env_token = token_in(token_env)
    token = env_token or new_token()
    with competition.store() as store:
        added = store.add_team_with(token, name, until)
    join_string = join_string_of(competition, "" if env_token else token, advertise)
    file = write_certificate(competition, added.name, token, certificate)
    print_token(name, token, join_string, json=json, certificate=file, variable=token_env)


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


team = Commands(
    "team",
    "Add, list and retire teams.\n\n"
    "Exit codes: 0 success; 1 the database is away; 2 wrong usage; 130 interrupted.",
    [add, list_, remove],
)
