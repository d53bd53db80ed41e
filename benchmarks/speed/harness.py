"""Figures, what is claimed of them, and how contenders take turns to be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Series:
    """What was measured of one contender, a sample a round."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure that stands for all rounds."""
        return median(self.samples)


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio, or a figure by itself, and what it should be; `wanted` None is for information."""

    goal: str  # its number
    what: str
    ours: str  # the name of the series
    theirs: str | None = None  # what it is compared with; None: ours has to do by itself
    compared: Literal["ours/theirs", "theirs/ours"] = "ours/theirs"
    wanted: float | None = None
    sense: Literal["at least", "at most"] = "at least"


@dataclass(frozen=True, slots=True)
class Section:
    """What one section found out."""

    title: str
    about: str  # how it was measured, for people
    series: tuple[Series, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()  # what could not be measured, and why

    def value(self, claim: Claim) -> float | None:
        """What came of a claim; None if one of its series is missing."""
        found = {each.name: each.median for each in self.series}
        if claim.ours not in found or (claim.theirs and claim.theirs not in found):
            return None
        if claim.theirs is None:
            return found[claim.ours]
        ratio = found[claim.ours] / found[claim.theirs]
        return ratio if claim.compared == "ours/theirs" else 1.0 / ratio

    def holds(self, claim: Claim) -> bool | None:
        """Whether a claim is met; None if nothing is wanted, or nothing was measured."""
        value = self.value(claim)
        if value is None or claim.wanted is None:
            return None
        return value >= claim.wanted if claim.sense == "at least" else value <= claim.wanted


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    quick: bool = False  # a smoke run
    long: bool = False  # also what takes ten minutes and more

    def rounds(self, usual: int) -> int:
        """Repetitions."""
        return 1 if self.quick else usual

    def of(self, usual: int, quick: int) -> int:
        """A count of steps, episodes, …"""
        return quick if self.quick else usual


class Watch(Protocol):
    """Sees how far it is."""

    def __call__(self, what: str, /) -> None:
        """Something is about to be measured."""


Measure = Callable[[], float]
"""One repetition; its figure."""


def interleave(
    contenders: Mapping[str, Measure], unit: str, *, rounds: int, watch: Watch
) -> tuple[Series, ...]:
    """A B C, A B C, …: what drifts meanwhile meets all alike."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(1, rounds + 1):
        for name, metric in contenders.items():
            watch(f"{name}, {turn} of {rounds}")
            samples[name].append(metric())
    return tuple(Series(name, unit, tuple(found)) for name, found in samples.items())
