"""`reglue competition backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.filesize import decimal
from typer import Argument

from glue_server.console import say
from reglue_competition.backup import BACKED_UP, back_up
from reglue_competition.backup import restore as restored
from reglue_competition.cli.common import Folder
from reglue_competition.competition_folder import CompetitionFolder

_File = Annotated[Path, Argument(metavar="FILE", help="the backup, such as monday.tar.gz")]


def backup(folder: Folder, file: _File) -> None:
    """Write all of a competition into one file. The server may run meanwhile.

    The file holds the database's rows as of one moment, ledgers and transcripts, the competition
    file, hidden tasks, and the SECRETS: anybody who reads it knows the hidden goals, and can sign
    transcripts. Only you can read it; keep it so.

    reglue competition backup my-comp monday.tar.gz

    Exit codes: 0 written; 1 the database is away, or the disk full; 2 wrong usage;
    130 interrupted.
    """
    found = CompetitionFolder.read(folder)
    size = back_up(found, file)
    say(f"{file}: {decimal(size)}; it holds the competition's secrets: keep it to yourself")
    with found.store() as store:
        store.note(BACKED_UP, bytes=size)


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
    restored(file, folder)
    say(f"{folder} is restored; `reglue competition serve {folder}` goes on")
