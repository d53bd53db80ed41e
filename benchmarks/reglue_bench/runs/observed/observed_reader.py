"""Reads the file."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Self

from glue_server.episodes.observed import PART_BYTES
from reglue.errors import ReglueError, SpecError, UsageError
from reglue.spec import TaskSpec
from reglue.wire.spec_encoding import spec_from_bytes
from reglue_bench.run_folder import OBSERVED
from reglue_bench.runs.ledger import LedgerReader, tables
from reglue_bench.runs.ledger.storage import opened
from reglue_bench.runs.observed.observed_storage import (
    AnyRow,
    ObservedEpisode,
    damaged,
    facts,
    matched,
    translating_errors,
)

_REWARD_BYTES = 8


class ObservedReader:
    """Reads the file of a run's folder, also while the run goes on. A context manager.

    Every method raises RunDamaged for a file that was changed or damaged, and StorageFailed for
    one that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        """Raises UsageError for a run that was not recorded."""
        self._path = folder / OBSERVED
        if not self._path.is_file():
            raise UsageError(
                f"{folder} holds no dataset: there is no {OBSERVED}; `reglue bench … --record` "
                "records a run"
            )
        self._last_part: tuple[tuple[int, int] | None, bytes] = (None, b"")
        self._closing = ExitStack()
        try:
            with translating_errors(self._path):
                connection = closing(opened(folder, mode="ro", file=OBSERVED))
                self._connection = self._closing.enter_context(connection)
                self._about = facts(self._connection, self._path)
            observations, chosen = self.spec.observations, self.spec.actions
            self._action_bytes = sum(tensor.row_bytes for tensor in chosen)
            self._most_bytes = max(PART_BYTES, sum(tensor.row_bytes for tensor in observations))
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
        """The TaskSpec of observations and actions, of one slot."""
        try:
            return spec_from_bytes(self._about["spec"])
        except SpecError as error:
            raise damaged(self._path, f"its TaskSpec cannot be read: {error}") from error

    def paired(self, rows: Iterable[AnyRow]) -> Iterator[tuple[AnyRow, ObservedEpisode | None]]:
        """The ledger's rows in their order, each with its recorded episode; None: it is lost.

        An episode that ended before its first step has nothing to record.
        """
        with translating_errors(self._path):
            for row, episode in matched(rows, self._connection, self._path):
                if row is not None:
                    yield row, episode

    def observations(self, episode: ObservedEpisode) -> Iterator[bytes]:
        """The `steps + 1` observations, encoded, in parts that hold whole observations."""
        for place in range(episode.parts - 1):
            yield self._part(episode, place)
        yield self._last(episode)[0]

    def rewards_and_actions(self, episode: ObservedEpisode) -> tuple[bytes, bytes]:
        """Rewards (little-endian float64) and actions (encoded) of every step."""
        return self._last(episode)[1:]

    def _last(self, episode: ObservedEpisode) -> tuple[bytes, bytes, bytes]:
        part = self._part(episode, episode.parts - 1)
        rewards = len(part) - episode.steps * (_REWARD_BYTES + self._action_bytes)
        if rewards < 0:
            raise damaged(self._path, f"episode {episode.k} of unit {episode.unit} is too short")
        actions = rewards + episode.steps * _REWARD_BYTES
        return part[:rewards], part[rewards:actions], part[actions:]

    def _part(self, episode: ObservedEpisode, place: int) -> bytes:
        """The part that was read last is kept, as rewards and actions are in it, too."""
        key = (episode.number, place)
        if self._last_part[0] != key:
            self._last_part = (key, self._read(episode, place))
        return self._last_part[1]

    def _read(self, episode: ObservedEpisode, place: int) -> bytes:
        what = f"part {place} of episode {episode.k} of unit {episode.unit}"
        query = "SELECT zlib, digest FROM part WHERE number = ? AND place = ?"
        with translating_errors(self._path):
            part = self._connection.execute(query, (episode.number, place)).fetchone()
        if part is None:
            raise damaged(self._path, f"{what} is missing")
        blob, digest = part
        if tables.digest_of_blob(blob) != digest:
            raise damaged(self._path, f"{what} has changed")
        most = self._most_bytes + episode.steps * (_REWARD_BYTES + self._action_bytes)
        inflating = zlib.decompressobj()
        with suppress(zlib.error):
            rows = inflating.decompress(blob, most + 1)
            if inflating.eof and len(rows) <= most:
                return rows
        raise damaged(self._path, f"{what} does not unpack to at most {most:,} bytes")


def counted(ledger: LedgerReader) -> tuple[int, int]:
    """The number of recorded episodes with steps, and the number of lost ones.

    Of a file that is not there or cannot be read, all are.
    """
    recorded = lost = 0
    try:
        with ObservedReader(ledger.folder) as observed:
            for row, episode in observed.paired(ledger.rows()):
                recorded += bool(row.steps and episode)
                lost += bool(row.steps and not episode)
    except ReglueError:
        return 0, sum(row.steps > 0 for row in ledger.rows())
    return recorded, lost
