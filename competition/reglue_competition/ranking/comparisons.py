"""Compares two teams by their episodes of the same cells, over all benchmarks of a phase."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.float_range import unit_of
from reglue_bench.measures.compare import Difference, Units, compare_units
from reglue_bench.results.result import Result
from reglue_bench.results.whole_file import whole_file
from reglue_bench.statistics import Z95, Interval
from reglue_competition.ranking.scored_submissions import (
    RankedBenchmark,
    ScoredSubmission,
    Spread,
    counted_in,
    divided,
    numbers_in,
    uncut,
)

Play = tuple[str, int, str]  # a submission, the place of a benchmark, and which play of it this is
Pair = tuple[Play, Play]

_FORMAT = 4  # of the file, and of what is found: more where a comparison comes to another result
_MOST_LINES = 2  # for each comparison that is still wanted; beyond it the file is written anew


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The difference of two runs on the cells that both played; see `Difference`."""

    difference: float
    interval95: Interval | None
    p_value: float | None
    pairs: int
    unlike: int

    def divided(self, unit: float) -> PairedDifference:
        """The same in another unit."""
        difference, interval = divided((self.difference, self.interval95), unit)
        return replace(self, difference=difference, interval95=interval)


PairedDifferences = Mapping[Pair, PairedDifference | None]
"""None: the two cannot be compared cell by cell."""

_LEAST_P = 1e-300  # below this a p-value is rounded
_LEAST_SIGNS = 6  # cells: fewer that all differ one way have a p-value above 0.05


class Comparisons:
    """Compares submissions, and caches what it read of ledgers and each comparison.

    A run that has ended never changes, so a new one costs its own comparisons alone.
    """

    def __init__(self, file: Path | None = None) -> None:
        """With a `file`, comparisons are also stored there, for the next process."""
        self._file = None if file is None else ComparisonsFile(file)
        self._units: dict[Play, Units | None] = {}
        self._differences: dict[Pair, PairedDifference | None] = (
            self._file.read() if self._file else {}
        )
        self._new: dict[Pair, PairedDifference | None] = {}  # that are not in the file

    def retain(self, entries: Sequence[ScoredSubmission]) -> None:
        """Drop everything that does not belong to these submissions."""
        current = {entry.submission for entry in entries}
        self._units = {play: each for play, each in self._units.items() if play[0] in current}
        self._differences = {
            pair: each
            for pair, each in self._differences.items()
            if pair[0][0] in current and pair[1][0] in current
        }

    def save(self) -> None:
        """Append the comparisons made since the last call to the file."""
        if self._file is not None and self._new:
            self._file.add(self._new, self._differences)
            self._new = {}

    def compare(
        self, one: ScoredSubmission, other: ScoredSubmission, benchmarks: Sequence[RankedBenchmark]
    ) -> Difference:
        """`one` minus `other`: the weighted mean over benchmarks. Raises UsageError without scores.

        There is no p-value where nothing is known of how a benchmark's difference varies.
        """
        counted = counted_in(benchmarks)
        total = math.fsum(each.weight for _, each in counted)
        spreads = [_spreads(one, other, *each) for each in counted]
        paired = [self._paired_difference(one, other, place) for place, _ in counted]
        unit = unit_of(*(numbers_in(each) for pair in spreads for each in pair))
        mean, squares, is_known = 0.0, 0.0, True
        for (_, benchmark), pair, on_cells in zip(counted, spreads, paired, strict=True):
            difference, error = _unpaired(*(divided(each, unit) for each in pair))
            if on_cells is not None:
                of_unit = on_cells.divided(unit)
                difference, error = of_unit.difference, _standard_error(of_unit, error)
            share = benchmark.weight / total / benchmark.unit
            mean += share * difference
            squares += (share * (error or 0.0)) ** 2
            is_known &= error is not None
        p = _p_value(mean, math.sqrt(squares)) if is_known else None
        return Difference(
            difference=mean,
            difference_per_task={},
            interval95=None,
            probability_of_improvement=None,
            p_value=p,
            p_holm=p,
            pairs=sum(each.pairs for each in paired if each),
            unlike=sum(each.unlike for each in paired if each),
            same_plan=True,
        ).times(unit)

    def _paired_difference(
        self, one: ScoredSubmission, other: ScoredSubmission, place: int
    ) -> PairedDifference | None:
        """Their paired difference; None if their runs cannot be paired cell by cell."""
        plays = one.results.get(place), other.results.get(place)
        if plays[0] is None or plays[1] is None:
            return None
        pair = _key(one, place, plays[0]), _key(other, place, plays[1])
        if pair not in self._differences:
            ours, theirs = self._read(pair[0], plays[0]), self._read(pair[1], plays[1])
            if ours is None or theirs is None:
                return None
            self._differences[pair] = self._new[pair] = _compare(ours, theirs)
        return self._differences[pair]

    def _read(self, play: Play, result: Result) -> Units | None:
        if play not in self._units:
            try:
                self._units[play] = Units(result)
            except UsageError:  # its ledger is not here
                self._units[play] = None
        return self._units[play]


