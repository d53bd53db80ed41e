"""The places of an axis's values in pixels, and the labels at some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, isfinite, log10

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from reglue_bench.float_range import FloatArray, unit_of
from reglue_bench.plots.figures import Axis, Rows

FONT = 11  # pixels


@dataclass(frozen=True, slots=True)
class Scale:
    """The places of an axis's values.

    They are divided by a unit, as the difference of the largest floats is not finite.
    """

    low: float
    high: float
    first: float  # pixels of the low end
    last: float  # of the high one
    unit: float = 1.0
    log: bool = False

    def pixels(self, values: Sequence[float] | FloatArray) -> FloatArray:
        """The places of values; NaN has none."""
        places = np.asarray(values, np.float64) / self.unit
        places = np.log10(places) if self.log else places
        return self.first + (places - self.low) / (self.high - self.low) * (self.last - self.first)


def scale_of(
    axis: Axis | Rows, values: Sequence[Sequence[float]], first: float, last: float
) -> Scale:
    """A scale between the ends that were set, or that the values need."""
    if isinstance(axis, Rows):
        return Scale(len(axis.labels) - 0.5, -0.5, first, last)
    if axis.scale == "log":
        low, high = map(log10, axis.ends or (1, 10))
        return Scale(low, high, first, last, log=True)
    if axis.ends:
        low, high = axis.ends
    else:
        everything = np.concatenate([np.asarray(each, np.float64) for each in values])
        low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    unit = unit_of([low, high])
    low, high = low / unit, high / unit
    largest = max(abs(low), abs(high))
    if high - low <= 1e-9 * largest:
        room = 0.1 * largest or 1.0
    else:
        room = 0.0 if axis.ends else 0.05 * (high - low)
    return Scale(low - room, high + room, first, last, unit)


def ticks_of(axis: Axis | Rows, scale: Scale, room: Callable[[str], float]) -> dict[float, str]:
    """Labels at values, as many as there is `room` for; of rows all."""
    if isinstance(axis, Rows):
        return {float(row): label_of(label) for row, label in enumerate(axis.labels)}
    for most in range(12, 0, -1):
        ticks = _labels(axis, scale, most)
        if sum(map(room, ticks.values())) <= scale.last - scale.first:
            break
    return ticks


def _labels(axis: Axis, scale: Scale, most: int) -> dict[float, str]:
    """About so many labels at most."""
    if axis.ticks is not None:
        every = ceil(len(axis.ticks) / most)
        return dict([*axis.ticks.items()][::every])
    if axis.scale == "rate":
        return {n / 10: f"{10 * n} %" for n in range(0, 11, 2 if most > 5 else 5)}
    low, high = scale.low, scale.high
    if scale.log:
        steps = (1, 2, 5) if most > 8 else (1,)
        values = [n * 10.0**e for e in range(floor(low), ceil(high)) for n in steps]
        return {value: _number(value) for value in values if low <= log10(value) <= high}
    places = MaxNLocator(min(most, 8), steps=[1, 2, 5, 10]).tick_values(low, high)
    values = [float(place) * scale.unit for place in places if low <= place <= high]
    return {value: _number(value) for value in values if isfinite(value)}


def _number(value: float) -> str:
    is_whole = value == round(value) and abs(value) < 1e9
    return (f"{value:z,.0f}" if is_whole else f"{value:,.6g}").replace("-", "−")


def label_of(text: str, longest: int = 32) -> str:
    """A name that fits; XML has no letters that cannot be printed."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(each if each.isprintable() else "�" for each in cut)


def widest(labels: Iterable[str]) -> float:
    """Pixels of the widest label; 0 if there are none."""
    return max(map(label_width, labels), default=0.0)


@lru_cache(maxsize=1024)
def label_width(text: str) -> float:
    """Pixels of a label, or a little more: other letters than ASCII's are as wide as a W."""
    latin = "".join(each if each.isascii() else "W" for each in text)
    font = FontProperties(family="DejaVu Sans", size=FONT)
    return float(text_to_path.get_text_width_height_descent(latin, font, ismath=False)[0])
