"""The seeds that failed once, with what went wrong in their runs: they are played again.

The scheduler draws the order of threads by the seed, so another order of the program's locks is
another run. The disturbances are kept as they were, whatever is drawn today.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.simulator.disturbances import Disturbance

FILE = Path(__file__).with_name("failed_seeds.toml")


@dataclass(frozen=True, slots=True)
class FailedSeed:
    """A seed that failed."""

    world: str
    seed: int
    why: str
    disturbances: tuple[Disturbance, ...]

    @property
    def written(self) -> str:
        """Its entry of the file."""
        lines = (f'    "{each.written}",' for each in self.disturbances)
        return "\n".join(
            (
                "[[failed]]",
                f'world = "{self.world}"',
                f"seed = {self.seed}",
                f'why = "{self.why}"',
                "disturbances = [",
                *lines,
                "]",
            )
        )


def failed_seeds() -> Iterator[FailedSeed]:
    """Those of the file."""
    for each in tomllib.loads(FILE.read_text())["failed"]:
        disturbances = tuple(map(Disturbance.read, each["disturbances"]))
        yield FailedSeed(each["world"], each["seed"], each["why"], disturbances)
