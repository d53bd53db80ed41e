"""Environments that show which actions are legal now, and fail at any other; and their agents."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from reglue import Agent
from reglue.action_masks import ACTION_MASK, action_mask
from reglue.messages.agent_messages import Actions
from reglue.spec import TaskSpec

DOORS, LOCKS = f"{__file__}:Doors", f"{__file__}:Locks"
"""Names by which they are made."""

STEPS = 6
"""Of an episode."""


class Doors(gymnasium.Env[Any, Any]):
    """Some of five doors are open, others at each step. It earns the number of the door.

    It shows how many steps it took, and a number of the episode's own from 0 to 3.
    """

    action_space: Any = spaces.Discrete(5, start=1)
    choices: ClassVar[tuple[int, ...]] = (5,)

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            seen=spaces.Box(0, 10, (2,), np.float32),
            action_mask=spaces.MultiBinary(sum(self.choices)),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.number = 0, int(self.np_random.integers(4))
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        firsts = np.cumsum([0, *self.choices[:-1]])
        at = np.reshape(action, -1) - getattr(self.action_space, "start", 0) + firsts
        if not self.open[at].all():
            raise ValueError(f"{action} is shut")
        self.steps += 1
        return self._seen(), float(np.sum(action)), self.steps == STEPS, False, {}

    def _seen(self) -> Any:
        parts = []
        for count in self.choices:
            part = self.np_random.random(count) < 0.4
            part[self.np_random.integers(count)] = True
            parts.append(part)
        self.open = np.concatenate(parts)
        if self.is_shut():
            self.open[:] = False
        shown = np.array([self.steps, self.number], np.float32)
        return {"seen": shown, "action_mask": self.open.astype(np.int8)}

    def is_shut(self) -> bool:
        """Whether all are shut now: at the end, when nobody asks."""
        return self.steps == STEPS


class Locks(Doors):
    """Two locks at once."""

    action_space = spaces.MultiDiscrete([2, 3])
    choices = (2, 3)


class Traps(Doors):
    """All doors are shut after two steps of the episodes of number 0, and at the start of those of
    number 1.
    """

    def is_shut(self) -> bool:
        return (self.number, self.steps) in ((0, 2), (1, 0)) or super().is_shut()


class Last(Agent):
    """Takes the last open door, and a shut one at a step of the episode of one start seed.

    It keeps the observations of starts, and the kinds of ends, by slot.
    """

    def __init__(self, *, wrong_seed: int = 0, wrong_step: int = 0, partial: bool = False) -> None:
        self.wrong_seed, self.wrong_step, self.partial_turns = wrong_seed, wrong_step, partial
        self.ends: list[tuple[int, int]] = []
        self.turns = 0

    def agent_init(self, spec: TaskSpec) -> None:
        self._seeds = np.zeros(spec.slots, np.uint64)
        mask = action_mask(spec)
        assert mask is not None
        self._mask = mask

    def turn(self, turn: Any) -> Any:
        self.turns += 1
        self.ends += zip(turn.ends.slots.tolist(), turn.ends.kinds.tolist(), strict=True)
        self._seeds[turn.starts.slots] = turn.starts.seeds
        asked = [*turn.steps.slots.tolist(), *turn.starts.slots.tolist()]
        if not asked:
            return {}
        first = len(turn.ends)
        shown = turn.observations[ACTION_MASK][first:].copy()
        steps = turn.observations["seen"][first:, 0]
        is_wrong = (self._seeds[asked] == self.wrong_seed) & (steps == self.wrong_step)
        # The last open door is the first of the mirrored mask; a shut one the first of its inverse.
        wrong = self._mask.first(shown == 0)
        right = self._last(shown != 0)
        where = is_wrong.reshape(-1, *[1] * (right.ndim - 1))
        return Actions(
            {self._mask.action.name: np.where(where, wrong, right)}, held=self.held(asked)
        )

    def held(self, asked: list[int]) -> tuple[int, ...]:
        """The slots in which it does not act yet."""
        return ()

    def _last(self, allowed: Any) -> Any:
        parts = np.split(allowed, np.cumsum(self._mask.choices)[:-1], axis=1)
        chosen = [part.shape[1] - 1 - part[:, ::-1].argmax(axis=1) for part in parts]
        rows = np.stack(chosen, axis=1) + self._mask.least
        return rows.reshape(-1, *self._mask.action.shape).astype(self._mask.action.numpy_dtype)


class Scribbling(Last):
    """Writes to what it was shown."""

    def turn(self, turn: Any) -> Any:
        answer = super().turn(turn)
        turn.observations[ACTION_MASK][...] = 0
        return answer


class Holding(Last):
    """Lets every other slot wait in every other turn."""

    def held(self, asked: list[int]) -> tuple[int, ...]:
        return tuple(asked[1::2]) if self.turns % 2 else ()
