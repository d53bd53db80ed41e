"""Messages between our own processes: what is sent arrives, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glue_server.processes.message_codec import LENGTHS, Codec, UnknownMessage, encoded


class Colour(IntEnum):
    """Numbered."""

    RED = 1
    BLUE = 2


@dataclass(frozen=True, slots=True)
class Part:
    """A dataclass within."""

    number: int
    block: bytes


@dataclass(frozen=True, slots=True)
class Everything:
    """Each type that a field may have."""

    words: str
    real: float
    flag: bool
    colour: Colour
    word: Literal["yes", "no"]
    block: bytes | None
    pair: tuple[int, str]
    parts: tuple[Part, ...]
    files: Mapping[str, bytes]
    free: Any


CODEC: Codec[Everything | Part | bytes] = Codec(Everything | Part | bytes)
SOME = Everything("a", 1.5, True, Colour.BLUE, "no", None, (1, "b"), (), {}, None)


def decoded(sent: bytes, codec: Codec[Any] = CODEC) -> object:
    """As the other end decodes it."""
    head_bytes, body_bytes = LENGTHS.unpack(sent[: LENGTHS.size])
    rest = memoryview(sent)[LENGTHS.size :]
    assert len(rest) == head_bytes + body_bytes
    return codec.decode(rest[:head_bytes], rest[head_bytes:])


PARTS = st.builds(Part, number=st.integers(), block=st.binary())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda within: st.lists(within) | st.dictionaries(st.text(), within),
    max_leaves=5,
)


@given(
    st.builds(
        Everything,
        words=st.text(),
        real=st.floats(allow_nan=False),
        flag=st.booleans(),
        colour=st.sampled_from(Colour),
        word=st.sampled_from(["yes", "no"]),
        block=st.none() | st.binary(),
        pair=st.tuples(st.integers(), st.text()),
        parts=st.lists(PARTS).map(tuple),
        files=st.dictionaries(st.text(), st.binary()),
        free=JSON,
    )
    | PARTS
    | st.binary()
)
def test_what_is_sent_arrives(message: object) -> None:
    assert decoded(encoded(message)) == message


def test_bytes_alone_have_no_head() -> None:
    assert encoded(b"rows") == LENGTHS.pack(0, 4) + b"rows"
    assert encoded(b"") == bytes(8)


def framed(head: bytes, body: bytes = b"") -> bytes:
    """A message whose head is written by hand."""
    return LENGTHS.pack(len(head), len(body)) + head + body


def changed(place: int, value: object) -> bytes:
    """SOME, with another value of a field."""
    sent = encoded(SOME)
    name, values = json.loads(sent[LENGTHS.size :])
    values[place] = value
    return framed(json.dumps([name, values]).encode())


@pytest.mark.parametrize(
    "sent",
    [
        framed(b'["Stranger", []]'),
        framed(b'[["Part"], [1, 0]]'),
        framed(b"{}"),
        framed(b"no json"),
        framed(b'["Part", [1]]'),
        framed(b'["Part", [1, 0, 2]]'),
        framed(b'["Part", {"number": 1}]'),
        framed(b'["Part", [1, 3]]', b"ab"),
        framed(b'["Part", [1, -1]]', b"ab"),
        framed(b'["Part", [1, 1]]', b"ab"),
        framed(b'["Part", ["1", 0]]'),
        framed(b'["Part", [true, 0]]'),
        *(changed(place, [[]]) for place in range(6)),
        changed(3, 7),
        changed(4, "perhaps"),
        changed(6, [1]),
        changed(7, {}),
        changed(8, []),
        changed(8, {"a": "b"}),
    ],
)
def test_a_strange_or_malformed_message_is_an_error(sent: bytes) -> None:
    with pytest.raises(UnknownMessage):
        decoded(sent)


def test_bytes_alone_are_an_error_where_they_are_not_wanted() -> None:
    with pytest.raises(UnknownMessage):
        decoded(framed(b"", b"rows"), Codec(Part))


def test_an_error_shows_no_value() -> None:
    """A message may hold a token."""
    with pytest.raises(UnknownMessage) as caught:
        decoded(framed(b'["Part", ["a secret", 0]]'))
    assert "a secret" not in str(caught.value)


def test_a_type_that_no_message_may_have_is_refused_at_once() -> None:
    @dataclass(frozen=True)
    class Pickled:
        """Of a type that would have to be pickled."""

        of: object

    with pytest.raises(TypeError):
        Codec(Pickled)
