"""Keyword arguments from the command line: words `key=value`."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from reglue.errors import CannotLoad, UsageError

_PYTHONS = {"True": True, "False": False, "None": None}


def pairs(arguments: Sequence[str], option: str) -> dict[str, str]:
    """`key=value` words of `option` as a dict. Raises UsageError for a word without `=`."""
    for word in arguments:
        if "=" not in word:
            raise UsageError(got=f"{option} {word!r}", wanted="key=value")
    return dict(word.split("=", 1) for word in arguments)


def keywords_of(words: Mapping[str, str]) -> dict[str, Any]:
    """Arguments from the command line, `parsed`."""
    return {key: parsed(key, text) for key, text in words.items()}


def parsed(key: str, text: str) -> Any:
    """The value of the argument `key` from the command line.

    JSON is parsed (`3`, `0.5`, `true`, `null`, `[1, 2]`, `"3"`), and so are Python's `True`,
    `False` and `None`. Other texts stay as they are. Those that only look like a number of JSON,
    such as `1_000`, `007` or `nan`, raise CannotLoad.
    """
    if text in _PYTHONS:
        return _PYTHONS[text]
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except OverflowError:
        number: float | None = math.inf
    except ValueError:
        number = _number(text)
    if number is None:
        return text
    quoted = shlex.quote(f'{key}="{text}"')
    as_number = f"{key}={number}" if math.isfinite(number) else "a finite number"
    raise CannotLoad(key, got=text, wanted=f"{as_number}, or {quoted} for the text")


def _finite(text: str) -> float:
    """Raises OverflowError for numbers that JSON does not allow, or a float cannot hold."""
    if not math.isfinite(number := float(text)):
        raise OverflowError(text)
    return number


def _number(text: str) -> float | None:
    """The number that Python's source, or a person, means by a text that is no JSON."""
    for read in (lambda each: int(each, 0), int, float):
        with contextlib.suppress(ValueError):
            number: float = read(text)
            return number
    return None
