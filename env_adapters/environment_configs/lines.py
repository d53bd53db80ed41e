"""Finds the line of an entry of a TOML or JSON file."""

from __future__ import annotations

import re

from env_adapters.environment_configs.values import inside

_LAST_STEP = re.compile(r"(\[\d+\]|\.?[^.\[\]]*)$")
_STRING = r'"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_JSON = re.compile(rf'{_STRING}|[\[\]{{}},:]|[^\s\[\]{{}},:"]+')
_TOML = re.compile(rf"{_STRING}|#[^\n]*|[\[\]{{}},=]|[^\s\[\]{{}},=#\"']+")


def line_of(text: str, path: str) -> int:
    """The line, from 1, of the entry at `path`, such as `schedule[2].pool[0]`. For a missing entry
    it is the line of the one that would hold it. `text` is legal TOML, or a JSON object.
    """
    places = _Places(text).found
    while path and path not in places:
        path = _LAST_STEP.sub("", path)
    return text.count("\n", 0, places.get(path, 0)) + 1


class _Places:
    """Finds the start of each key, and of each entry of an array."""

    def __init__(self, text: str) -> None:
        self.found: dict[str, int] = {}
        is_json = text.lstrip().startswith("{")
        tokens = (_JSON if is_json else _TOML).finditer(text)
        self._tokens = [
            (each.group(), each.start()) for each in tokens if not each.group().startswith("#")
        ]
        self._tokens.reverse()
        self._arrays: dict[str, int] = {}  # arrays of tables: the index of the last
        if is_json:
            self._value("")
        else:
            self._tables()

    def _tables(self) -> None:
        table = ""
        while self._tokens:
            start = self._tokens[-1][1]
            if not self._skip("["):
                self._pair(table)
            elif self._skip("["):
                array = self._key("", "]")
                self._skip("]")
                self._arrays[array] = self._arrays.get(array, -1) + 1
                table = inside(array, self._arrays[array])
                self.found[table] = start
            else:
                table = self._key("", "]")

    def _value(self, path: str) -> None:
        if self._skip("["):
            place = 0
            while self._tokens and not self._skip("]"):
                self.found[inside(path, place)] = self._tokens[-1][1]
                self._value(inside(path, place))
                self._skip(",")
                place += 1
        elif self._skip("{"):
            while self._tokens and not self._skip("}"):
                self._pair(path)
                self._skip(",")
        elif self._tokens:
            self._tokens.pop()

    def _pair(self, path: str) -> None:
        self._value(self._key(path, "=:"))

    def _key(self, path: str, ends: str) -> str:
        """The path of the next key, which may have several parts."""
        while self._tokens:
            word, place = self._tokens.pop()
            if word in ends:
                break
            for part in [word[1:-1]] if word[0] in "\"'" else filter(None, word.split(".")):
                if path in self._arrays:
                    path = inside(path, self._arrays[path])
                path = inside(path, part)
                self.found.setdefault(path, place)
        return path

    def _skip(self, word: str) -> bool:
        """Skip the next token if it is `word`; whether it was."""
        is_next = bool(self._tokens) and self._tokens[-1][0] == word
        if is_next:
            self._tokens.pop()
        return is_next
