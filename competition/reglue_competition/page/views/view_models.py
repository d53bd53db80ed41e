"""View models of the templates: text and numbers, without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A score and its interval on a line of 100 units."""

    low: float
    at: float
    high: float

    @property
    def width(self) -> float:
        """The interval's width; a thin mark without an interval."""
        return max(self.high - self.low, 0.6)


@dataclass(frozen=True, slots=True)
class RulingView:
    """The reason why a score is not ranked like others."""

    standing: str
    why: str
    by: str  # the organiser, or its team
    at: str


@dataclass(frozen=True, slots=True)
class Place:
    """A team in the leaderboard."""

    rank: str  # `–` without a score
    is_shared: bool  # the rank
    team: str
    submission: str  # its id
    score: str
    interval: str  # empty without one
    bar: Bar | None
    scores: Sequence[str]  # on each benchmark
    faults: str  # how many episodes ended by a fault; empty: none
    broken: int  # submissions of its team in the phase that are broken
    has_failed: bool
    ruling: RulingView | None = None
    is_struck: bool = False


@dataclass(frozen=True, slots=True)
class Playing:
    """A submission that waits or plays."""

    submission: str
    team: str
    name: str
    status: str
    progress: str
    done: int
    planned: int  # 0: not known yet


@dataclass(frozen=True, slots=True)
class Ended:
    """A submission that has ended without a place in the leaderboard."""

    submission: str
    team: str
    name: str
    status: str
    meaning: str


@dataclass(frozen=True, slots=True)
class PhaseView:
    """A phase in the list of phases."""

    name: str
    kind: str
    state: str
    open_asked: bool  # by the organiser, before its date
    opens: str
    closes: str
    benchmarks: Sequence[str]
    quotas: str
    commitment: str  # empty before it opens
    is_revealed: bool  # what it played can be had
    is_free: bool  # no phase is open that would have to be closed before this one opens


@dataclass(frozen=True, slots=True)
class Board:
    """A phase's leaderboard."""

    phase: PhaseView
    track: str  # empty: over all benchmarks
    tracks: Sequence[str]  # that the phase has
    places: Sequence[Place]
    benchmarks: Sequence[str]  # headings; one for each of `Place.scores`
    scale: tuple[str, str]  # what the ends of the bars are
    withheld: str  # why this reader sees no scores yet; empty: all are shown
    is_anonymous: bool  # names no team to others yet
    freeze: str  # when scores cease to come until the phase is played; empty: they do not
    verdict: str
    rule: str
    playing: Sequence[Playing]
    more_wait: int  # that are not in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line over steps or episodes, with its numbers for those who read rather than look."""

    title: str
    caption: str
    summary: str  # alternative text
    mean: str  # `points` of an SVG's polyline
    band: str = ""  # of a polygon: the interval
    runs: Sequence[str] = ()  # single ones
    y_ticks: Sequence[str]  # evenly apart, from the top
    x_ticks: Sequence[str]
    unit: str  # of x
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class TaskView:
    """A submission's score on a task, or in a run of an agent that learns."""

    name: str
    score: str
    interval: str
    bar: Bar | None
    of: str  # what the score is a mean of
    before: str  # success before adapting; empty if that was not judged
    faults: str  # episodes that ended by a fault, or were not played; empty: not known


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """A judged episode."""

    task: str
    goal: str
    outcome: str
    amount: str  # its return
    steps: str


@dataclass(frozen=True, slots=True)
class Detail:
    """The details of a benchmark's score."""

    unit: str = "task"
    tasks: Sequence[TaskView] = ()
    curves: Sequence[Curve] = ()
    curves_tell: bool = False  # they show when episodes succeeded, which agents may not know
    episodes: Sequence[EpisodeView] = ()
    more: int = 0  # episodes that are not in it


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """The part of a benchmark, besides its score, that this reader may see now."""

    transcript: str = ""  # where it can be had
    video: str = ""
    detail: Detail = Detail()
    is_hidden: bool = False  # there is more detail, after the phase


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """One benchmark of a submission."""

    name: str
    status: str
    score: str
    interval: str
    bar: Bar | None
    faults: Sequence[tuple[str, str]]  # what, how many; to those who may know: the first words
    details: Sequence[tuple[str, str, str]] = ()  # of its own agent's faults: what, words, count
    more: More = More()
    transcript_sha256: str = ""


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as its reader may see it."""

    id: str
    team: str
    name: str
    phase: str
    status: str
    meaning: str
    detail: str  # to its team and the organiser
    image: str  # which the organiser runs, by digest; empty: its agent connects
    used: str  # by its containers, to its team and the organiser
    times: Sequence[tuple[str, str]]
    playing: Playing | None
    score: str
    interval: str
    rank: str
    broken: int  # submissions of its team in its phase that are broken
    withheld: str  # why this reader sees no scores yet; empty: all are shown
    benchmarks: Sequence[BenchmarkView]
    ruling: RulingView | None = None
    counts: str = ""  # why it counts for its team, where teams choose; empty: it does not
    may_choose: bool = False
    may_cancel: bool = False
    may_play_again: bool = False
    may_withdraw: bool = False
    may_rule: bool = False


@dataclass(frozen=True, slots=True)
class EventView:
    """A line of the audit log."""

    at: str
    kind: str
    team: str
    submission: str
    detail: str


@dataclass(frozen=True, slots=True)
class AppealView:
    """An appeal, and its answer."""

    id: int
    at: str
    team: str
    submission: str
    text: str
    answer: str
    answered: str  # when; empty: it is open
