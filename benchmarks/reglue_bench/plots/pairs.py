"""What the page says about pairs of runs, and which is the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from reglue_bench.formatting import listed, p_value, percent, plural
from reglue_bench.measures.compare import Difference
from reglue_bench.plots.views import Row, Table
from reglue_bench.results.result import Measure

Pairs = Mapping[tuple[int, int], Difference]  # later minus earlier, by their places

ALPHA = 0.05
"""Of two that are alike, one is called better this rarely: once in twenty reports."""


def verdict(
    names: Sequence[str], scores: Mapping[int, float], differences: Pairs, of: Measure
) -> str:
    """Which has the best score, by place, and how sure that is.

    Empty if there is nothing to choose from: all are alike, or some cannot be compared.
    """
    ranked = sorted(scores, key=lambda place: -scores[place])
    if len(ranked) < 2 or any(
        pair[::-1] not in differences for pair in combinations(sorted(ranked), 2)
    ):
        return ""
    best, *others = ranked
    pairs = {other: differences[max(best, other), min(best, other)] for other in others}
    alike = [other for other in others if not pairs[other].unlike]
    tied = [o for o in others if o not in alike and math.isclose(scores[o], scores[best])]
    beaten = [other for other in others if is_beaten(pairs[other], by_later=best > other)]
    level = [other for other in others if other not in [*alike, *tied, *beaten]]
    if len(alike) == len(others):
        return ""
    lead = _LEAD[bool(alike), bool(tied)]
    return _VERDICTS[bool(beaten), bool(level)].format(
        first=_join_names(names, [best, *alike, *tied]),
        leads=lead.format(unit=of.unit),
        score=of.name,
        beaten=_join_names(names, beaten),
        level=_join_names(names, level),
        sure=_at_most([pairs[other].p_holm or 0.0 for other in beaten], len(differences)),
    )


_LEAD = {  # others are alike on every unit, others have the same score
    (False, False): " has",
    (False, True): " have",
    (True, False): ", alike on every {unit}, have",
    (True, True): " have",
}
_VERDICTS = {  # some are beaten, some are not told apart
    (False, False): "{first} have the same {score}: nobody is better.",
    (False, True): "{first}{leads} the highest {score}, but may owe it to chance: not told apart "
    "from {level}.",
    (True, False): "{first}{leads} the highest {score}: better than {beaten} ({sure}).",
    (True, True): "{first}{leads} the highest {score}: better than {beaten} ({sure}), and not told "
    "apart from {level}.",
}


def is_beaten(difference: Difference, *, by_later: bool) -> bool:
    """Whether one of a pair is significantly better: the later, or the earlier."""
    return (
        difference.p_holm is not None
        and difference.p_holm < ALPHA
        and (difference.difference > 0) == by_later
    )


def _at_most(p_values: Sequence[float], pairs: int) -> str:
    """`p < 0.001`, `p = 0.012`, or of several the largest: `p ≤ 0.012`; of how many pairs."""
    text = p_value(max(p_values, default=0.0))
    sign = "" if text.startswith("<") else "= " if len(p_values) == 1 else "≤ "
    return f"p {sign}{text}" + f", corrected for {pairs} pairs" * (pairs > 1)


def compared_row(row: Row, compared: Difference, of: Measure) -> Row:
    """A row with its difference to the first."""
    difference, interval, improvement, p = _difference_cells(compared, of)
    return replace(
        row, difference=difference, difference_interval=interval, improvement=improvement, p_value=p
    )


def every_pair(names: Sequence[str], differences: Pairs, of: Measure) -> Table | None:
    """A line for each pair; None if the differences to the first are all pairs."""
    return (
        None
        if all(earlier == 0 for _, earlier in differences)
        else pair_table(names, differences, of)
    )


def pair_table(names: Sequence[str], differences: Pairs, of: Measure) -> Table:
    """A line for each pair."""
    rows = [
        [
            f"{names[later]} − {names[earlier]}",
            *(word or "–" for word in _difference_cells(each, of)),
        ]
        for (later, earlier), each in differences.items()
    ]
    columns = ["", "Δ", "95 % interval", "probability of improvement", "p, Holm"]
    if all(each.probability_of_improvement is None for each in differences.values()):
        for row in (columns, *rows):
            del row[3]
    return Table(columns, rows)


def pair_note(name: str, first: str, difference: Difference, of: Measure) -> str:
    """A caveat about a difference to the first; empty if there is none."""
    if not difference.unlike:
        return f"{name} and {first} came to the same on every {of.unit}."
    if difference.interval95 is None and difference.pairs < of.least:
        return (
            f"The difference of {name} and {first} has no interval: it takes {of.enough}, and "
            f"there are {difference.pairs}."
        )
    if difference.interval95 is None:
        return (
            f"The difference of {name} and {first} does not vary, so there is no spread to judge "
            "it by, and no interval."
        )
    low, high = difference.interval95
    if not low <= 0 <= high and difference.p_holm is not None and difference.p_holm >= ALPHA:
        return (
            f"The interval of {name} and {first} leaves 0 out, as that of one pair. Of several "
            f"pairs one does so by chance more often: corrected for that, p is "
            f"{p_value(difference.p_holm)}."
        )
    return ""


def power_notes(differences: Pairs, of: Measure) -> list[str]:
    """A note if there are too few pairs to tell any two apart."""
    most = max((each.pairs for each in differences.values() if each.unlike), default=0)
    pairs = len(differences)  # for which Holm corrects
    if not most or pairs * of.least_p(most) < ALPHA:
        return []
    enough = next(n for n in range(most, most + 64) if pairs * of.least_p(n) < ALPHA)
    return [
        f"{plural(most, of.unit).capitalize()} cannot show who is better, however far they are "
        f"apart. {enough} {of.unit}s can."
    ]


def _join_names(names: Sequence[str], places: Sequence[int]) -> str:
    return listed([names[place] for place in places]) if places else ""


def _difference_cells(difference: Difference, of: Measure) -> tuple[str, str, str, str]:
    low_high = difference.interval95
    return (
        of.difference(difference.difference),
        f"{of.difference(low_high[0])} to {of.difference(low_high[1])}" if low_high else "",
        ""
        if difference.probability_of_improvement is None
        else percent(difference.probability_of_improvement),
        "" if difference.p_holm is None else p_value(difference.p_holm),
    )
