"""Plots as data: marks on axes or in rows, which `matplotlib_figures` draws, and their texts.

Colours are middle tones, which can be seen on a light page and on a dark one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from reglue_bench.float_range import scaled
from reglue_bench.formatting import count
from reglue_bench.results.result import Result
from reglue_bench.statistics import Interval

AGENTS = ("#3f7fdc", "#e0833c", "#2a9d8f", "#b064c8", "#c9a227", "#d4526e", "#6c8a3f", "#8d8d99")
SUCCESS, PARTLY, FAILURE, FAULT = "#2a9d8f", "#d9cfae", "#e9a178", "#7a3b2b"
NEUTRAL, SHADE = "#8a8f98", "#8c919b33"

_MOST_DOTS = 500  # of a strip: more would make the page large and show no more
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it are spread evenly between integers


@dataclass(frozen=True, slots=True)
class Line:
    """A line; NaN interrupts it."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    width: float = 2.5  # pixels
    opacity: float = 1.0
    dotted: bool = False
    steps: bool = False  # each value holds up to the next x
    optional: bool = False  # the checkbox of the plot hides it


@dataclass(frozen=True, slots=True)
class Area:
    """The area between two lines."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    colour: str

    @property
    def y(self) -> Sequence[float]:
        """Both lines."""
        return [*self.low, *self.high]


@dataclass(frozen=True, slots=True)
class Dots:
    """A dot at each point."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    size: float  # pixels
    opacity: float = 1.0
    shape: Literal["disc", "ring", "diamond"] = "disc"


@dataclass(frozen=True, slots=True)
class Squares:
    """A square at each column x of each row y."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str


Mark: TypeAlias = Line | Area | Dots | Squares


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of values."""

    label: str
    ends: Interval | None = None  # None: what the marks need
    scale: Literal["linear", "rate", "log"] = "linear"
    ticks: Mapping[float, str] | None = None  # the labels at some values; None: round numbers
    grid: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """An axis of rows at 0, 1, …, the first on top."""

    labels: Sequence[str]
    height: float  # of each, in pixels
    striped: bool = False  # a band behind every second row, so that its marks look like a group


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing; empty if there are no marks."""

    marks: Sequence[Mark]
    x: Axis
    y: Axis | Rows
    height: float = 300  # of the axes in pixels, if y has no rows
    shaded: Interval | None = None  # a part of the x axis


NamedRun: TypeAlias = tuple[str, Result]
"""A run, and what a report calls it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: the numbers of a plot, or runs that are compared."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]  # of cells; what follows a line break is in small print
    colours: Sequence[str] = ()  # of the rows, where a legend has them


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure, a text that describes it, and its numbers."""

    id: str
    title: str
    caption: str
    summary: str  # alternative text
    figure: Figure
    table: Table
    legend: Sequence[tuple[str, str]] = ()  # CSS colour, meaning
    toggle: str = ""  # the label of the checkbox that hides optional lines; empty: no checkbox
    toggled: bool = True  # whether optional lines are shown at first


def colour(place: int) -> str:
    """The colour of the agent at a place in the list."""
    return AGENTS[place % len(AGENTS)]


def rate_axis(label: str) -> Axis:
    """An axis from 0 to 100 %."""
    return Axis(label, (-0.02, 1.02), "rate")


def rows(
    labels: Sequence[str], *, each: float = 0, least: float = 68, striped: bool = False
) -> Rows:
    """Rows of `each` pixels, or as suits their number; all together at least `least`."""
    height = each or (28 if len(labels) <= 20 else 19)
    return Rows(labels, max(height, least / max(1, len(labels))), striped)


def intervals(of: Sequence[Interval], y: Sequence[float], colour: str, *, width: float = 2) -> Line:
    """A line for each interval."""
    ends = [end for low, high in of for end in (low, high, math.nan)]
    return Line(ends, [place for row in y for place in (row, row, math.nan)], colour, width)


def strips(
    values: Mapping[float, Sequence[float]],
    *,
    height: float,
    colour: str,
    size: float = 5,
) -> list[Mark]:
    """A dot for each value of each row, or for some of many, and a box around the middle half."""
    every = _every(sum(map(len, values.values())))
    x, y, box_x, box_y = list[float](), list[float](), list[float](), list[float]()
    for row, of in values.items():
        if not of:
            continue
        dots = of[::every]
        x += dots
        y += [row + 0.8 * height * (place * _GOLDEN % 1 - 0.5) for place in range(1, len(dots) + 1)]
        first, median, last = scaled(lambda each: np.quantile(each, (0.25, 0.5, 0.75)), of).tolist()
        top, bottom = row - height / 2, row + height / 2
        box_x += [first, last, last, first, first, math.nan, median, median, math.nan]
        box_y += [top, top, bottom, bottom, top, math.nan, top, bottom, math.nan]
    if not x:
        return []
    return [Line(box_x, box_y, NEUTRAL, 1.2), Dots(x, y, colour, size, opacity=0.6)]


def left_out(dots: int) -> str:
    """The sentence for a caption if `strips` leaves out some of so many dots; else empty."""
    return f" One dot in {_every(dots)} is drawn." if dots > _MOST_DOTS else ""


def spread(values: Sequence[float], amount: Callable[[float], str]) -> list[str]:
    """The numbers of a strip: how many, the least, the median and the most."""
    if not values:
        return ["0", "–", "–", "–"]
    ends = (amount(float(scaled(f, values))) for f in (np.min, np.median, np.max))
    return [count(len(values)), *ends]


def _every(dots: int) -> int:
    return math.ceil(dots / _MOST_DOTS)


def squares(colours: Mapping[tuple[int, int], str]) -> list[Mark]:
    """The squares of columns and rows, by their colours."""
    by_colour: dict[str, list[tuple[int, int]]] = {}
    for place, shade in colours.items():
        by_colour.setdefault(shade, []).append(place)
    return [
        Squares([x for x, _ in of], [y for _, y in of], shade) for shade, of in by_colour.items()
    ]
