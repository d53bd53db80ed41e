"""What agents saw and did in a run, in a file beside the ledger: the source of its dataset.

Parts are written as episodes are played; an episode counts once the ledger holds its try. So a
process that is killed at any point leaves nothing to mend: what the ledger does not hold is played
again, and what is here without it is deleted. A disk that is full costs episodes of the dataset,
never the run.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from glue_server import Outcome
from glue_server.episodes.observed import PART_BYTES
from reglue.errors import PlanDiffers, ReglueError, RunDamaged, SpecError, StorageFailed, UsageError
from reglue.spec import TaskSpec
from reglue.wire.specs import spec_from_bytes, spec_to_bytes
from reglue_bench.runs.ledger import LedgerReader, Row, Try, digests
from reglue_bench.runs.ledger.storage import BUSY, DISK, code_of, opened, words_of

FILE = "observed.sqlite"

FORMAT = b"1"

RESERVE_BYTES = 16 * 1024 * 1024
"""Of the disk: left to the ledger, whose rows are small."""

_COMPRESSION = 1  # zlib's level: fast
_REWARD_BYTES = 8
_AT_ONCE = 200  # rows that are read

TABLES = sa.MetaData()
_about = sa.Table(
    "about",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
_episodes = sa.Table(
    "episode",
    TABLES,
    *(sa.Column(name, sa.Integer, primary_key=True) for name in ("unit", "k", "attempt")),
    sa.Column("number", sa.Integer, nullable=False),  # of its parts
    sa.Column("parts", sa.Integer, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("terminated", sa.Boolean, nullable=False),
    sa.Column("truncated", sa.Boolean, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the row
)
_parts = sa.Table(
    "part",
    TABLES,
    *(sa.Column(name, sa.Integer, primary_key=True) for name in ("number", "place")),
    sa.Column("zlib", sa.LargeBinary, nullable=False),  # see ObservedParts.take
    sa.Column("digest", sa.LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ObservedEpisode:
    """An episode of the file: the columns of its table."""

    unit: int
    k: int
    attempt: int
    number: int
    parts: int
    steps: int
    terminated: bool  # by its last step
    truncated: bool


_ONE_PART = sa.select(_parts.c.zlib, _parts.c.digest).where(
    *(_parts.c[name] == sa.bindparam(name) for name in ("number", "place"))
)

_COLUMNS = len(ObservedEpisode.__dataclass_fields__)

_Row = TypeVar("_Row", bound=Row)


class ObservedReader:
    """Reads the file of a run's folder, also while the run goes on. A context manager.

    Every method raises RunDamaged for a file that was changed or damaged, and StorageFailed for
    one that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        """Raises UsageError for a run that was not recorded."""
        self._path = folder / FILE
        if not self._path.is_file():
            raise UsageError(
                f"{folder} holds no dataset: there is no {FILE}; `reglue bench … --record` "
                "records a run"
            )
        self._held: tuple[Mapping[str, int], bytes] = ({}, b"")
        self._closing = ExitStack()
        try:
            with _told(self._path):
                engine = opened(folder, mode="ro", file=FILE)
                self._closing.callback(engine.dispose)
                self._connection = self._closing.enter_context(engine.connect())
                self._about = _facts(self._connection, self._path)
            seen, chosen = self.spec.observations, self.spec.actions
            self._action_bytes = sum(tensor.row_bytes for tensor in chosen)
            self._most_bytes = max(PART_BYTES, sum(tensor.row_bytes for tensor in seen))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._closing.close()

    @property
    def spec(self) -> TaskSpec:
        """What observations and actions are; of one slot."""
        try:
            return spec_from_bytes(self._about["spec"])
        except SpecError as error:
            raise _damaged(self._path, f"its TaskSpec cannot be read: {error}") from error

    def paired(self, rows: Iterable[_Row]) -> Iterator[tuple[_Row, ObservedEpisode | None]]:
        """Each of the ledger's rows, in their order, with what was observed in it; None: lost.

        An episode that ended before its first step has nothing to record.
        """
        with _told(self._path):
            for row, episode in _matched(rows, self._connection, self._path):
                if row is not None:
                    yield row, episode

    def observations(self, episode: ObservedEpisode) -> Iterator[bytes]:
        """Its `steps + 1` observations as on the wire, in parts of whole ones."""
        for place in range(episode.parts - 1):
            yield self._part(episode, place)
        yield self._last(episode)[0]

    def rewards_and_actions(self, episode: ObservedEpisode) -> tuple[bytes, bytes]:
        """Of every step, as on the wire; rewards are little-endian float64."""
        return self._last(episode)[1:]

    def _last(self, episode: ObservedEpisode) -> tuple[bytes, bytes, bytes]:
        part = self._part(episode, episode.parts - 1)
        rewards = len(part) - episode.steps * (_REWARD_BYTES + self._action_bytes)
        if rewards < 0:
            raise _damaged(self._path, f"episode {episode.k} of unit {episode.unit} is too short")
        actions = rewards + episode.steps * _REWARD_BYTES
        return part[:rewards], part[rewards:actions], part[actions:]

    def _part(self, episode: ObservedEpisode, place: int) -> bytes:
        """The part that was read last is kept, as rewards and actions are in it, too."""
        key = {"number": episode.number, "place": place}
        if self._held[0] != key:
            self._held = (key, self._read(episode, place, key))
        return self._held[1]

    def _read(self, episode: ObservedEpisode, place: int, key: Mapping[str, int]) -> bytes:
        with _told(self._path):
            found = self._connection.execute(_ONE_PART, key).first()
        if found is None or digests.of_blob(found.zlib) != found.digest:
            what = f"part {place} of episode {episode.k} of unit {episode.unit}"
            raise _damaged(self._path, f"{what} {'is missing' if found is None else 'has changed'}")
        most = self._most_bytes + episode.steps * (_REWARD_BYTES + self._action_bytes)
        inflating = zlib.decompressobj()
        with suppress(zlib.error):
            rows = inflating.decompress(found.zlib, most + 1)
            if inflating.eof and len(rows) <= most:
                return rows
        what = f"part {place} of episode {episode.k} of unit {episode.unit}"
        raise _damaged(self._path, f"{what} does not unpack to at most {most:,} bytes")


