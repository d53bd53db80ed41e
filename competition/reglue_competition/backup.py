"""A competition in one file: its folder, and the rows of its database.

The file is a tar archive, compressed by gzip. `database.jsonl` in it holds a line for each row, of
one moment; ledgers are copied by SQLite's backup, so that runs may go on meanwhile. The database
is read first: runs are never behind it.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

import sqlalchemy as sa

from reglue.errors import StorageFailed, UsageError
from reglue_bench.results.whole_file import whole_file
from reglue_bench.runs.ledger.storage import sqlite_text
from reglue_bench.runs.ledger.writer import LOCK
from reglue_competition.competition_folder import DATABASE, CompetitionFolder, new_folder
from reglue_competition.definition import FILE
from reglue_competition.store import migrate
from reglue_competition.store.database import PATIENCE_S, Database, read_only_uri
from reglue_competition.store.migrate import check_current, head
from reglue_competition.store.schema import TABLES, Utc

ROWS = "database.jsonl"

BACKED_UP = "backed up"
"""The kind of event that records a backup."""

_FORMAT = "reglue competition backup 1"
_ROWS_AT_ONCE = 500
_CHUNK = 1 << 20  # bytes
_CONTENTS = (FILE, "secrets", "tasks", "images", "transcripts", "reveals", "runs")
_SQLITE = ".sqlite"
_BESIDE = (f"{_SQLITE}-wal", f"{_SQLITE}-shm")  # a database in use, which is copied with them
# Where programs keep files that are not whole yet.
_WRITTEN = ("images", "transcripts", "reveals", "runs")


def back_up(
    folder: CompetitionFolder, path: Path, left_out: Callable[[str], None] = lambda _: None
) -> int:
    """Write a competition into a new file that only its owner can read; its size in bytes.

    The server may run meanwhile. `left_out` is called with the name of each link and device, which
    no backup holds. Raises UsageError if the file exists, and StorageFailed.
    """
    if path.exists():
        raise UsageError(f"{path} exists; choose another file")
    try:
        with tempfile.TemporaryFile() as rows:
            with closing(Database(folder.database_url)) as database:
                database.read(check_current)
                database.read(lambda connection: _dump(connection, rows))
            with (
                whole_file(path, mode=0o600) as file,
                tempfile.TemporaryDirectory(dir=path.parent) as drafts,  # where there is room
            ):
                _pack(folder.path, rows, file, Path(drafts), left_out)
        return path.stat().st_size
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error}") from error


def restore(path: Path, folder: Path) -> CompetitionFolder:
    """Make the folder and database of a backup.

    Raises UsageError if the folder or the database holds anything, or the file is no backup.
    """
    with new_folder(folder) as made:
        _unpack(path, made)
        _fill(CompetitionFolder.read(made).database_url, made / ROWS)
        (made / ROWS).unlink()
    return CompetitionFolder.read(folder)


def _dump(connection: sa.Connection, file: IO[bytes]) -> None:
    """Write the rows of all tables; a table comes before those that refer to it."""
    file.seek(0)
    file.truncate()
    file.write(_line({"format": _FORMAT, "revision": head()}))
    for table in TABLES.sorted_tables:
        for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings():
            values = {name: _value(value) for name, value in row.items()}
            file.write(_line({"table": table.name, "row": values}))


def _pack(
    folder: Path, rows: IO[bytes], file: BinaryIO, drafts: Path, left_out: Callable[[str], None]
) -> None:
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        size = rows.tell()
        rows.seek(0)
        archive.addfile(_about(ROWS, size), rows)
        for each in _files(folder):
            name = each.relative_to(folder).as_posix()
            if each.is_symlink() or not each.is_file():
                left_out(name)
                continue
            with (
                suppress(FileNotFoundError),  # a run that goes on has replaced or removed it
                _content(each, drafts) as content,
            ):
                size = os.fstat(content.fileno()).st_size
                archive.addfile(_about(name, size, each), content)


def _fill(url: str, rows: Path) -> None:
    """Make the tables of a database, and insert rows. Raises UsageError."""
    with rows.open("rb") as file:
        about = json.loads(file.readline())
        if about != {"format": _FORMAT, "revision": head()}:
            raise UsageError(
                f"the backup is of {about}, wanted {_FORMAT!r}, revision {head()!r}: restore it "
                "with the Reglue that made it, then `reglue competition migrate`"
            )
    migrate(url)
    with closing(Database(url)) as database:
        database.write(lambda transaction: _insert(transaction.connection, rows, url))


def _insert(connection: sa.Connection, rows: Path, url: str) -> None:
    for table in TABLES.sorted_tables:
        if connection.execute(sa.select(table).limit(1)).first() is not None:
            public_url = sa.make_url(url).render_as_string(hide_password=True)
            raise UsageError(
                f"the database {public_url} holds a competition already; set {DATABASE} to the URL "
                "of an empty one"
            )
    with rows.open("rb") as file:
        file.readline()
        lines = (json.loads(line) for line in file)
        for name, group in groupby(lines, key=itemgetter("table")):
            table = TABLES.tables[name]
            while batch := list(islice(group, _ROWS_AT_ONCE)):
                values = [_read_row(table, line["row"]) for line in batch]
                connection.execute(sa.insert(table), values)
    if connection.dialect.name == "postgresql":
        _count_on(connection)


def _count_on(connection: sa.Connection) -> None:
    """Let PostgreSQL number new rows after the restored ones."""
    for table in TABLES.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            last = connection.scalar(sa.select(sa.func.max(column)))
            sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
            if last is not None:
                connection.execute(sa.select(sa.func.setval(sequence, last)))


def _read_row(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    def read(name: str, value: Any) -> Any:
        is_date = isinstance(table.c[name].type, Utc) and value is not None
        return datetime.fromisoformat(value) if is_date else value

    return {name: read(name, value) for name, value in row.items()}


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _value(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _files(folder: Path) -> Iterator[Path]:
    """The files of a backup, sorted; links are not followed."""
    for name in _CONTENTS:
        top = folder / name
        for each in [top] if top.is_file() else sorted(top.rglob("*")):
            is_unfinished = name in _WRITTEN and (each.name == LOCK or each.suffix == ".tmp")
            is_made_again = "__pycache__" in each.parts or each.name.endswith(_BESIDE)
            is_folder = each.is_dir() and not each.is_symlink()
            if not (is_unfinished or is_made_again or is_folder):
                yield each


@contextmanager
def _content(path: Path, drafts: Path) -> Iterator[BinaryIO]:
    """A file to read; of a SQLite database, one consistent state, as a draft in that folder.

    Raises StorageFailed.
    """
    if path.suffix != _SQLITE:
        with path.open("rb") as file:
            yield file
        return
    with tempfile.NamedTemporaryFile(suffix=_SQLITE, dir=drafts) as copy:
        try:
            _copy_sqlite(path, Path(copy.name))
        except sqlite3.Error as error:
            if not path.exists():
                raise FileNotFoundError from error
            raise StorageFailed(f"{path} cannot be read: {sqlite_text(error)}") from error
        with Path(copy.name).open("rb") as file:
            yield file


def _copy_sqlite(path: Path, to: Path) -> None:
    with (
        closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=PATIENCE_S)) as source,
        closing(sqlite3.connect(to)) as copy,
    ):
        source.backup(copy)
        # A single file: its journal, which is beside it now, is in it.
        copy.execute("PRAGMA journal_mode=DELETE")


def _about(name: str, size: int, of: Path | None = None) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    if of is not None:
        member.mode, member.mtime = of.stat().st_mode & 0o777, int(of.stat().st_mtime)
    return member


def _unpack(path: Path, folder: Path) -> None:
    """Raises UsageError for a file that is no backup, before anything of it is read."""
    try:
        with gzip.open(path) as whole, tarfile.open(fileobj=whole, mode="r:") as archive:
            members = archive.getmembers()
            if not members or members[0].name != ROWS or FILE not in archive.getnames():
                raise UsageError(f"{path} is no backup of a competition")
            for member in members:
                _unpack_one(archive, member, folder)
            while whole.read(_CHUNK):  # to its end, where its checksum is
                pass
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f"{path} is no backup of a competition, or damaged: {error}") from error
    except OSError as error:
        reason = error.strerror if error.filename in (path, str(path)) else error
        raise UsageError(f"{path} cannot be restored: {reason}") from error
    secrets = folder / "secrets"
    if secrets.is_dir():
        secrets.chmod(0o700)


def _unpack_one(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one file, which is inside the folder. Raises TarError.

    Python 3.11 has tarfile's own filters since 3.11.4 only; Debian 12's is older.
    """
    path = PurePosixPath(member.name)
    content = archive.extractfile(member) if member.isreg() else None
    if content is None or path.is_absolute() or ".." in path.parts:
        raise tarfile.TarError(f"{member.name!r} is no file inside of it")
    there = folder / path
    there.parent.mkdir(parents=True, exist_ok=True)
    with there.open("wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    there.chmod(0o600 | member.mode & 0o755)
    os.utime(there, (member.mtime, member.mtime))
