"""What a procedure is: the units of a plan, and how they are played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from glue_server import Order, Outcome, SlotGlue
from reglue_bench.plan import PlanCell

MAX_TRIES = 3
"""How often a session tries a unit whose environment fails, before that is its outcome."""


@dataclass(frozen=True, slots=True)
class Todo:
    """A unit that wants playing: its `attempt`-th try, of which `failed` were environments'."""

    unit: int
    attempt: int
    failed: int = 0  # tries in this session that an environment spoiled

    @property
    def may_be_tried_again(self) -> bool:
        """Whether an environment's failure is not yet its outcome."""
        return self.failed + 1 < MAX_TRIES

    def again(self) -> Todo:
        """The next try, after an environment failed."""
        return Todo(self.unit, self.attempt + 1, self.failed + 1)


Record: TypeAlias = Callable[[Todo, Sequence[Outcome]], None]
"""Commits a unit's outcomes, all at once."""

Watch: TypeAlias = Callable[[Outcome], None]
"""Told of each outcome as it happens, committed or not."""

MakeOrder: TypeAlias = Callable[[int, PlanCell], Order]


class Procedure(Protocol):
    """How a benchmark plays its plan. It decides when agents learn and when they are judged."""

    name: str

    @property
    def units(self) -> int:
        """How many units the plan has; a unit is what resumes."""

    @property
    def goals(self) -> int:
        """How many (task, variant) the benchmark has to play, planned or not."""

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """The episodes of a unit, k = 0, 1, …; a pure function."""

    def play(
        self,
        glue: SlotGlue,
        todo: Iterable[Todo],
        *,
        order: MakeOrder,
        record: Record,
        watch: Watch,
    ) -> None:
        """Play the units through the glue and record each when it is whole.

        When the agent is lost, its fault is recorded for the units in play and raised.
        """
