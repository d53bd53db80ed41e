"""Reads a transcript, which may be a stranger's."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reglue.errors import NotVerified, TranscriptDamaged, UsageError
from reglue_bench.runs.ledger import Row
from reglue_competition.transcript.contents import Episode, Header, Score, read_content
from reglue_competition.transcript.framing import Kind, Place, Record, RecordReader


class Transcript:
    """A transcript whose chain holds, and whose records are as the format says.

    Its signature is not checked yet: see `check_signature`. A context manager that closes the
    file. Each episode takes 16 bytes of memory.
    """

    header: Header
    score: Score

    def __init__(self, path: Path) -> None:
        """Read and check a file. Raises UsageError (no such file), TranscriptDamaged."""
        self._offsets, self._units = array("Q"), array("Q")  # of episodes
        self._last: tuple[int, int] = (-1, -1)  # unit and k of the last
        self._steps = 0  # of its unit, so far
        self._closing = ExitStack()
        try:
            file = self._closing.enter_context(path.open("rb"))
            self._reader = RecordReader(file)
            self._read()
        except OSError as error:
            self.close()
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        except TranscriptDamaged as error:
            self.close()
            raise TranscriptDamaged(f"{path}: {error}") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._closing.close()

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self._offsets)

    def __iter__(self) -> Iterator[Episode]:
        """All episodes, read again one by one."""
        return map(self.episode, range(len(self)))

    def place(self, number: int) -> Place:
        """The position of episode `number`, from 0."""
        return Place(number + 1, self._offsets[number])

    def episode(self, number: int) -> Episode:
        """Episode `number`, from 0."""
        return read_episode(self._reader, self.place(number))

    def rows(self) -> Iterator[Row]:
        """The row of every episode, as in a ledger."""
        return (episode.facts.row for episode in self)

    def rewards(self, unit: int, attempt: int) -> npt.NDArray[np.float64]:
        """The rewards of a unit, step by step over its episodes, shape (steps,)."""
        parts: list[npt.NDArray[np.float64]] = [np.zeros(0)]
        for number in range(bisect_left(self._units, unit), bisect_left(self._units, unit + 1)):
            rewards = self.episode(number).rewards
            parts += [] if rewards is None else [rewards]
        return np.concatenate(parts)

    def check_signature(self, public_key: bytes | None = None) -> None:
        """Raise NotVerified unless this key, or else the header's, signed the last chain."""
        public = bytes.fromhex(self.header.public_key)
        if public_key not in (None, public):
            raise NotVerified(got=f"a transcript signed by {public.hex()}", wanted=public_key.hex())
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(self._signature, self._chain)
        except (InvalidSignature, ValueError) as error:
            raise NotVerified(
                f"the signature is not {public.hex()}'s: the file was changed after it was signed"
            ) from error

    def _read(self) -> None:
        for record in self._reader.records():
            match record.kind:
                case Kind.HEADER if record.place.number == 0:
                    self.header = read_content(Header, record.content, record.place)
                case Kind.EPISODE if record.place.number > 0:
                    self._take(Episode.from_bytes(record.content, record.place), record)
                case Kind.SCORE if record.place.number > 0:
                    self.score = read_content(Score, record.content, record.place)
                    self._end(record)
                case kind:
                    raise record.place.damaged(got=kind.name, wanted="one HEADER, and it first")

    def _take(self, episode: Episode, record: Record) -> None:
        facts = episode.facts
        at = facts.unit, facts.k
        if at <= self._last:
            raise record.place.damaged(
                got=(
                    f"unit {facts.unit}, episode {facts.k} after unit {self._last[0]}, "
                    f"episode {self._last[1]}"
                ),
                wanted="them in order",
            )
        if facts.unit != self._last[0]:
            self._steps = 0
        if facts.cell.steps_before != self._steps:
            raise record.place.damaged(
                got=f"{facts.cell.steps_before} steps before it", wanted=self._steps
            )
        self._last, self._steps = at, self._steps + facts.steps
        self._offsets.append(record.place.offset)
        self._units.append(facts.unit)

    def _end(self, record: Record) -> None:
        if self.score.episodes != len(self):
            raise record.place.damaged(got=f"{len(self)} episodes", wanted=self.score.episodes)
        self._chain, self._signature = record.chain, self._reader.signature(record.end)


def read_episode(reader: RecordReader, place: Place) -> Episode:
    """The episode at a place where one was before. Raises TranscriptDamaged."""
    return Episode.from_bytes(reader.again(place).content, place)
