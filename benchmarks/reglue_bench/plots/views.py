"""The contents of a page, in the form that its template takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reglue_bench.measures.compare import Difference
from reglue_bench.plots.figures import Figure
from reglue_bench.results.result import Result

NamedRun: TypeAlias = tuple[str, Result]
"""A run, and what a report calls it."""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a plot, as texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


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


@dataclass(frozen=True, slots=True)
class Frame:
    """The first picture of an episode."""

    caption: str
    uri: str  # a PNG, in it


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the template shows it."""

    id: str
    name: str
    score: str
    meaning: str  # what the score is
    interval: str  # empty if there is none
    track: Track | None
    badges: Sequence[tuple[str, str]]  # kind, words
    notes: Sequence[str]
    facts: Sequence[tuple[str, str]]
    planned: str  # what `statuses` are shares of
    statuses: Sequence[Share]
    time: Sequence[Share]
    wall: str
    steps: str
    steps_share: float
    versions: str
    plots: Sequence[Plot]
    frames: Sequence[Frame] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A run in the table of runs; the last four are empty for the first."""

    name: str
    colour: str
    badges: str
    track: Track | None
    score: str
    score_interval: str
    played: str = ""  # how many of the planned runs; empty if all are in the score
    difference: str = ""
    difference_interval: str = ""
    improvement: str = ""
    p_value: str = ""


@dataclass(frozen=True, slots=True)
class SeedRow:
    """An agent in the table of agents with several training seeds."""

    name: str
    colour: str
    seeds: str
    mean: str
    mean_interval: str
    iqm: str
    iqm_interval: str


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Several runs as the template shows them."""

    caption: str
    rows: Sequence[Row]
    notes: Sequence[str]
    differences: Mapping[tuple[int, int], Difference]  # later minus earlier, by their places
    plots: Sequence[Plot] = ()
    verdict: str = ""  # which run has the best score, and whether significantly; may be empty
    pairs: Table | None = None  # a row for each pair of runs
    seeds: Sequence[SeedRow] = ()
    seeds_verdict: str = ""  # the same of agents over their training seeds
    agents: Table | None = None  # a row for each pair of agents, over their training seeds
    are_all_seeds: bool = False  # whether each run is one of several training seeds of an agent
    maps: Sequence[Plot] = ()  # of goals, each run against the first

    @property
    def improves(self) -> bool:
        """Whether there is a probability of improvement of any run."""
        return any(row.improvement for row in self.rows)
