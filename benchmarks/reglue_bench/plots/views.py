"""The contents of a page, in the form that its template takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from reglue_bench.measures.compare import Difference
from reglue_bench.plots.figures import Figure
from reglue_bench.results.result import Result

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


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a stacked bar."""

    label: str
    value: str
    share: float  # 0 to 1
    colour: str


@dataclass(frozen=True, slots=True)
class Track:
    """A score and its interval on a line from 0 to 1 with named ends."""

    at: float
    low: float
    high: float
    alt: str  # alternative text
    ends: Sequence[str] = ()  # what is written below, from left to right
    marks: Sequence[float] = ()  # single runs


class Frame(NamedTuple):
    """The first picture of an episode."""

    caption: str
    uri: str  # a PNG, in it


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the template shows it, which takes the rest from its result."""

    id: str
    name: str
    result: Result
    track: Track | None
    plots: Sequence[Plot]
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Several runs as the template shows them."""

    caption: str
    runs: Table  # a row for each, in their order
    badges: Sequence[str]  # of each run
    tracks: Sequence[Track | None]  # of each run
    notes: Sequence[str]
    differences: Mapping[tuple[int, int], Difference]  # later minus earlier, by their places
    plots: Sequence[Plot] = ()
    verdict: str = ""  # which run has the best score, and whether significantly; may be empty
    pairs: Table | None = None  # a row for each pair of runs
    seeds: Table | None = None  # a row for each agent with several training seeds
    seeds_verdict: str = ""  # the same of agents over their training seeds
    agents: Table | None = None  # a row for each pair of agents, over their training seeds
    are_all_seeds: bool = False  # whether each run is one of several training seeds of an agent
    maps: Sequence[Plot] = ()  # of goals, each run against the first
