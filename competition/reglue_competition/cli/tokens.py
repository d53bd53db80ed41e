"""`reglue competition token`: made, listed and revoked."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from glue_server.commands.command import Commands
from glue_server.console import say
from reglue.errors import UsageError
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
    to_json,
    token_in,
    write_certificate,
)


def new(
    folder: Folder,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="the team's name; not with --organiser")
    ] = None,
    organiser: Annotated[
        bool, Option("--organiser", help="a token for the organiser's view of the page")
    ] = False,
    phase: Annotated[
        str | None,
        Option(
            metavar="PHASE",
            help="the only phase that the token enters (default: whichever is open, of two the "
            "one that is not practice)",
        ),
    ] = None,
    advertise: Advertise = None,
    expires: Expires = None,
    certificate: CertificateFile = None,
    token_env: TokenEnv = None,
    json: AsJson = False,
) -> None:
    """Make one more token, and print it once; a team's as a join string.

    Tokens that exist stay valid. To rotate one: make a new one, have the team use it, then
    `reglue competition token revoke` the old one.

    reglue competition token new my-comp "Team A" --expires 2026-12-31T18:00Z

    reglue competition token new my-comp "Team A" --phase practice

    reglue competition token new my-comp --organiser

    With --token-env the token is one that you drew; it is not printed.

    Exit codes: 0 made; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    if organiser == (name is not None):
        raise UsageError("wanted the name of a team, or --organiser")
    if organiser and phase is not None:
        raise UsageError(
            got="--phase with --organiser", wanted="a team: the organiser enters no phase"
        )
    competition, until = read_folder(folder), read_date(expires)
    join_string_of(competition, "", advertise, name)
    env_token = token_in(token_env)
    with competition.store() as store:
        team = None if name is None else store.team(name)
        token = store.new_token(team, until, phase=phase, token=env_token)
    secret = "" if env_token else token
    if team is None:
        print_token("the organiser", token, secret, json=json, variable=token_env)
        return
    join_string = join_string_of(competition, secret, advertise, None)
    file = write_certificate(competition, team.name, token, certificate)
    print_token(team.name, token, join_string, json=json, certificate=file, variable=token_env)


def list_(folder: Folder, json: AsJson = False) -> None:
    """List the tokens by their ids, with whose they are, the only phase that they enter, if there
    is one, and until when they are valid.

    reglue competition token list my-comp

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        tokens = store.tokens()
    if json:
        print_json([to_json(token) for token in tokens])
        return
    print_table(
        "tokens",
        ("id", "of", "phase", "made (UTC)", "expires (UTC)", "revoked (UTC)"),
        (
            (
                token.id,
                token.team or "the organiser",
                token.phase or "",
                *map(format_date, (token.created_at, token.expires_at, token.revoked_at)),
            )
            for token in tokens
        ),
    )


def revoke(
    folder: Folder,
    token: Annotated[str, Argument(metavar="ID", help="its id, as `token list` shows it")],
) -> None:
    """Refuse a token from now on. What its team plays at the moment is played to its end.

    reglue competition token revoke my-comp 0123456789ab

    Exit codes: 0 revoked; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with read_folder(folder).store() as store:
        store.revoke(token)
    say(f"{token} is refused from now on")


token = Commands(
    "token",
    "Make, list and revoke tokens.\n\n"
    'reglue competition token new my-comp "Team A"\n\n'
    "Exit codes: 0 success; 1 the database is away; 2 wrong usage; 130 interrupted.",
    [new, list_, revoke],
)
