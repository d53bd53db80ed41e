"""`reglue competition serve`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from glue_server.console import say
from reglue.net.join_string import split_address
from reglue_competition.cli.common import Folder
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.logs import log_to_stderr
from reglue_competition.runs.page_process import PageProcess, is_loopback
from reglue_competition.runs.serve import Addresses
from reglue_competition.runs.serve import serve as served


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
    log_json: Annotated[
        bool, Option("--log-json", help="log a JSON object a line, with team and submission")
    ] = False,
) -> None:
    """Serve a competition: its agents, its queue and its page, until Ctrl-C or SIGTERM.

    The competition file is put in force; a change that is not allowed while a phase is open is
    refused, and listed. Phases open and close at their dates. A server that was killed is simply
    started again: every submission goes on where it was.

    reglue competition serve my-comp

    Exit codes: 0 stopped; 1 the database is away; 2 wrong usage; 130 interrupted while it stopped.
    """
    found = CompetitionFolder.read(folder)
    log_to_stderr(as_json=log_json)
    with found.store() as store:
        store.apply(found.definition)
        hosted = Hosted(found, found.secrets(), logs_json=log_json)
        shown = page_listen or found.definition.page.listen
        served(
            hosted,
            store,
            Addresses(listen or _own(found.definition.address), metrics=metrics_listen),
            page=(lambda: PageProcess(found, shown)) if page else None,
            drain_timeout_s=drain_timeout,
            say=say,
        )


def _own(address: str) -> str:
    """Where to listen so that peers can dial `address`."""
    host, port = split_address(address)
    return address if is_loopback(address) else f"{'[::]' if ':' in host else '0.0.0.0'}:{port}"
