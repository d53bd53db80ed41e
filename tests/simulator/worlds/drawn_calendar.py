"""The dates, rounds and quotas of a simulated competition, drawn by its seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from reglue_competition.definition import Definition
from tests.reglue_competition.competitions import definition, phase
from tests.simulator.worlds import guessing
from tests.simulator.worlds.competition_model import Dates, Limits

_BENCHMARK = {
    "benchmark": f"multi-task:{guessing.__file__}:Guessing",  # the hash of one file is enough
    "options": {"num_episodes": 4, "slots": 2},
}
_PLAY = {
    "reconnect_window_s": 5.0,
    "step_s": 10.0,
    "first_step_s": 10.0,
    "bank_s": 0.0,
    "late": "fault",
}
_WEEK_S = 7 * 86_400.0


@dataclass(frozen=True)
class DrawnCalendar:
    """The phases of a competition, each of which opens when the one before it closes."""

    begins: datetime
    dates: Mapping[str, Dates]  # by phase, in their order
    limits: Mapping[str, Limits]  # the same
    round_every_s: float | None
    places: int

    @property
    def definition(self) -> Definition:
        """The competition file."""
        phases = [
            phase(
                name,
                kind="private" if name == "private" else "public",
                benchmarks=[_BENCHMARK],
                quotas=asdict(self.limits[name]),
                opens=dates.opens,
                closes=dates.closes,
            )
            for name, dates in self.dates.items()
        ]
        play: dict[str, Any] = _PLAY | {"places": self.places}
        if self.round_every_s is not None:
            play["round_every_s"] = self.round_every_s
        return definition(*phases, play=play, ranking={"ties": "score"})

    def open_from(self, first_s: float, last_s: float) -> list[str]:
        """The phases that are open from `first_s` to `last_s` after its beginning."""
        first, last = (self.begins + timedelta(seconds=each) for each in (first_s, last_s))
        return [
            name
            for name, dates in self.dates.items()
            if dates.opens < first and last < dates.closes
        ]


def draw_calendar(rng: random.Random, begins: datetime) -> DrawnCalendar:
    """Two phases or three, with rounds or without."""
    names = ["public", *(["later"] if rng.random() < 0.3 else []), "private"]
    ends = [rng.uniform(0.0, 2.0), rng.uniform(5.0, 30.0)]
    if "later" in names:
        ends.append(ends[-1] + rng.uniform(5.0, 15.0))
    ends.append(_WEEK_S)
    at = [begins + timedelta(seconds=each) for each in ends]
    dates = {name: Dates(at[index], at[index + 1]) for index, name in enumerate(names)}
    limits = {
        name: Limits(2, 1, 1)
        if name == "private"
        else Limits(rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 3))
        for name in names
    }
    round_every_s = rng.uniform(1.0, 8.0) if rng.random() < 0.4 else None
    return DrawnCalendar(begins, dates, limits, round_every_s, rng.randint(1, 2))
