"""Seeds that failed once, with the disturbances of their runs: a test plays them again.

The scheduler draws the order of threads by the seed, so a change of the program's locks makes it
another run, with the same disturbances: these are kept, and not drawn by the seed.
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
        """Its entry for the file."""
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
    """The seeds of the file, in its order."""
    for each in tomllib.loads(FILE.read_text())["failed"]:
        disturbances = tuple(map(Disturbance.read, each["disturbances"]))
        yield FailedSeed(each["world"], each["seed"], each["why"], disturbances)
