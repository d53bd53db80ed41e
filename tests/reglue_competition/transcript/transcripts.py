"""Transcripts of small runs, and transcripts that somebody changed."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reglue_competition.transcript.contents import Episode
from reglue_competition.transcript.framing import (
    MAGIC,
    Kind,
    Place,
    RecordReader,
    first_chain,
    write_record,
)
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript

ORGANISER = Ed25519PrivateKey.from_private_bytes(bytes(32))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1")
PUBLIC_KEY = ORGANISER.public_key().public_bytes_raw()

Change = Callable[[Kind, bytes], bytes | None]
"""Changes a record's content; None: it is left out."""


def written(folder: Path, path: Path) -> Path:
    """The transcript of the run in `folder`."""
    header = RunIdentity("cup", "private", "s1", 0, "Team A", 0, PUBLIC_KEY)
    write_transcript(path, header=header, folder=folder, sign=ORGANISER.sign)
    return path


def changed(path: Path, change: Change, *, key: Ed25519PrivateKey = ORGANISER) -> Path:
    """The same with other contents, its chain made anew, and signed."""
    draft = io.BytesIO()
    draft.write(MAGIC)
    chain = first_chain()
    for record in RecordReader(io.BytesIO(path.read_bytes())).records():
        content = change(record.kind, record.content)
        if content is not None:
            chain = write_record(draft, record.kind, content, chain)
    draft.write(key.sign(chain))
    path.write_bytes(draft.getvalue())
    return path


def with_episode(number: int, change: Callable[[Episode], Episode]) -> Change:
    """Changes the episode of that number, from 0."""
    numbers = count()

    def of(kind: Kind, content: bytes) -> bytes:
        if kind is not Kind.EPISODE or next(numbers) != number:
            return content
        return change(Episode.from_bytes(content, Place(0, 0))).to_bytes()

    return of
