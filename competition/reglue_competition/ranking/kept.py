"""Finished comparisons in a file, so that a server that starts again makes none of them anew."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from reglue_bench.results.whole_file import whole_file
from reglue_bench.statistics import Interval

log = logging.getLogger("reglue")

Play = tuple[str, int, str]  # a submission, the place of a benchmark, and which play of it this is
Pair = tuple[Play, Play]

_FORMAT = 3  # of the file, and of what is found: more where a comparison comes to another result
_MOST_LINES = 2  # for each comparison that is still wanted; beyond it the file is written anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How one play lies above another, on the cells of both; see `Difference`."""

    difference: float
    interval95: Interval | None
    p_value: float | None
    pairs: int
    unlike: int


Found = Mapping[Pair, Paired | None]
"""None: the two cannot be compared cell by cell."""


class KeptComparisons:
    """A file that grows by a line for each comparison.

    It may be deleted at any time. What cannot be read of it is compared again, and a folder that
    cannot be written to costs a start its time, and nothing else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = 0  # of the file; 0: it is not there, or to be written anew
        self._is_told = False

    def read(self) -> dict[Pair, Paired | None]:
        """What was found before, by this version."""
        try:
            head, *lines = self._path.read_text(encoding="utf-8").splitlines()
            found = dict(map(_read, lines)) if head == _head() else {}
        except (OSError, ValueError, TypeError):  # not there, or cut off by a crash
            return {}
        self._lines = len(found)
        return found

    def add(self, new: Found, of: Found) -> None:
        """Keep `new`, and drop what is not among all that are wanted, `of`, when that is much."""
        try:
            if not self._lines or self._lines + len(new) > _MOST_LINES * len(of):
                self._path.parent.mkdir(exist_ok=True)
                with whole_file(self._path) as file:
                    file.write(f"{_head()}\n{_written(of)}".encode())
                self._lines = len(of)
            elif new:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(_written(new))
                self._lines += len(new)
        except OSError as error:
            self._lines = 0
            if not self._is_told:
                log.warning("comparisons of teams are not kept for the next start: %s", error)
            self._is_told = True


def _head() -> str:
    return json.dumps({"comparisons": _FORMAT, "reglue": version("reglue")})


def _written(found: Found) -> str:
    lines = []
    for pair, each in found.items():
        kept = None
        if each is not None:
            kept = [each.difference, each.interval95, each.p_value, each.pairs, each.unlike]
        lines.append(json.dumps([*pair, kept]) + "\n")
    return "".join(lines)


def _read(line: str) -> tuple[Pair, Paired | None]:
    one, other, kept = json.loads(line)
    if kept is None:
        return (tuple(one), tuple(other)), None
    difference, interval, p_value, pairs, unlike = kept
    return (tuple(one), tuple(other)), Paired(
        difference=difference,
        interval95=None if interval is None else tuple(interval),
        p_value=p_value,
        pairs=pairs,
        unlike=unlike,
    )
