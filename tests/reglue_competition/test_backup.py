from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tarfile
import tracemalloc
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from reglue.errors import StorageFailed, UsageError
from reglue_competition.backup import ROWS, back_up, restore
from reglue_competition.competition_folder import DATABASE, CompetitionFolder
from reglue_competition.definition import FILE
from reglue_competition.phases import reveal_file
from reglue_competition.skeleton.new_competition import write_competition
from reglue_competition.store import Run
from reglue_competition.store.database import Database
from reglue_competition.store.schema import TABLES
from tests.error_facts import raises
from tests.reglue_competition.postgresql import PostgreSQL


@pytest.fixture
def original(tmp_path: Path) -> CompetitionFolder:
    """A competition on SQLite, in which something of each kind was done."""
    return competition(tmp_path)


def competition(tmp_path: Path) -> CompetitionFolder:
    path = tmp_path / "original"
    path.mkdir(mode=0o700)
    write_competition(path, name="mine", title="Mine", address="a.b:1", database=None)
    found = CompetitionFolder.read(path)
    with found.store() as store:
        found.open_phase(store, "practice")
        team = store.add_team("Tëam")
        store.new_token(team, datetime(2100, 1, 1, tzinfo=UTC))
        entered = store.enter(team, "sarsa", datetime.now(UTC))
        store.set_progress(entered.id, {"units": [1, 2]})
        store.record_run(Run(entered.id, 0, "x", "complete", "", 0.1 + 0.2, None, 1.0, "{}", "ab"))
        store.note("odd", words="é\0\ud800")
    run = found.runs_path / entered.id / "0"
    run.mkdir(parents=True)
    (run / "result.json").write_text("{}")
    (found.transcripts_path / "a.reglue").write_bytes(b"\0\1")
    reveal_file(path, "practice").parent.mkdir()
    reveal_file(path, "practice").write_text("{}")
    return found


def rows(url: str) -> dict[str, list[tuple[object, ...]]]:
    """All that a database holds."""

    def every(connection: sa.Connection) -> dict[str, list[tuple[object, ...]]]:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(sa.select(table).order_by(*table.primary_key))
            ]
            for table in TABLES.sorted_tables
        }

    with closing(Database(url)) as database:
        return database.read(every)


def files(path: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(path)): each.read_bytes()
        for each in path.rglob("*")
        if each.is_file() and not each.name.startswith("competition.sqlite")
    }


