"""On which line of a TOML or JSON file something stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_TOKEN = re.compile(
    r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{},]|[^\s\[\]{},#"\']+'
)


def line_of(text: str, path: str) -> int:
    """The line, from 1, where `path` leads, such as `schedule[2].pool[0]`; as near as is found.

    A key is the next one so called behind what led there, also in a table's header, and `[k]`
    the k-th entry of the array that begins next.
    """
    position = 0
    for match in _STEP.finditer(path):
        index, key = match.groups()
        found = _key(text, position, key) if key else _entry(text, position, int(index))
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


def _key(text: str, position: int, key: str) -> int | None:
    found = re.compile(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[=:.\]]").search(text, position)
    return found.end() if found else None


def _entry(text: str, position: int, index: int) -> int | None:
    depth, seen, wants = 0, 0, False
    for token, begin in _tokens(text, position):
        if wants and token not in (",", "]"):
            if seen == index:
                return begin
            seen, wants = seen + 1, False
        if token in ("[", "{"):
            depth += 1
            wants = wants or (depth == 1 and token == "[")
        elif token in ("]", "}"):
            depth -= 1
            if depth <= 0:
                return None
        elif token == "," and depth == 1:
            wants = True
    return None


def _tokens(text: str, position: int) -> Iterator[tuple[str, int]]:
    for match in _TOKEN.finditer(text, position):
        if not match.group().startswith("#"):
            yield match.group(), match.start()
