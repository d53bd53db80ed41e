"""Parts of error messages: values, errors and texts of any origin, cut and printable."""

from __future__ import annotations

import difflib
import inspect
import re
import reprlib
from collections.abc import Iterable


def brief(value: object) -> str:
    """`value` as text for a message, cut if it is long: a stranger may have sent it.

    `the class Corridor` and `the function lean` for these.
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80  # characters
    return short.repr(value)


def error_text(error: BaseException) -> str:
    """`KeyError: 'coffee'`, with the error's notes."""
    what = ": ".join(filter(None, (type(error).__name__, str(error))))
    return "; ".join([what, *getattr(error, "__notes__", ())])


_HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""The same characters in every client, whatever Unicode adds."""


def printable(text: str) -> str:
    """`text` as a terminal may show it.

    Without control characters, invisible characters, marks of direction and lone surrogates; line
    breaks and tabs stay.
    """
    return _HIDDEN.sub("", text)


def hidden_in(text: str) -> str:
    """The end of a message about a text that holds what `printable` removes; else ""."""
    if printable(text) == text:
        return ""
    return "; what was given holds invisible characters, such as a byte order mark of an editor"


_MOST_KNOWN = 60  # names that a message lists


def suggestion(got: str, known: Iterable[str]) -> str:
    """Advice in place of `got`: the `known` names like it, or the first of them."""
    known = sorted(known)
    near = difflib.get_close_matches(got, known, n=5, cutoff=0.5)
    if near:
        return f"did you mean {', '.join(near)}?"
    more = f" and {len(known) - _MOST_KNOWN} more" if len(known) > _MOST_KNOWN else ""
    return f"known: {', '.join(known[:_MOST_KNOWN]) or 'none'}{more}"
