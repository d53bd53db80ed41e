"""Files that are not as they were written, and what is said of them."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from pathlib import Path

import pytest

from reglue.errors import NotVerified, TranscriptDamaged
from reglue_bench.runs.ledger import LedgerReader
from reglue_competition.transcript.framing import MAGIC, Kind, Place, RecordReader
from reglue_competition.transcript.transcript_reader import Transcript
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play
from tests.reglue_competition.transcript.transcripts import (
    PUBLIC_KEY,
    STRANGER,
    changed,
    written,
)


def test_a_transcript_holds_what_the_ledger_holds(transcript: Path, run: Path) -> None:
    with Transcript(transcript) as read, LedgerReader(run) as ledger:
        rows = list(ledger.rows())
        assert list(read.rows()) == rows
        for row, episode in zip(rows, read, strict=True):
            assert episode.actions == ledger.actions(row.unit, row.attempt, row.k)
        for unit in range(3):
            assert read.rewards(unit, 0).tobytes() == ledger.rewards(unit, 0).tobytes()
        assert read.header.plan == ledger.about["plan"]
        assert read.header.team == "Team A"


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    play(tmp_path / "run", corridor_plan(solved={"walk": [2]}, num_episodes=2), Seeded())
    path = written(tmp_path / "run", tmp_path / "run.reglue")
    whole = path.read_bytes()
    missed = []
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            with Transcript(path) as read:
                read.check_signature()
            missed.append(place)
        except NotVerified:
            pass
    assert missed == []


def test_a_damaged_record_is_named_by_its_number_and_place(transcript: Path) -> None:
    with Transcript(transcript) as read:
        place = read.place(4)
    content = bytearray(transcript.read_bytes())
    content[place.offset + 40] ^= 1
    transcript.write_bytes(content)
    with raises(TranscriptDamaged, "record 5", f"byte {place.offset}"):
        Transcript(transcript)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_is_told(transcript: Path, share: float) -> None:
    content = transcript.read_bytes()
    transcript.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TranscriptDamaged, match=r"at byte|begins with"):
        Transcript(transcript)


def test_nothing_may_follow_the_signature(transcript: Path) -> None:
    transcript.write_bytes(transcript.read_bytes() + b"\0")
    with raises(TranscriptDamaged, "65 bytes", 64):
        Transcript(transcript)


def test_what_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(1 << 22))
    for size in (1 << 20, 0xFFFFFFFF):
        path = tmp_path / "bomb.reglue"
        head = bytes([Kind.HEADER]) + len(bomb).to_bytes(4, "little") + size.to_bytes(4, "little")
        path.write_bytes(MAGIC + head + chained(head + bomb))
        with raises(TranscriptDamaged, path, "record 0", f"{size} bytes"):
            Transcript(path)


def chained(record: bytes) -> bytes:
    """A record's body, and the chain that fits the first one."""
    chain = hashlib.sha256(hashlib.sha256(MAGIC).digest() + record).digest()
    return record[9:] + chain


def test_records_stand_in_one_order(transcript: Path) -> None:
    for missing, wanted in ((Kind.EPISODE, 12), (Kind.HEADER, "HEADER")):
        path = transcript.with_name(missing.name)
        path.write_bytes(transcript.read_bytes())
        changed(path, lambda kind, content, missing=missing: None if kind is missing else content)  # type: ignore[misc]
        with raises(TranscriptDamaged, wanted):
            Transcript(path)


def test_a_signature_of_another_key_is_told_apart(transcript: Path) -> None:
    with Transcript(transcript) as read:
        read.check_signature()
        read.check_signature(PUBLIC_KEY)
        with raises(NotVerified, PUBLIC_KEY.hex()):
            read.check_signature(STRANGER.public_key().public_bytes_raw())


@pytest.mark.parametrize(
    ("kind", "number", "wanted"),
    [
        (Kind.HEADER, 0, 8 << 20),
        (Kind.EPISODE, 3, 128 << 20),
        (Kind.SCORE, 0, 8 << 20),
        (Kind.SCORE, 2048, 10 << 20),
    ],
)
def test_a_small_file_takes_little_memory(kind: Kind, number: int, wanted: int) -> None:
    """zlib makes 1 MiB of 1 KiB."""
    body = zlib.compress(bytes(1024))
    stored = wanted // 1024  # bytes that might unpack to more than there may be
    for size, is_taken in ((wanted, True), (wanted + 1, False)):
        head = struct.pack("<BII", kind, stored, size)
        reader = RecordReader(io.BytesIO(head + body.ljust(stored, b"\0") + bytes(32)))
        with raises(TranscriptDamaged, "changed" if is_taken else f"{size} bytes"):
            reader.record(Place(number, 0), bytes(32))