class ComparisonsFile:
    """A file that grows by a line for each comparison.

    It may be deleted at any time. What cannot be read of it is compared again, and a folder that
    cannot be written to costs a start its time, and nothing else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = 0  # of the file; 0: it is not there, or to be written anew
        self._has_warned = False

    def read(self) -> dict[Pair, PairedDifference | None]:
        """The comparisons that this version of Reglue saved before."""
        try:
            head, *lines = self._path.read_text(encoding="utf-8").splitlines()
            pairs = dict(map(_read, lines)) if head == _head() else {}
        except (OSError, ValueError, TypeError):  # not there, or cut off by a crash
            return {}
        self._lines = len(pairs)
        return pairs

    def add(self, new: PairedDifferences, of: PairedDifferences) -> None:
        """Append `new`; if most of the file is not in `of`, all that is needed, write it anew."""
        try:
            if not self._lines or self._lines + len(new) > _MOST_LINES * len(of):
                self._path.parent.mkdir(exist_ok=True)
                with whole_file(self._path) as file:
                    file.write(f"{_head()}\n{_lines(of)}".encode())
                self._lines = len(of)
            elif new:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(_lines(new))
                self._lines += len(new)
        except OSError as error:
            self._lines = 0
            if not self._has_warned:
                log.warning("comparisons of teams are not kept for the next start: %s", error)
            self._has_warned = True


def _key(entry: ScoredSubmission, place: int, result: Result) -> Play:
    # A submission that is played again takes another time.
    return entry.submission, place, str(result.seconds.wall)


def _compare(one: Units, other: Units) -> PairedDifference | None:
    try:
        difference = compare_units(one, other)
    except UsageError:  # such as returns of episodes that were not played to their end
        return None
    if not difference.same_plan:  # goals and cells of their own
        return None
    return PairedDifference(
        difference=difference.difference,
        interval95=difference.interval95,
        p_value=difference.p_value,
        pairs=difference.pairs,
        unlike=difference.unlike,
    )


def _standard_error(difference: PairedDifference, unpaired: float | None) -> float | None:
    """The standard error that gives the difference its p-value under a normal distribution.

    Cells that all differ alike are judged by the sign test (Dixon & Mood 1946, Journal of the
    American Statistical Association 41:557). Where they are too few, that of the unpaired scores.
    """
    if not difference.unlike:
        return 0.0
    if difference.p_value is None and difference.unlike == difference.pairs >= _LEAST_SIGNS:
        return abs(difference.difference / _normal_quantile(2.0 ** (1 - difference.pairs)))
    if difference.p_value is None or difference.interval95 is None:
        return unpaired
    if difference.difference == 0 or difference.p_value >= 1:
        return (difference.interval95[1] - difference.interval95[0]) / 2 / Z95
    return abs(difference.difference / _normal_quantile(difference.p_value))


def _spreads(
    one: ScoredSubmission, other: ScoredSubmission, place: int, benchmark: RankedBenchmark
) -> tuple[Spread, Spread]:
    """Their scores on a benchmark, with whole intervals. Raises UsageError if one has none."""
    (ours, our_interval), (theirs, their_interval) = (
        each.score(place, benchmark) for each in (one, other)
    )
    if ours is None or theirs is None:
        raise UsageError("one of the two has no score")
    return uncut((ours, our_interval), benchmark), uncut((theirs, their_interval), benchmark)


def _unpaired(one: Spread, other: Spread) -> tuple[float, float | None]:
    """The difference of two scores and its standard error, from the sides of their intervals
    that face each other (Zou & Donner 2008, Statistics in Medicine 27:1693).

    It is wider than that of paired cells. None if either score has no interval: how it varies is
    unknown then, and so is how the difference does.
    """
    difference = one[0] - other[0]
    (above, of_above), (below, of_below) = (one, other) if difference > 0 else (other, one)
    if of_above is None or of_below is None:
        return difference, None
    return difference, math.hypot(above - of_above[0], of_below[1] - below) / Z95


def _p_value(difference: float, error: float) -> float | None:
    """Two-sided; None if nothing differs."""
    if error == 0:
        return None
    from scipy.special import ndtr

    return 2 * float(ndtr(-abs(difference) / error))


def _normal_quantile(p_value: float) -> float:
    # Imported here: SciPy is slow to import, and most commands do not need it.
    from scipy.special import ndtri

    return float(ndtri(max(p_value, _LEAST_P) / 2))


log = logging.getLogger("reglue")


def _head() -> str:
    return json.dumps({"comparisons": _FORMAT, "reglue": version("reglue")})


def _lines(differences: PairedDifferences) -> str:
    lines = []
    for pair, each in differences.items():
        fields = None
        if each is not None:
            fields = [each.difference, each.interval95, each.p_value, each.pairs, each.unlike]
        lines.append(json.dumps([*pair, fields]) + "\n")
    return "".join(lines)


def _read(line: str) -> tuple[Pair, PairedDifference | None]:
    one, other, fields = json.loads(line)
    if fields is None:
        return (tuple(one), tuple(other)), None
    difference, interval, p_value, pairs, unlike = fields
    return (tuple(one), tuple(other)), PairedDifference(
        difference=difference,
        interval95=None if interval is None else tuple(interval),
        p_value=p_value,
        pairs=pairs,
        unlike=unlike,
    )
