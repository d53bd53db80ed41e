"""Texts among a task's observations and actions.

A text is a tensor of bytes, UTF-8 with zeros behind it; its domain cannot say which bytes are one.
A TaskSpec's `extra` tells which texts an environment takes as actions and returns as observations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reglue.error_message import brief
from reglue.errors import BadArgument, IllegalAction
from reglue.spec import ACTION_TEXTS, OBSERVATION_TEXTS, Array, Box, TaskSpec, TensorSpec

MOST_CHARACTERS = 1000
"""Of a text whose server tells no length."""

_PRINTABLE = "".join(map(chr, range(32, 127)))


@dataclass(frozen=True, init=False)
class Text(TensorSpec):
    """A tensor of text, declared among a TaskSpec's observations or actions.

    An environment returns a `str` as an observation. As an action it gets bytes: `decode` makes a
    `str` of them.
    """

    min_length: int = 0
    max_length: int = 0
    charset: str | None = None

    def __init__(
        self,
        name: str,
        max_length: int,
        *,
        min_length: int = 0,
        charset: str | None = None,
        row_bytes: int | None = None,
    ) -> None:
        """Lengths are in characters.

        Args:
            name: The tensor's name.
            max_length: The most characters.
            min_length: The fewest characters.
            charset: The characters that a text may have; None means all except NUL.
            row_bytes: The size of a row; by default what any of the texts may need.

        Raises BadArgument.
        """
        given: object = charset
        if given is not None and not (isinstance(given, str) and given and "\0" not in given):
            wanted = "one or more characters without NUL"
            raise BadArgument(f"text {name}", got=f"charset {brief(charset)}", wanted=wanted)
        lengths: tuple[object, ...] = (min_length, max_length)
        if {*map(type, lengths)} != {int} or not 0 <= min_length <= max_length:
            wanted = "integers, 0 ≤ min_length ≤ max_length"
            raise BadArgument(f"text {name}", got=brief(lengths), wanted=wanted)
        widest = 4 if charset is None else max(len(each.encode()) for each in charset)
        size = max_length * widest if row_bytes is None else row_bytes
        super().__init__(name, "uint8", (size,), Box((0,), (255,)))
        object.__setattr__(self, "min_length", min_length)
        object.__setattr__(self, "max_length", max_length)
        object.__setattr__(self, "charset", charset)

    @property
    def plain(self) -> TensorSpec:
        """The tensor of bytes."""
        return TensorSpec(self.name, self.dtype, self.shape, self.domain)

    @property
    def legal_texts(self) -> Mapping[str, Any]:
        """The arguments of these texts."""
        said = {"min_length": self.min_length, "max_length": self.max_length}
        return said if self.charset is None else {**said, "charset": self.charset}

    def allows(self, text: str) -> bool:
        """Whether it is one of these texts."""
        return self.min_length <= len(text) <= self.max_length and (
            "\0" not in text if self.charset is None else set(text).issubset(self.charset)
        )

    def encode(self, text: str) -> Array:
        """A text as the tensor's row, (size,), uint8. Raises BadArgument."""
        if not self.allows(text):
            raise BadArgument(f"text {self.name}", got=brief(text), wanted=self._wanted())
        return text_row(text, self.size)

    def decode(self, row: Array) -> str:
        """The text of a row. Raises IllegalAction for bytes that are none of these texts."""
        text = np.asarray(row).tobytes().rstrip(b"\0")
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            raise IllegalAction(self.name, got=brief(text), wanted="UTF-8") from None
        if not self.allows(decoded):
            raise IllegalAction(self.name, got=brief(decoded), wanted=self._wanted())
        return decoded

    def draw(self, rng: np.random.Generator) -> str:
        """A text: its length and its characters are uniform, by default printable ASCII. Source:
        Gymnasium's `Text.sample`.
        """
        length = rng.integers(self.min_length, self.max_length + 1)
        charset = self.charset or _PRINTABLE
        return "".join(charset[k] for k in rng.integers(len(charset), size=length))

    @property
    def shortest(self) -> Array:
        """The row of one of the shortest texts."""
        return self.encode((self.charset or " ")[0] * self.min_length)

    def sample(self, rng: np.random.Generator) -> Array:
        """The row of a drawn text."""
        return self.encode(self.draw(rng))

    def _wanted(self) -> str:
        of = "" if self.charset is None else f" of {brief(self.charset)}"
        return f"{self.min_length} to {self.max_length} characters{of}"


def text_row(text: str, size: int) -> Array:
    """A text as the row of a tensor, shape (size,), uint8.

    Raises BadArgument if it has more bytes, or a character that UTF-8 or the row cannot hold.
    """
    try:
        code = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        code = b"\0"
    if b"\0" in code:
        raise BadArgument(got=brief(text), wanted="Unicode without NUL")
    if len(code) > size:
        raise BadArgument(got=f"a text of {len(code)} bytes", wanted=f"at most {size}")
    return np.frombuffer(code.ljust(size, b"\0"), np.uint8)


def action_texts(spec: TaskSpec) -> dict[str, Text]:
    """The actions of which the spec tells that they are texts, by name."""
    return _told_texts(spec.extra, ACTION_TEXTS, spec.actions)


def observation_texts(spec: TaskSpec) -> dict[str, Text]:
    """The observations of which the spec tells that they are texts, by name."""
    return _told_texts(spec.extra, OBSERVATION_TEXTS, spec.observations)


def _told_texts(extra: str, key: str, told: Sequence[TensorSpec]) -> dict[str, Text]:
    tensors = {tensor.name: tensor for tensor in told}
    try:
        rules = json.loads(extra)[key]
        texts = {name: Text(name, **rule) for name, rule in rules.items()}
        return {
            name: Text(name, **rules[name], row_bytes=tensors[name].size)
            for name, text in texts.items()
            if _holds(tensors[name], text)
        }
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return {}  # another environment's words for people


def _holds(tensor: TensorSpec, text: Text) -> bool:
    return tensor.dtype == "uint8" and tensor.shape == (tensor.size,) and text.size <= tensor.size