@pytest.mark.parametrize("goal", ["sqlite", "postgresql"])
def test_a_restored_competition_equals_the_original(
    url: str,
    goal: str,
    postgresql: PostgreSQL,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if url.startswith("postgresql"):
        monkeypatch.setenv(DATABASE, url)
    original = competition(tmp_path)
    before = original.database_url
    size = back_up(original, tmp_path / "backup.tar.gz")
    assert size == (tmp_path / "backup.tar.gz").stat().st_size
    assert stat.S_IMODE((tmp_path / "backup.tar.gz").stat().st_mode) == 0o600
    monkeypatch.delenv(DATABASE, raising=False)
    if goal == "postgresql":
        monkeypatch.setenv(DATABASE, postgresql.new_database())
    restored = restore(tmp_path / "backup.tar.gz", tmp_path / "restored")
    assert rows(restored.database_url) == rows(before)
    assert len(rows(before)["event"]) > 5
    assert files(restored.path) == files(original.path)
    assert restored.secrets().public_key == original.secrets().public_key
    assert stat.S_IMODE(restored.path.stat().st_mode) == 0o700
    with restored.store() as store:  # which goes on where the original ended
        last = store.events()[-1].id
        team = store.add_team("Another")
        assert store.events()[-1].id > last
        assert store.enter(team, "x", datetime.now(UTC)).status == "waiting"


def test_tasks_are_kept_whatever_their_files_are_called_and_links_are_named(
    original: CompetitionFolder, tmp_path: Path
) -> None:
    tasks, run = original.path / "tasks", next(original.runs_path.iterdir())
    for name in ("uv.lock", "Pipfile.lock", "flock.py", "block", "lock", "goals.tmp"):
        (tasks / name).write_text(name)
    (tasks / "goals").symlink_to(tasks / "block")
    kept = files(original.path)
    for name in ("lock", "result.json.tmp"):
        (run / name).write_text("of a program that runs")
    left_out: list[str] = []
    back_up(original, tmp_path / "backup.tar.gz", left_out.append)
    assert left_out == ["tasks/goals"]
    del kept["tasks/goals"]
    assert files(restore(tmp_path / "backup.tar.gz", tmp_path / "restored").path) == kept


def test_a_large_run_is_not_read_into_memory(original: CompetitionFolder, tmp_path: Path) -> None:
    run = next(original.runs_path.iterdir())
    with (run / "observed.bin").open("wb") as file:
        file.truncate(64 << 20)
    with closing(sqlite3.connect(run / "observed.sqlite")) as ledger:
        ledger.execute("CREATE TABLE seen AS SELECT zeroblob(67108864) AS pixels")
        ledger.commit()
    tracemalloc.start()
    try:
        back_up(original, tmp_path / "backup.tar.gz")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_ledger_that_is_written_to_is_kept_as_of_one_moment(
    original: CompetitionFolder, tmp_path: Path
) -> None:
    ledger = original.runs_path / "ledger.sqlite"
    with closing(sqlite3.connect(ledger, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE x (n)")
        writer.execute("INSERT INTO x VALUES (1)")
        writer.execute("BEGIN")
        writer.execute("INSERT INTO x VALUES (2)")
        back_up(original, tmp_path / "backup.tar.gz")
        writer.execute("COMMIT")
    with tarfile.open(tmp_path / "backup.tar.gz") as archive:
        archive.extract("runs/ledger.sqlite", tmp_path, filter="data")
        assert not [name for name in archive.getnames() if name.endswith("-wal")]
    with closing(sqlite3.connect(tmp_path / "runs" / "ledger.sqlite")) as kept:
        assert kept.execute("SELECT n FROM x").fetchall() == [(1,)]


def test_a_damaged_ledger_is_named(original: CompetitionFolder, tmp_path: Path) -> None:
    (original.runs_path / "ledger.sqlite").write_bytes(b"no database" * 1000)
    with raises(StorageFailed, original.runs_path / "ledger.sqlite", "not a database"):
        back_up(original, tmp_path / "backup.tar.gz")
    assert not list(tmp_path.glob("backup*"))


def test_a_backup_overwrites_nothing(original: CompetitionFolder, tmp_path: Path) -> None:
    back_up(original, tmp_path / "backup.tar.gz")
    with raises(UsageError, tmp_path / "backup.tar.gz", "exists"):
        back_up(original, tmp_path / "backup.tar.gz")
    with raises(UsageError, original.path, "not empty"):
        restore(tmp_path / "backup.tar.gz", original.path)


def test_a_database_that_holds_a_competition_is_not_restored_into(
    original: CompetitionFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(original, tmp_path / "backup.tar.gz")
    monkeypatch.setenv(DATABASE, original.database_url)
    before = rows(original.database_url)
    with raises(UsageError, original.database_url, DATABASE):
        restore(tmp_path / "backup.tar.gz", tmp_path / "restored")
    assert rows(original.database_url) == before
    assert not (tmp_path / "restored").exists()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.tar.gz"
    file.write_bytes(b"no archive")
    with raises(UsageError, file, "damaged", "gzipped"):
        restore(file, tmp_path / "restored")
    with tarfile.open(file, "w:gz") as archive:
        archive.add(__file__, "x.py")
    with raises(UsageError, file, "no backup"):
        restore(file, tmp_path / "restored")
    with raises(UsageError, tmp_path / "none", os.strerror(errno.ENOENT)):
        restore(tmp_path / "none", tmp_path / "restored")
    assert [each.name for each in tmp_path.iterdir()] == ["x.tar.gz"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../evil", tarfile.REGTYPE),
        ("/tmp/evil", tarfile.REGTYPE),
        ("runs/evil", tarfile.SYMTYPE),
        ("runs/evil", tarfile.FIFOTYPE),
    ],
)
def test_a_backup_writes_nothing_but_files_inside_its_folder(
    tmp_path: Path, name: str, kind: bytes
) -> None:
    file = tmp_path / "x.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for each in (ROWS, FILE, name):
            member = tarfile.TarInfo(each)
            member.linkname = "/etc/passwd"
            member.type = kind if each == name else tarfile.REGTYPE
            archive.addfile(member)
    with raises(UsageError, file, name):
        restore(file, tmp_path / "restored")
    assert [each.name for each in tmp_path.iterdir()] == ["x.tar.gz"]
    assert not Path("/tmp/evil").exists()


def test_a_damaged_backup_leaves_nothing(original: CompetitionFolder, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    back_up(original, file)
    whole = file.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for content in (whole[:-1], whole[:-2000], flipped):
        file.write_bytes(content)
        with raises(UsageError, file, "damaged"):
            restore(file, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()
