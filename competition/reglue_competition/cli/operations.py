"""`reglue competition serve`, `certificate`, `backup`, `restore` and `migrate`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from rich.filesize import decimal
from typer import Argument, Option

from glue_server.console import say
from reglue.error_message import printable
from reglue.errors import StoreFailed, UsageError
from reglue.net.join_string import split_address
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson
from reglue_competition.cli.common import Folder, print_json, read_folder, warn_of_engine

_File = Annotated[Path, Argument(metavar="FILE", help="the backup, such as monday.tar.gz")]


def serve(
    folder: Folder,
    listen: Annotated[
        str | None,
        Option(
            metavar="HOST:PORT",
            help="where agents connect (default: the port of `address` of the competition file)",
        ),
    ] = None,
    page_listen: Annotated[
        str | None,
        Option(
            metavar="HOST:PORT",
            help="where browsers connect (default: `page.listen` of the competition file)",
        ),
    ] = None,
    page_certificate: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="the page's certificate that browsers know, in PEM with those between it and its "
            "authority; a renewed one is taken up (default: the competition's own, or none at an "
            "address of this machine alone)",
        ),
    ] = None,
    page_key: Annotated[
        Path | None, Option(metavar="FILE", help="the key of --page-certificate, in PEM")
    ] = None,
    page: Annotated[bool, Option("--page/--no-page", help="serve the page, too")] = True,
    metrics_listen: Annotated[
        str | None,
        Option(
            metavar="HOST:PORT",
            help="where Prometheus finds metrics; anybody who can dial it reads them "
            "(default: nowhere)",
        ),
    ] = None,
    drain_timeout: Annotated[
        float,
        Option(
            metavar="SECONDS",
            min=0.0,
            help="after SIGTERM: how long submissions that play may go on, before they are "
            "stopped and resumed by the next server",
        ),
    ] = 0.0,
) -> None:
    """Serve a competition: its agents, its queue and its page, until Ctrl-C or SIGTERM.

    The competition file is put in force; a change that is not allowed while a phase is open is
    refused, and listed. Phases open and close at their dates. A server that was killed is simply
    started again: every submission goes on where it was.

    reglue competition serve my-comp

    Exit codes: 0 stopped; 1 the database is away; 2 wrong usage; 130 interrupted while it stopped.
    """
    with loading():
        from reglue_competition.runs.hosted import Hosted
        from reglue_competition.runs.logs import log_to_stderr
        from reglue_competition.runs.page_process import PageProcess, TlsFiles
        from reglue_competition.runs.serve import Addresses
        from reglue_competition.runs.serve import serve as run_server
        from reglue_competition.runs.steady_clock import SteadyClock

    if (page_certificate is None) != (page_key is None):
        raise UsageError(
            got="one of --page-certificate and --page-key", wanted="both, which belong together"
        )
    competition = read_folder(folder)
    log_to_stderr()
    warn_of_engine(competition)
    with competition.store(SteadyClock()) as store:
        store.apply(competition.definition)
        hosted = Hosted(competition, competition.secrets())
        address = page_listen or competition.definition.page.listen
        tls = TlsFiles(page_certificate, page_key) if page_certificate and page_key else None
        run_server(
            hosted,
            store,
            Addresses(
                listen or _address_to_listen_at(competition.definition.address),
                metrics=metrics_listen,
            ),
            page=(lambda: PageProcess(competition, address, tls)) if page else None,
            drain_timeout_s=drain_timeout,
            say=say,
        )


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
    with loading():
        from reglue_competition.phases import certificates
        from reglue_competition.phases.certificates import AUTHORITY_KEY, Certificate

    if renew and new_authority:
        raise UsageError("wanted --renew or --new-authority, not both")
    competition = read_folder(folder)
    if renew or new_authority:
        make = certificates.renew if renew else certificates.new_authority
        make(competition.secrets_path, competition.definition.address)
    served = Certificate.read(competition.secrets_path)
    if renew or new_authority:
        kind = "certificate renewed" if renew else "authority made anew"
        with competition.store() as store:
            store.note(kind, authority=served.authority, until=served.ends.isoformat())
    is_ours = (competition.secrets_path / AUTHORITY_KEY).exists()
    if json:
        print_json(
            {
                "subject": served.subject,
                "names": served.names,
                "authority": served.authority,
                "begins": served.begins.isoformat(),
                "ends": served.ends.isoformat(),
                "renewable": is_ours,
            }
        )
        return
    left = (served.ends - datetime.now(UTC)).days
    say(
        f"subject:   {printable(served.subject)}\n"
        f"names:     {printable(', '.join(served.names))}\n"
        f"authority: {printable(served.authority)}"
        f"{'' if is_ours else ' (its key is not in this folder)'}\n"
        f"valid:     {served.begins:%Y-%m-%d %H:%M} to {served.ends:%Y-%m-%d %H:%M} UTC, "
        f"{left} days left"
    )
    if new_authority:
        say("Give each team a new join string: `reglue competition token new`.")
    if renew or new_authority:
        say("A server that runs shows the old one until it is started anew.")


def backup(folder: Folder, file: _File) -> None:
    """Write all of a competition into one file. The server may run meanwhile.

    The file holds the database's rows as of one moment, ledgers and transcripts, the competition
    file, hidden tasks, and the SECRETS: anybody who reads it knows the hidden goals, and can sign
    transcripts. Only you can read it; keep it so. Links are not kept: the command names them.

    reglue competition backup my-comp monday.tar.gz

    Exit codes: 0 written; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.backup import BACKED_UP, back_up

    competition = read_folder(folder)
    left_out: list[str] = []
    size = back_up(competition, file, left_out.append)
    if left_out:
        say(f"left out, as only files and folders are kept: {', '.join(left_out)}")
    say(f"{file}: {decimal(size)}; it holds the competition's secrets: keep it to yourself")
    try:
        with competition.store() as store:
            store.note(BACKED_UP, bytes=size)
    except StoreFailed as error:  # such as a disk that is mounted to be read alone
        say(f"the competition does not know of this backup: {error}")


def restore(
    file: _File,
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="the folder to make: a new one, or an empty one")
    ],
) -> None:
    """Make the folder and the database of a backup.

    The database is the one that the competition file names, or SQLite in the folder. The variable
    REGLUE_COMPETITION_DATABASE names another, which has to be empty: so a competition moves from
    SQLite to PostgreSQL, or back.

    reglue competition restore monday.tar.gz my-comp

    Exit codes: 0 restored; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    with loading():
        from reglue_competition.backup import restore as restore_backup

    restore_backup(file, folder)
    say(f"{folder} is restored; `reglue competition serve {folder}` goes on")


def migrate(folder: Folder) -> None:
    """Bring the database of an older Reglue up to date. Stop the server first.

    Nothing happens to one that is up to date. Make a backup before.

    reglue competition migrate my-comp

    Exit codes: 0 up to date; 1 the database is away; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_competition.store import migrate as migrate_database

    competition = read_folder(folder)
    with competition.only_server():
        migrate_database(competition.database_url)
    say("the database is up to date")


def _address_to_listen_at(address: str) -> str:
    """The local address to listen at, so that peers can dial `address`."""
    from reglue_competition.runs.page_process import is_loopback

    host, port = split_address(address)
    return address if is_loopback(address) else f"{'[::]' if ':' in host else '0.0.0.0'}:{port}"
