"""Which of two teams is better: their plays of the same cells, over all benchmarks of a phase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.measures.compare import Difference, compare_units, units_of
from reglue_bench.results.result import Result, Units
from reglue_bench.statistics import Z95, Interval
from reglue_competition.ranking.entries import Benchmark, Entry
from reglue_competition.ranking.kept import KeptComparisons, Pair, Paired, Play

_LEAST_P = 1e-300  # below this a p-value is rounded
_LEAST_SIGNS = 6  # cells: fewer that all differ one way have a p-value above 0.05


class Comparisons:
    """Compares entries; what was read of a ledger and each comparison of two are kept.

    A run that has ended never changes, so a new one costs its own comparisons alone.
    """

    def __init__(self, file: Path | None = None) -> None:
        """With a `file`, comparisons are kept there too, for the next who asks."""
        self._file = None if file is None else KeptComparisons(file)
        self._units: dict[Play, Units | None] = {}
        self._found: dict[Pair, Paired | None] = self._file.read() if self._file else {}
        self._new: dict[Pair, Paired | None] = {}  # that are not in the file

    def forget(self, entries: Sequence[Entry]) -> None:
        """Keep what belongs to these entries alone."""
        kept = {entry.submission for entry in entries}
        self._units = {play: each for play, each in self._units.items() if play[0] in kept}
        self._found = {
            pair: each
            for pair, each in self._found.items()
            if pair[0][0] in kept and pair[1][0] in kept
        }

    def keep(self) -> None:
        """Write what was found since the last time to the file."""
        if self._file is not None and self._new:
            self._file.add(self._new, self._found)
            self._new = {}

    def compare(self, one: Entry, other: Entry, benchmarks: Sequence[Benchmark]) -> Difference:
        """`one` minus `other`: the weighted mean over benchmarks. Raises UsageError without scores.

        There is no p-value where nothing is known of how a benchmark's difference varies.
        """
        total = math.fsum(each.weight for each in benchmarks)
        mean, squares, pairs, unlike = 0.0, 0.0, 0, 0
        known: float | None = 0.0
        for place, benchmark in enumerate(benchmarks):
            difference, error = _unpaired(
                one.score(place, benchmark), other.score(place, benchmark)
            )
            if (found := self._paired(one, other, place)) is not None:
                difference, error = found.difference, _standard_error(found, error)
                pairs, unlike = pairs + found.pairs, unlike + found.unlike
            share = benchmark.weight / total
            mean += share * difference
            known = None if known is None or error is None else known
            squares += (share * (error or 0.0)) ** 2
        p = None if known is None else _p_value(mean, math.sqrt(squares))
        return Difference(
            difference=mean,
            difference_per_task={},
            interval95=None,
            probability_of_improvement=None,
            p_value=p,
            p_holm=p,
            pairs=pairs,
            unlike=unlike,
            same_plan=True,
        )

    def _paired(self, one: Entry, other: Entry, place: int) -> Paired | None:
        """None where their plays cannot be paired cell by cell."""
        plays = one.results.get(place), other.results.get(place)
        if plays[0] is None or plays[1] is None:
            return None
        pair = _key(one, place, plays[0]), _key(other, place, plays[1])
        if pair not in self._found:
            ours, theirs = self._read(pair[0], plays[0]), self._read(pair[1], plays[1])
            if ours is None or theirs is None:
                return None
            self._found[pair] = self._new[pair] = _compared(ours, theirs)
        return self._found[pair]

    def _read(self, play: Play, result: Result) -> Units | None:
        if play not in self._units:
            try:
                self._units[play] = units_of(result)
            except UsageError:  # its ledger is not here
                self._units[play] = None
        return self._units[play]


def _key(entry: Entry, place: int, result: Result) -> Play:
    # A submission that is played again takes another time.
    return entry.submission, place, str(result.seconds.wall)


def _compared(one: Units, other: Units) -> Paired | None:
    try:
        found = compare_units(one, other)
    except UsageError:  # such as returns of episodes that were not played to their end
        return None
    if not found.same_plan:  # goals and cells of their own
        return None
    return Paired(
        difference=found.difference,
        interval95=found.interval95,
        p_value=found.p_value,
        pairs=found.pairs,
        unlike=found.unlike,
    )


def _standard_error(found: Paired, unpaired: float | None) -> float | None:
    """What gives the difference its p-value under a normal law.

    Cells that all differ alike are judged by the sign test (Dixon & Mood 1946, Journal of the
    American Statistical Association 41:557). Where they are too few, that of the unpaired scores.
    """
    if not found.unlike:
        return 0.0
    if found.p_value is None and found.unlike == found.pairs >= _LEAST_SIGNS:
        return abs(found.difference / _normal_quantile(2.0 ** (1 - found.pairs)))
    if found.p_value is None or found.interval95 is None:
        return unpaired
    if found.difference == 0 or found.p_value >= 1:
        return (found.interval95[1] - found.interval95[0]) / 2 / Z95
    return abs(found.difference / _normal_quantile(found.p_value))


def _unpaired(
    one: tuple[float | None, Interval | None], other: tuple[float | None, Interval | None]
) -> tuple[float, float | None]:
    """The difference of two scores and its standard error, from the sides of their intervals
    that face each other (Zou & Donner 2008, Statistics in Medicine 27:1693).

    It is wider than that of paired cells. None if either score has no interval: how it varies is
    unknown then, and so is how the difference does.
    """
    if one[0] is None or other[0] is None:
        raise UsageError("one of the two has no score")
    difference = one[0] - other[0]
    (above, of_above), (below, of_below) = (one, other) if difference > 0 else (other, one)
    if above is None or below is None or of_above is None or of_below is None:
        return difference, None
    return difference, math.hypot(above - of_above[0], of_below[1] - below) / Z95


def _p_value(difference: float, error: float) -> float | None:
    """Two-sided; None where nothing differs."""
    if error == 0:
        return None
    from scipy.special import ndtr

    return 2 * float(ndtr(-abs(difference) / error))


def _normal_quantile(p_value: float) -> float:
    # Imported here: SciPy is slow to import, and most commands do not need it.
    from scipy.special import ndtri

    return float(ndtri(max(p_value, _LEAST_P) / 2))