class ObservedWriter:
    """Writes the file, in the thread of a run's Recorder."""

    def __init__(self, ledger: LedgerReader, spec: TaskSpec, plan_sha256: str) -> None:
        """Begin the file beside a ledger that is open for writing, or continue it.

        What the ledger does not hold is deleted. Raises PlanDiffers for the file of another run,
        RunDamaged, and StorageFailed if it cannot be written at all.
        """
        folder = ledger.folder
        self._path = folder / FILE
        self._lost: set[int] = set()  # numbers of episodes of which a part is lost
        self.failure: str | None = None  # the first one, in words
        about = {
            "format": FORMAT,
            "plan": plan_sha256.encode(),
            "spec": spec_to_bytes(spec.with_slots(1)),
        }
        with _told(self._path):
            self._path.touch(mode=0o600)
            self._engine = opened(folder, mode="rw", file=FILE, synchronous="NORMAL")
            try:
                first = self._begin(about, ledger)
            except BaseException:
                self._engine.dispose()
                raise
        self._numbers = count(first)

    def next_number(self) -> int:
        """Of an episode that begins; no other of the file has it."""
        return next(self._numbers)

    def write(self, parts: Sequence[tuple[int, int, bytes]], tries: Sequence[Try]) -> None:
        """Write parts (number, place, rows) and the episodes of tries, in one transaction.

        What cannot be written is lost to the dataset, and `failure` says why.
        """
        ended = [(each.attempt, outcome) for each in tries for outcome in each.outcomes]
        try:
            self._check_room(sum(len(rows) for _, _, rows in parts))
            episodes = [each for each in ended if _number(each[1]) not in {None, *self._lost}]
            with _told(self._path), self._engine.begin() as connection:
                _insert(connection, _parts, [_part(*each) for each in parts])
                _insert(connection, _episodes, [_episode(*each) for each in episodes])
        except (ReglueError, OSError) as error:
            self.failure = self.failure or str(error)
            self._lost.update(number for number, _, _ in parts)
        self._lost.difference_update(_number(outcome) or 0 for _, outcome in ended)

    def close(self) -> None:
        """Leave a single file."""
        with suppress(sa.exc.SQLAlchemyError), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=0")
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
        self._engine.dispose()

    def _begin(self, about: Mapping[str, bytes], ledger: LedgerReader) -> int:
        """Check or make the tables, and delete what does not count. Returns the next number."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        with self._engine.begin() as connection:
            TABLES.create_all(connection)  # a process that was killed may have made some
            if not connection.execute(sa.select(_about)).first():
                _insert(connection, _about, [{"name": n, "value": v} for n, v in about.items()])
                return 1
            self._check_same(_facts(connection, self._path), about)
            pairs = list(_without_row(ledger.rows(), connection, self._path))
            for each in pairs:
                key = {name: getattr(each, name) for name in ("unit", "k", "attempt")}
                connection.execute(sa.delete(_episodes).filter_by(**key))
            kept = sa.select(_episodes.c.number)
            connection.execute(sa.delete(_parts).where(_parts.c.number.not_in(kept)))
            return 1 + (
                connection.execute(sa.select(sa.func.max(kept.subquery().c.number))).scalar() or 0
            )

    def _check_same(self, found: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> None:
        differ = [name for name, value in wanted.items() if found[name] != value]
        if differ:
            raise PlanDiffers(
                f"{self._path} was recorded by another run: its {' and '.join(differ)} differ; "
                "put this run's own file there, or delete it: what was recorded then counts as lost"
            )

    def _check_room(self, wanted: int) -> None:
        disk = os.statvfs(self._path.parent)
        free = disk.f_bavail * disk.f_frsize
        if free - wanted < RESERVE_BYTES:
            raise StorageFailed(
                f"{self._path}: the disk has {free:,} bytes left, of which {RESERVE_BYTES:,} are "
                "kept for the ledger"
            )


def counted(ledger: LedgerReader) -> tuple[int, int]:
    """How many episodes with steps are in the file of a run, and how many are lost to it.

    Of a file that is not there or cannot be read, all are.
    """
    found = lost = 0
    try:
        with ObservedReader(ledger.folder) as observed:
            for row, episode in observed.paired(ledger.rows()):
                found += bool(row.steps and episode)
                lost += bool(row.steps and not episode)
    except ReglueError:
        return 0, sum(row.steps > 0 for row in ledger.rows())
    return found, lost


def _facts(connection: sa.Connection, path: Path) -> dict[str, bytes]:
    has_begun = sa.inspect(connection).has_table(_about.name)
    about = connection.execute(sa.select(_about)).all() if has_begun else []
    found = {row.name: row.value for row in about}
    if not found:
        raise UsageError(f"{path.parent} holds no dataset: nothing was recorded yet")
    if found.get("format") != FORMAT or not {"plan", "spec"} <= found.keys():
        raise UsageError(
            f"{path}: got format {found.get('format', b'none').decode(errors='replace')}, wanted "
            f"{FORMAT.decode()}: it was written by another version of reglue, or is damaged"
        )
    return found


def _matched(
    rows: Iterable[_Row], connection: sa.Connection, path: Path
) -> Iterator[tuple[_Row | None, ObservedEpisode | None]]:
    """Rows of the ledger with their episodes; either may be missing."""
    found = _in_order(connection, path)
    ahead = next(found, None)
    for row in rows:
        own: ObservedEpisode | None = None
        while ahead is not None and (ahead.unit, ahead.k) <= (row.unit, row.k):
            if (ahead.unit, ahead.k, ahead.attempt) == (row.unit, row.k, row.attempt):
                own = ahead
            else:
                yield None, ahead
            ahead = next(found, None)
        if own is not None and own.steps != row.steps:
            what = f"episode {row.k} of unit {row.unit} has {own.steps} steps"
            raise _damaged(path, f"{what}, in the ledger {row.steps}")
        yield row, own
    while ahead is not None:
        yield None, ahead
        ahead = next(found, None)


def _without_row(
    rows: Iterable[Row], connection: sa.Connection, path: Path
) -> Iterator[ObservedEpisode]:
    for row, episode in _matched(rows, connection, path):
        if row is None and episode is not None:
            yield episode


def _in_order(connection: sa.Connection, path: Path) -> Iterator[ObservedEpisode]:
    query = sa.select(_episodes).order_by(*_episodes.primary_key)
    for some in connection.execute(query).partitions(_AT_ONCE):
        for row in some:
            if digests.of_row(*row[:_COLUMNS]) != row.digest:
                raise _damaged(path, f"episode {row.k} of unit {row.unit} has changed")
            yield ObservedEpisode(*row[:_COLUMNS])


def _number(outcome: Outcome) -> int | None:
    """Of an episode with steps."""
    return outcome.observed.number if outcome.observed is not None and outcome.steps else None


def _part(number: int, place: int, rows: bytes) -> dict[str, Any]:
    blob = zlib.compress(rows, _COMPRESSION)
    return {"number": number, "place": place, "zlib": blob, "digest": digests.of_blob(blob)}


def _episode(attempt: int, outcome: Outcome) -> dict[str, Any]:
    seen = outcome.observed
    assert seen is not None
    values = (
        outcome.order.unit,
        outcome.order.k,
        attempt,
        seen.number,
        seen.parts,
        outcome.steps,
        seen.terminated,
        seen.truncated,
    )
    names = ObservedEpisode.__dataclass_fields__
    return dict(zip(names, values, strict=True)) | {"digest": digests.of_row(*values)}


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), rows)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: StorageFailed, RunDamaged."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _ours(path, error.orig) from error.orig
    except sqlite3.Error as error:  # while it is opened
        raise _ours(path, error) from error
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error


def _ours(path: Path, error: BaseException | None) -> ReglueError:
    words, code = words_of(error), code_of(error)
    if code in DISK | BUSY:
        return StorageFailed(f"{path} cannot be used: {words}")
    return _damaged(path, words)


def _damaged(path: Path, what: str) -> RunDamaged:
    return RunDamaged(
        f"{path} is damaged: {what}; take it from a copy, or delete it: what was recorded then "
        "counts as lost, and the run itself is whole"
    )
