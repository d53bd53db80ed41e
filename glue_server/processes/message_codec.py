"""Messages between processes of our own: frozen dataclasses, with one codec for all of them.

On a socket a message is two lengths (uint32, big-endian), a JSON head and a binary body. The head
is the name of the dataclass and the values of its fields, in their order; a dataclass within is a
list of values. Bytes are in the body, one block after another: the head has their lengths.

Bytes alone may be a message, too: the one that goes at every step. It has no head, as JSON would
cost too much there.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Any,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

LENGTHS = struct.Struct(">II")
"""The lengths of a message's head and body."""

M = TypeVar("M")


class UnknownMessage(AssertionError):
    """A mistake of ours, or two ends of different versions."""


def encoded(message: object) -> bytes:
    """A message as bytes: its lengths, head and body."""
    if isinstance(message, bytes):
        return LENGTHS.pack(0, len(message)) + message
    blocks: list[bytes] = []

    def as_json(value: Any) -> object:
        if not isinstance(value, bytes):
            within: Any = type(value)
            return _values(within)(value)
        blocks.append(value)
        return len(value)

    head = json.dumps([type(message).__name__, message], default=as_json).encode()
    return b"".join([LENGTHS.pack(len(head), sum(map(len, blocks))), head, *blocks])


def unexpected(message: object) -> UnknownMessage:
    """For a message that may come, but not now."""
    return UnknownMessage(f"got a {type(message).__name__}, wanted another message now")


class Codec(Generic[M]):
    """Decodes the messages that one end of a channel may receive."""

    def __init__(self, *messages: Any) -> None:
        """Each is a dataclass, bytes or a union of some. Raises TypeError for other fields."""
        kinds: list[Any] = [kind for each in messages for kind in get_args(each) or [each]]
        self._readers = {kind.__name__: _reader(kind) for kind in kinds if kind is not bytes}
        self._takes_bytes = bytes in kinds

    def decode(self, head: memoryview, body: memoryview) -> M:
        """Decode a message's head and body. Raises UnknownMessage."""
        message: M
        if self._takes_bytes and not head:
            message = bytes(body)  # type: ignore[assignment] # M is a union with it
            return message
        name = None
        try:
            name, values = json.loads(bytes(head))
            blocks = _Blocks(body)
            message = self._readers[name](values, blocks)
            blocks.check_end()
        except (ValueError, KeyError, TypeError) as error:
            is_known = isinstance(name, str) and name in self._readers
            wanted = f"its fields: {error}" if is_known else f"one of {', '.join(self._readers)}"
            raise UnknownMessage(
                f"got a message {name!r}, wanted {wanted}; are both ends of one version?"
            ) from error
        return message


class _Blocks:
    """A message's body, from which its blocks are taken one after another."""

    def __init__(self, body: memoryview) -> None:
        self._left = body

    def take(self, size: object) -> bytes:
        if type(size) is not int or not 0 <= size <= len(self._left):
            raise ValueError(f"got {len(self._left)} bytes, wanted {size!r}")
        block, self._left = bytes(self._left[:size]), self._left[size:]
        return block

    def check_end(self) -> None:
        if self._left:
            raise ValueError(f"got {len(self._left)} bytes that belong to no field")


_Reader: TypeAlias = Callable[[Any, _Blocks], Any]
"""Makes a value of its JSON and the blocks. Raises ValueError, whose words show no value: it may be
secret."""


@cache
def _values(kind: type) -> Callable[[Any], Sequence[Any]]:
    """A function that reads the values of a dataclass's fields, in their order."""
    names = _names(kind)
    if len(names) < 2:
        return lambda value: [getattr(value, name) for name in names]
    return attrgetter(*names)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


@cache
def _reader(kind: Any) -> _Reader:
    """A function that reads values of a type. Raises TypeError for one that no message may have."""
    origin, of = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, _: value
    if kind is bytes:
        return lambda size, blocks: blocks.take(size)
    if kind is float:
        return _scalar(float, int)  # integers are numbers, too
    if kind in (str, int, bool, NoneType):
        return _scalar(kind)
    if origin is Literal:
        return _one_of(of)
    if origin in (Union, UnionType) and len(of) == 2 and of[1] is NoneType:
        return _optional(_reader(of[0]))
    if origin is tuple:
        return _sequence(_reader(of[0])) if of[1:] == (...,) else _row(tuple(map(_reader, of)))
    if origin is Mapping and of[0] is str:
        return _mapping(_reader(of[1]))
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return lambda value, _: kind(value)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        row = _row(tuple(_reader(hints[name]) for name in _names(kind)))
        return lambda values, blocks: kind(*row(values, blocks))
    raise TypeError(f"no message may have a {kind}")


def _scalar(*kinds: type) -> _Reader:
    def read(value: Any, _: _Blocks) -> Any:
        if type(value) not in kinds:  # bool is no int
            raise ValueError(f"got a {type(value).__name__}, wanted a {kinds[0].__name__}")
        return value

    return read


def _one_of(values: tuple[object, ...]) -> _Reader:
    def read(value: Any, _: _Blocks) -> Any:
        if value not in values:
            raise ValueError(f"wanted one of {values}")
        return value

    return read


def _optional(read: _Reader) -> _Reader:
    return lambda value, blocks: None if value is None else read(value, blocks)


def _sequence(read: _Reader) -> _Reader:
    each_of = _scalar(list)
    return lambda values, blocks: tuple([read(each, blocks) for each in each_of(values, blocks)])


def _row(reads: tuple[_Reader, ...]) -> _Reader:
    each_of = _scalar(list)

    def read(values: Any, blocks: _Blocks) -> Any:
        if len(each_of(values, blocks)) != len(reads):
            raise ValueError(f"got {len(values)} values, wanted {len(reads)}")
        return tuple([each(value, blocks) for each, value in zip(reads, values, strict=True)])

    return read


def _mapping(read: _Reader) -> _Reader:
    items_of = _scalar(dict)
    return lambda values, blocks: {
        key: read(value, blocks) for key, value in items_of(values, blocks).items()
    }
