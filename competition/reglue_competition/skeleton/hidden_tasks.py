"""Hidden tasks: each map holds a treasure, and teams have not seen the maps.

`MY-COMP:20` is 20 maps. Where their treasures lie follows from the key of the phase alone, so
that every team plays the same maps and nobody can know them before. Change all of it.
"""

from __future__ import annotations

import numpy as np

from env_adapters.suite_names import Family, FamilyRequest, SuiteName
from reglue import Box, Cell, Discrete, Step, TaskSpec, TensorSpec
from reglue.errors import UsageError
from reglue.rng import Rng
from reglue.spec import Arrays

SIZE = 8  # fields along each side of a map
HORIZON = 40  # steps until an episode is cut off
MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))


def named(request: FamilyRequest) -> SuiteName:
    """The maps of `MY-COMP:NUMBER`."""
    if not request.rest.isdecimal() or not int(request.rest):
        raise UsageError(got=repr(request.rest), wanted="the number of maps")
    # 32 bytes of the phase; without a secret, as in a rehearsal, everybody's.
    key = request.key or bytes(32)
    places = np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "big")))
    treasures = places.integers(SIZE, size=(int(request.rest), 2)).tolist()
    return SuiteName(f"{__name__}:Maps", {"treasures": treasures, **request.arguments})


class Maps:
    """A suite: one task, `find`, with a variant for each map."""

    standardizes = True  # episodes draw from Rng(cell.seed, cell.repeat) alone
    spec = TaskSpec(
        # Its place, and whether its last move brought it nearer to the treasure: -1, 0 or 1.
        observations=(TensorSpec("observation", "int64", (3,), Box((-1.0,), (SIZE - 1.0,))),),
        actions=(TensorSpec("action", "int64", (), Discrete(len(MOVES))),),
        reward_range=(-1.0, 0.0),
        horizon=HORIZON,
    )

    def __init__(self, treasures: list[list[int]]) -> None:
        self.treasures = treasures
        self.variants = {"find": len(treasures)}

    def world(self) -> World:
        """A map for one more slot."""
        return World(self)


class World:
    """Plays one episode after another."""

    def __init__(self, maps: Maps) -> None:
        self._maps = maps

    def start(self, cell: Cell) -> Arrays:
        """Begin anywhere but on the treasure."""
        rng = Rng(cell.seed, cell.repeat)
        self._treasure = self._maps.treasures[cell.variant]
        self._steps, self._nearer = 0, 0
        self._place = self._treasure
        while self._place == self._treasure:
            self._place = [rng.below(SIZE), rng.below(SIZE)]
        return self._seen()

    def step(self, action: Arrays) -> Step:
        """Move by one field; the map ends at its walls."""
        before = self._distance()
        moved = zip(self._place, MOVES[int(action["action"])], strict=True)
        self._place = [min(max(at + by, 0), SIZE - 1) for at, by in moved]
        self._steps += 1
        self._nearer = before - self._distance()
        is_found = self._place == self._treasure
        return Step(
            reward=0.0 if is_found else -1.0,
            observation=self._seen(),
            terminated=is_found,
            truncated=not is_found and self._steps == HORIZON,
            success=is_found,
        )

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _distance(self) -> int:
        pairs = zip(self._place, self._treasure, strict=True)
        return sum(abs(at - to) for at, to in pairs)

    def _seen(self) -> Arrays:
        return {"observation": np.array([*self._place, self._nearer], np.int64)}


FAMILY = Family(named, about="hidden maps with treasures", rest="<number>")
