"""`python -m reglue_competition.page FOLDER` serves the page of a competition's folder.

It prints its address when it answers. Started by `reglue competition serve`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import suppress
from pathlib import Path

from reglue.errors import ReglueError
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.page.app import Page
from reglue_competition.page.http_server import listen, server
from reglue_competition.page.site import Site


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m reglue_competition.page", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the competition")
    parser.add_argument("--listen", help="HOST:PORT; by default as the competition file says")
    parser.add_argument("--certificate", type=Path, help="PEM; with it the page is served by TLS")
    parser.add_argument("--key", type=Path, help="PEM, of the certificate")
    parser.add_argument("--public-key", default="", help="by which transcripts are checked")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    try:
        with CompetitionFolder.read(arguments.folder).store() as store:
            site = Site(arguments.folder, store)
            listener = listen(arguments.listen or site.snapshot.definition.page.listen)
            host, port = listener.getsockname()[:2]
            scheme = "https" if arguments.certificate else "http"
            print(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/", flush=True)
            with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has ended
                page = Page(site, public_key=arguments.public_key)
                server(page, certificate=arguments.certificate, key=arguments.key).run(
                    sockets=[listener]
                )
    except ReglueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
