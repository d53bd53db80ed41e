"""The frame of a transcript: records, each compressed and chained to those before it.

    file      = magic, record, …, record, signature
    magic     = 93 52 45 47 4C 55 45 01 (its last byte is the version)
    record    = kind (u8), stored (u32), unpacked (u32), body, chain
    body      = `stored` bytes of zlib, `unpacked` bytes when unpacked
    chain     = SHA-256 (chain before ‖ kind ‖ stored ‖ unpacked ‖ body), 32 bytes
    signature = Ed25519 over the last chain, 64 bytes

The chain before the first record is the SHA-256 of the magic. Integers are little-endian.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO

from reglue.errors import BadArgument, TranscriptDamaged

MAGIC = b"\x93REGLUE\x01"
CHAIN_BYTES, SIGNATURE_BYTES = 32, 64

_HEAD = struct.Struct("<BII")
_MOST_RATIO = 1032  # of zlib's: what unpacks to more is no zlib


class Kind(IntEnum):
    """The kind of a record's content."""

    HEADER = 1
    EPISODE = 2
    SCORE = 3


_MOST_UNPACKED = {Kind.HEADER: 1 << 23, Kind.EPISODE: 1 << 27, Kind.SCORE: 1 << 23}  # bytes
_MOST_OF_AN_EPISODE = 1024  # bytes more in the score for each; curves of learning have a row for it


def most_unpacked(kind: int, number: int) -> int:
    """The most bytes of an unpacked record: limits the memory that a stranger's file takes."""
    return _MOST_UNPACKED[Kind(kind)] + (number * _MOST_OF_AN_EPISODE if kind == Kind.SCORE else 0)


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a record, for messages and for reading it again."""

    number: int  # from 0, the header's
    offset: int  # of its first byte in the file

    def damaged(self, *what: str, got: object = "", wanted: object = "") -> TranscriptDamaged:
        """The error for a record that is not as it was written."""
        where = f"record {self.number}, at byte {self.offset}"
        return TranscriptDamaged(where, *what, got=got, wanted=wanted)


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read."""

    place: Place
    kind: Kind
    content: bytes  # unpacked
    chain: bytes  # after it
    end: int  # where the next one begins


def first_chain() -> bytes:
    """The chain before the first record."""
    return hashlib.sha256(MAGIC).digest()


def write_record(
    file: BinaryIO, kind: Kind, unpacked: bytes, chain: bytes, *, number: int = 0
) -> bytes:
    """Append record `number` after `chain`. Returns the chain after it.

    Raises BadArgument if it is too long.
    """
    if len(unpacked) > (most := most_unpacked(kind, number)):
        raise BadArgument(f"{kind.name} of {len(unpacked)} bytes, wanted at most {most}")
    body = zlib.compress(unpacked)
    head = _HEAD.pack(kind, len(body), len(unpacked))
    chain = _chained(chain, head, body)
    file.writelines((head, body, chain))
    return chain


class RecordReader:
    """Reads the records of a stranger's file, and checks that each is chained to those before it.

    Every method raises TranscriptDamaged. Nothing is unpacked before the chain holds.
    """

    def __init__(self, file: BinaryIO) -> None:
        """The file stays its owner's to close."""
        self._file = file
        self._bytes = file.seek(0, os.SEEK_END)

    def records(self) -> Iterator[Record]:
        """All records up to the score."""
        self._file.seek(0)
        if (magic := self._file.read(len(MAGIC))) != MAGIC:
            wanted = f"wanted {MAGIC.hex()}, as transcripts of this version"
            raise TranscriptDamaged(f"got a file that begins with {magic.hex()}, {wanted}")
        chain, place, kind = first_chain(), Place(0, len(MAGIC)), None
        while kind is not Kind.SCORE:
            record = self.record(place, chain)
            yield record
            chain, kind = record.chain, record.kind
            place = Place(place.number + 1, record.end)

    def record(self, place: Place, chain: bytes) -> Record:
        """The record at a place, after `chain`."""
        self._file.seek(place.offset)
        left = self._bytes - place.offset
        if left < _HEAD.size:
            raise place.damaged(f"the file ends {left} bytes later, before its score")
        head = self._file.read(_HEAD.size)
        kind, stored, size = _HEAD.unpack(head)
        if kind not in _MOST_UNPACKED:
            raise place.damaged(got=f"kind {kind}", wanted="1, 2 or 3")
        if _HEAD.size + stored + CHAIN_BYTES > left:
            raise place.damaged(f"got {stored} bytes of content, but the file ends before")
        if size > min(most_unpacked(kind, place.number), stored * _MOST_RATIO):
            raise place.damaged(f"got {size} bytes when unpacked, more than there can be")
        body, link = self._file.read(stored), self._file.read(CHAIN_BYTES)
        if _chained(chain, head, body) != link:
            raise place.damaged("its bytes, or those before it, were changed")
        end = place.offset + _HEAD.size + stored + CHAIN_BYTES
        return Record(place, Kind(kind), _unpacked(body, size, place), link, end)

    def again(self, place: Place) -> Record:
        """A record, not the first, that was read before."""
        self._file.seek(place.offset - CHAIN_BYTES)
        return self.record(place, self._file.read(CHAIN_BYTES))

    def signature(self, offset: int) -> bytes:
        """The signature after the score, the last bytes of the file."""
        if (left := self._bytes - offset) != SIGNATURE_BYTES:
            wanted = f"wanted {SIGNATURE_BYTES}"
            raise TranscriptDamaged(f"signature, at byte {offset}: got {left} bytes, {wanted}")
        self._file.seek(offset)
        return self._file.read(SIGNATURE_BYTES)


def _chained(chain: bytes, head: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(chain)
    digest.update(head)
    digest.update(body)
    return digest.digest()


def _unpacked(body: bytes, size: int, place: Place) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(body, size + 1)  # never more than it says
    except zlib.error as error:
        raise place.damaged("its content is no zlib") from error
    if len(unpacked) != size or not unpacking.eof or unpacking.unused_data:
        raise place.damaged(f"its content does not unpack to {size} bytes")
    return unpacked
