"""One codec for all messages with the same fields as their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from reglue.errors import BadReply


class Codec(NamedTuple):
    """Codec of a kind whose value and message differ."""

    encode: Callable[[Any], Any]  # value -> message
    decode: Callable[[Any], Any]  # message -> value


class FieldTable:
    """The kinds of a oneof, by the name of its field.

    A kind's value and its message have fields of the same names; a repeated field is a tuple.
    Nothing is counted here: the caller checks repeated fields before it decodes.

    Args:
        oneof: Name of the oneof, `call` or `reply`.
        kinds: The class of the value, by the name of the oneof's field.
        codecs: By class, for kinds whose fields differ from those of their message.
    """

    def __init__(self, oneof: str, kinds: Mapping[str, type], codecs: Mapping[type, Codec]) -> None:
        self._oneof = oneof
        self._codecs = codecs
        self._kinds = {
            name: (kind, [] if kind in codecs else [field.name for field in fields(kind)])
            for name, kind in kinds.items()
        }
        self._names = {kind: name for name, kind in kinds.items()}

    def encode(self, message: Any, value: Any) -> None:
        """Write `value` into its part of an empty message."""
        name = self._names[type(value)]
        part = getattr(message, name)
        if codec := self._codecs.get(type(value)):
            part.CopyFrom(codec.encode(value))
        part.SetInParent()
        for field in self._kinds[name][1]:
            content = getattr(value, field)
            if isinstance(content, tuple):
                getattr(part, field).extend(content)
            else:
                setattr(part, field, content)

    def decode(self, message: Any) -> Any:
        """The value of the part that is set. Raises BadReply if the table has no such kind."""
        name = message.WhichOneof(self._oneof)
        if name not in self._kinds:
            got = name or f"an unknown {self._oneof}"
            wanted = "an answer" if self._oneof == "reply" else "one of protocol 1.0"
            raise BadReply("WRONG_KIND", got=got, wanted=wanted)
        part = getattr(message, name)
        kind, names = self._kinds[name]
        if codec := self._codecs.get(kind):
            return codec.decode(part)
        values = {}
        for field in names:  # twice as fast as a comprehension
            content = getattr(part, field)
            values[field] = tuple(content) if hasattr(content, "extend") else content
        return kind(**values)
