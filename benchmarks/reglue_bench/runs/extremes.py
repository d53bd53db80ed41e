"""Plays extreme actions: can an agent make the environment fail, or earn absurd returns?

They take the way of any agent's actions, so that what is found is what agents can bring about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glue_server import Order, Outcome
from glue_server.agent.actions import unpacked
from reglue.agents.agent import Agent
from reglue.messages.agent_messages import Starts, Steps
from reglue.rng import Rng
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.ordinary_play import cells_of, play_alone
from reglue_bench.settings import Settings

STEPS = 10
"""The most steps of an episode."""

MOST_RETURN = 1e30
"""A return beyond it, on either side, is no measure of anything: an overflow is near."""

_MIXED = 4  # episodes of mixed actions

_KINDS = ("low", "high", "least", "most")
"""Corners: of the bounds, and of all that an agent may send."""

_PATTERNS = (*((kind,) for kind in _KINDS), ("low", "high"), ("least", "most"), *[()] * _MIXED)
"""The kinds of an episode's actions, in turn; none: each element is of any kind."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An environment failed at an action, or its return became absurd."""

    task: str
    step: int  # of the episode, from 1; 0: it did not start
    action: str  # as text; empty at a start
    error: str  # the last line of it

    def __str__(self) -> str:
        at = f"at action {self.action}, step {self.step}" if self.step else "at its start"
        return f"{self.task}, {at}: {self.error}"


def failures(plan: Plan, settings: Settings, folder: Path) -> list[Failure]:
    """Failures in a few short episodes of extreme actions, on cells of the plan.

    `folder` is for what workers print. Raises UsageError, EnvironmentFault.
    """
    units = procedure_of(plan).units
    cells = cells_of(plan, settings, range(0, units, math.ceil(units / len(_PATTERNS))))
    orders = [  # an episode for each pattern, which is its start seed
        Order(place, 0, cells[place % len(cells)], start_seed=place, max_steps=STEPS)
        for place in range(len(_PATTERNS))
    ]
    with np.errstate(all="ignore"):  # overflows are what is looked for
        spec, played = play_alone(_Extremes(), orders, plan, settings, folder / "extremes.log")
    return [_failure(each, spec) for each in played if _is_environments(each)]


def failure_text(failed: Sequence[Failure]) -> str:
    """The failures, and advice to the environment's author."""
    return (
        f"agents can make the environment fail: {failed[0]} (in {len(failed)} of {len(_PATTERNS)} "
        f"episodes of extreme actions); wanted returns within ±{MOST_RETURN:g} and fitting "
        "observations for all actions that an agent may send: have it clip them to their Box, as "
        "gymnasium.wrappers.ClipAction does, or end the episode as a failure, without an error"
    )


def _is_environments(outcome: Outcome) -> bool:
    """An action that was refused before the environment saw it is the agent's fault."""
    if outcome.status == "ok":
        return abs(outcome.return_) > MOST_RETURN
    return not outcome.status.startswith("agent_")


def _failure(outcome: Outcome, spec: TaskSpec) -> Failure:
    rows = unpacked(outcome.actions, spec.actions)
    last = {name: values[-1] for name, values in rows.items() if len(values)}
    lines = outcome.detail.strip().splitlines() or [f"its return: got {outcome.return_:.4g}"]
    step = len(next(iter(rows.values())))
    return Failure(outcome.order.cell.task, step, _action_text(last), lines[-1][:300])


def _action_text(action: Arrays) -> str:
    with np.printoptions(threshold=8, edgeitems=3):
        return ", ".join(
            f"{name} = {np.array2string(each, separator=', ')}".replace("\n", "")
            for name, each in action.items()
        )


class _Extremes(Agent):
    """Plays the pattern that its start seed names."""

    def agent_init(self, spec: TaskSpec) -> None:
        self._corners = {tensor.name: _corners(tensor) for tensor in spec.actions}

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        self._pattern, self._step = int(starts.seeds[0]), 0
        self._chance = np.random.Generator(Rng(self._pattern).bits)
        return self._next()

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        self._step += 1
        return self._next()

    def _next(self) -> Arrays:
        return {name: self._choose(values)[None] for name, values in self._corners.items()}

    def _choose(self, corners: Array) -> Array:
        """One of the corners, (kinds, *shape), or a mixture of them."""
        if kinds := _PATTERNS[self._pattern]:
            corner: Array = corners[_KINDS.index(kinds[self._step % len(kinds)])]
            return corner
        picks = self._chance.integers(len(_KINDS), size=corners.shape[1:])
        values: Array = np.take_along_axis(corners, picks[None], axis=0)[0]
        if values.dtype.kind == "f":  # of any size: from the corner's own to about 1
            shrinks = np.finfo(values.dtype).max ** -self._chance.random(values.shape)
            values = np.where(self._chance.random(values.shape) < 0.5, values * shrinks, values)
        return np.asarray(values, corners.dtype)


def _corners(tensor: TensorSpec) -> Array:
    """The extreme legal actions in the order of _KINDS, shape (kinds, *shape)."""
    size, dtype = tensor.size, np.dtype(tensor.dtype)
    least, most = _limits(dtype)
    corners: Sequence[Sequence[float]]
    match tensor.domain:
        case Box():
            low, high = (
                [min(max(each, least), most) for each in bounds.ravel().tolist()]
                for bounds in (tensor.low(), tensor.high())
            )
            corners = [low, high, [least] * size, [most] * size]
        case Discrete(n, start):
            corners = 2 * [[start] * size, [start + n - 1] * size]
        case MultiDiscrete(n):
            corners = 2 * [[0] * size, [each - 1 for each in n]]
        case MultiBinary():
            corners = 2 * [[0] * size, [1] * size]
    return np.array(corners, dtype).reshape(len(_KINDS), *tensor.shape)


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest finite number."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
