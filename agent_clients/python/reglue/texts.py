"""Actions that are texts: an environment says in its TaskSpec's `extra` which ones it takes.

A text is a tensor of bytes, UTF-8 with zeros behind it; its domain cannot say which bytes are one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from reglue.spec import MOST_EXTRA, Array, TaskSpec, TensorSpec

_KEY = "action_texts"


@dataclass(frozen=True, slots=True)
class Text:
    """The texts of `min_length` to `max_length` characters of `charset`."""

    min_length: int
    max_length: int
    charset: str

    @property
    def most_bytes(self) -> int:
        """The largest size of a text, in UTF-8."""
        return self.max_length * max(len(each.encode()) for each in self.charset)

    def sample(self, rng: np.random.Generator) -> str:
        """A text: its length and its characters are uniform. Source: Gymnasium's `Text.sample`."""
        length = rng.integers(self.min_length, self.max_length + 1)
        return "".join(self.charset[k] for k in rng.integers(len(self.charset), size=length))


def text_row(text: str, size: int) -> Array:
    """A text as the row of a tensor, shape (size,), uint8."""
    code = text.encode()
    row = np.zeros(size, np.uint8)
    row[: len(code)] = np.frombuffer(code, np.uint8)
    return row


def extra_of_texts(texts: Mapping[str, Text]) -> str:
    """An `extra` that tells which texts some actions are, by name.

    Empty if there are none, or it would be too long.
    """
    rules = {name: asdict(text) for name, text in texts.items()}
    extra = json.dumps({_KEY: rules}, ensure_ascii=False)
    return extra if texts and len(extra) <= MOST_EXTRA else ""


def action_texts(spec: TaskSpec) -> dict[str, Text]:
    """The actions of which the spec tells that they are texts, by name."""
    tensors = {tensor.name: tensor for tensor in spec.actions}
    try:
        rules = json.loads(spec.extra)[_KEY]
        texts = {name: Text(**rule) for name, rule in rules.items()}
        return {name: text for name, text in texts.items() if _holds(tensors[name], text)}
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return {}  # another environment's words for people


def _holds(tensor: TensorSpec, text: Text) -> bool:
    return (
        tensor.dtype == "uint8"
        and tensor.shape == (tensor.size,)
        and 0 <= text.min_length <= text.max_length
        and text.most_bytes <= tensor.size
    )
