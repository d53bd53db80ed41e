"""`reglue competition certificate`: shown, and renewed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from typer import Option

from glue_server.console import say
from reglue.errors import UsageError, printable
from reglue_bench.cli.arguments import AsJson
from reglue_competition.cli.common import Folder, print_json
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.phases import certificates
from reglue_competition.phases.certificates import AUTHORITY_KEY, Certificate


def certificate(
    folder: Folder,
    renew: Annotated[
        bool, Option("--renew", help="make a new one by the same authority: join strings stay good")
    ] = False,
    new_authority: Annotated[
        bool,
        Option(
            "--new-authority",
            help="make authority and certificate anew: every team needs a new join string",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Show the certificate's subject, its hosts, who signed it, and when it expires.

    It is valid for a year, and its authority for ten. A renewed one also has the `address` that
    the competition file has now. A server that runs goes on with the old one: start it anew.

    reglue competition certificate my-comp --renew

    Exit codes: 0 shown; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    if renew and new_authority:
        raise UsageError("wanted --renew or --new-authority, not both")
    found = CompetitionFolder.read(folder)
    if renew or new_authority:
        make = certificates.renew if renew else certificates.new_authority
        make(found.secrets_path, found.definition.address)
    shown = Certificate.read(found.secrets_path)
    if renew or new_authority:
        kind = "certificate renewed" if renew else "authority made anew"
        with found.store() as store:
            store.note(kind, authority=shown.authority, until=shown.ends.isoformat())
    is_ours = (found.secrets_path / AUTHORITY_KEY).exists()
    if json:
        print_json(
            {
                "subject": shown.subject,
                "names": shown.names,
                "authority": shown.authority,
                "begins": shown.begins.isoformat(),
                "ends": shown.ends.isoformat(),
                "renewable": is_ours,
            }
        )
        return
    left = (shown.ends - datetime.now(UTC)).days
    say(
        f"subject:   {printable(shown.subject)}\n"
        f"names:     {printable(', '.join(shown.names))}\n"
        f"authority: {printable(shown.authority)}"
        f"{'' if is_ours else ' (its key is not in this folder)'}\n"
        f"valid:     {shown.begins:%Y-%m-%d %H:%M} to {shown.ends:%Y-%m-%d %H:%M} UTC, "
        f"{left} days left"
    )
    if new_authority:
        say("Give each team a new join string: `reglue competition token new`.")
    if renew or new_authority:
        say("A server that runs shows the old one until it is started anew.")
