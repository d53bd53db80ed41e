"""Curves over a run's episodes or steps: each run's, and their mean with its band."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reglue_bench.float_range import FloatArray, mean, scaled, within
from reglue_bench.formatting import count
from reglue_bench.measures.seed_statistics import LEAST_SEEDS
from reglue_bench.plots.figures import AGENTS, Area, Line, Mark
from reglue_bench.results.learning import edges, pointwise95
from reglue_bench.results.scores import LearningRun, PerformanceScore
from reglue_bench.statistics import Interval

LOST = AGENTS[5]

_POINTS = 200  # of a line; more episodes than that are averaged, some at a time


@dataclass(frozen=True, slots=True)
class Lines:
    """One line for each run. A point is an episode, the mean of a few, or a bin of steps."""

    unit: str  # episode or step
    begins: Sequence[int]  # first episode or step of each point
    ends: Sequence[int]  # last one
    whole: FloatArray  # (completed runs, points)
    runs: Sequence[int]  # numbers of the completed runs
    broken: Sequence[tuple[int, list[float]]]  # of the others: number, points as far as it went
    least: int = 2  # runs that an interval takes
    bounds: Interval = (-math.inf, math.inf)  # the least and the most that a point can be

    @property
    def mean(self) -> FloatArray:
        """Over completed runs, shape (points,)."""
        return scaled(lambda each: each.mean(axis=0), self.whole)

    @property
    def intervals95(self) -> list[Interval]:
        """Student's, of each mean; none below `least` runs."""
        if len(self.whole) < self.least:
            return []
        low, high = self.bounds
        return [(max(low, a), min(high, b)) for a, b in pointwise95(self.whole)]

    @property
    def points(self) -> Iterator[tuple[int, float, Interval | None]]:
        """The last episode or step of each point, its mean and interval."""
        intervals: Sequence[Interval | None] = self.intervals95 or [None] * len(self.ends)
        return zip(self.ends, self.mean.tolist(), intervals, strict=True)

    @property
    def everything(self) -> list[list[float]]:
        """The lines of all runs."""
        return [*self.whole.tolist(), *(line for _, line in self.broken)]

    @property
    def has_several(self) -> bool:
        """Whether it says more than the mean: lines of several runs, or of some not in the mean."""
        return len(self.whole) > 1 or bool(self.broken)

    def label(self, point: int) -> str:
        """`7`, or `6–10`."""
        first, last = self.begins[point], self.ends[point]
        return count(last) if first == last else f"{count(first)}–{count(last)}"

    def at(self, point: int) -> str:
        """`episode 7`, `episodes 6–10`."""
        several = self.begins[point] < self.ends[point]
        return f"{self.unit}{'s' * several} {self.label(point)}"


def lines_of(
    online: PerformanceScore,
    of_run: Callable[[LearningRun], Sequence[float]],
    lowest: float = -math.inf,
) -> Lines:
    """The lines of all runs; no point of their intervals is below `lowest`."""
    if online.counted_in == "episodes":
        each = math.ceil(online.quota / _POINTS)
        ends = [*range(each, online.quota, each), online.quota]
        blocks = [0, *ends]
        unit = "episode"
    else:
        ends = edges(online.quota)[1:]
        blocks = list(range(len(ends) + 1))
        unit = "step"
    completed = [run for run in online.completed if of_run(run)]
    lines = [_averaged(of_run(run), blocks) for run in completed]
    broken = [(run.run, _averaged(of_run(run), blocks)) for run in online.runs]
    numbers = [run.run for run in completed]
    return Lines(
        unit=unit,
        begins=[last + 1 for last in [0, *ends[:-1]]],
        ends=ends,
        whole=np.array(lines, np.float64).reshape(len(lines), len(ends)),
        runs=numbers,
        broken=[(run, line) for run, line in broken if line and run not in numbers],
        bounds=(lowest, math.inf),
    )


def step_lines(curves: Sequence[Mapping[int, float]], measure: str) -> Lines | None:
    """A line for each curve, from steps to values, at the steps that all have; None without any."""
    ends = sorted(set(curves[0]).intersection(*curves))
    if not ends:
        return None
    whole = np.array([[each[step] for step in ends] for each in curves], np.float64)
    bounds = (0.0, 1.0) if measure == "success" else (-math.inf, math.inf)
    runs = range(len(curves))
    return Lines("step", ends, ends, whole, runs, broken=[], least=LEAST_SEEDS, bounds=bounds)


def mean_and_band(lines: Lines, *, colour: str, floor: float = -math.inf) -> list[Mark]:
    """The mean over runs, and its interval as a band that is drawn down to `floor`.

    Nothing if no run was completed.
    """
    if not len(lines.whole):
        return []
    line, band = Line(lines.ends, lines.mean.tolist(), colour), lines.intervals95
    low, high = [max(low, floor) for low, _ in band], [high for _, high in band]
    return [Area(lines.ends, low, high, colour), line] if band else [line]


def every_run(lines: Lines, *, colour: str, most: int) -> list[Line]:
    """Thin lines of `most` completed runs, and red ones of those not played to their end.

    The only completed run has none: the mean is its line.
    """
    whole = lines.whole[:most].tolist() if len(lines.whole) > 1 else []
    broken = [line for _, line in lines.broken]
    thin = [
        Line(*_joined(lines.ends, whole), colour, 1, 0.35, optional=True),
        Line(*_joined(lines.ends, broken), LOST, 1, 0.9, dotted=True, optional=True),
    ]
    return [line for line in thin if line.x]


def y_ends(of: Sequence[Lines], *, log: bool = False) -> Interval:
    """The ends of a y axis that holds all means, and 99 % of the runs' points."""
    everything = [value for each in of for line in each.everything for value in line]
    means = [each.mean for each in of if len(each.whole)]
    most = scaled(lambda each: np.quantile(each, [0.005, 0.995]), everything)
    values = np.concatenate([*means, most])
    low, high = float(values.min()), float(values.max())
    if log:
        return low / (high / low) ** 0.05, high * (high / low) ** 0.05
    room = (0.05 * high - 0.05 * low) or 0.5
    return within(low - room), within(high + room)


def _joined(
    ends: Sequence[int], lines: Sequence[Sequence[float]]
) -> tuple[list[float], list[float]]:
    """The points of all lines, with a gap after each."""
    x, y = list[float](), list[float]()
    for line in lines:
        x += [*ends[: len(line)], math.nan]
        y += [*line, math.nan]
    return x, y


def _averaged(line: Sequence[float], blocks: Sequence[int]) -> list[float]:
    """The mean of each block that the line has filled."""
    return [mean(line[begin:end]) for begin, end in pairwise(blocks) if end <= len(line)]
