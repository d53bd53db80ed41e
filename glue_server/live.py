"""An episode in play: what it has earned so far, and what becomes of it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

from env_adapters import Step
from glue_server.episodes import Order, Outcome
from glue_server.turns import Row
from reglue.calls import EndKind, StepFlag


@dataclass(slots=True)
class Live:
    """One slot's episode; `row` is its part of the turn that comes next."""

    order: Order
    row: Row
    return_: float = 0.0
    steps: int = 0
    clipped: int = 0
    success: bool = False
    flags: int = 0  # StepFlag bits of the action that is being played
    actions: list[bytes] = field(default_factory=list)
    rewards: array[float] = field(default_factory=lambda: array("d"))

    @property
    def is_cut_off(self) -> bool:
        """Whether it has had all the steps that its order allows."""
        return 0 < self.order.max_steps <= self.steps

    def act(self, action: bytes, *, clipped: bool) -> None:
        """Take down the action that is played next."""
        self.actions.append(action)
        self.clipped += clipped
        self.flags = int(StepFlag.CLIPPED) if clipped else 0

    def land(self, step: Step) -> bool:
        """Take down what the action earned; True if the episode is over."""
        self.return_ += step.reward
        self.rewards.append(step.reward)
        self.steps += 1
        self.success = self.success or step.success
        over = step.terminated or step.truncated
        kind = EndKind.TERMINATED if step.terminated else EndKind.TRUNCATED
        mark = int(kind) if over else self.flags
        self.row = Row(self.row.slot, step.observation, mark, step.reward)
        return over

    def outcome(self, status: str = "ok", detail: str = "") -> Outcome:
        """What became of it. A success counts only where nobody was at fault."""
        return Outcome(
            order=self.order,
            status=status,
            success=self.success and status == "ok",
            return_=self.return_,
            steps=self.steps,
            clipped=self.clipped,
            actions=b"".join(self.actions),
            rewards=np.array(self.rewards, "<f8").tobytes(),
            detail=detail,
        )
