"""A walk to learn from, and turns of it by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.examples.sarsa import Sarsa
from reglue.examples.tabular_q import TabularQ
from reglue.messages.agent_messages import EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.spec import (
    Discrete,
    TaskSpec,
    TensorSpec,
)

A = TypeVar("A", bound=Agent)
Learner = Sarsa | TabularQ

MOVE = TensorSpec("action", "int64", (), Discrete(3))
PLACE = TensorSpec("observation", "int64", (), Discrete(10))


def walk(action: TensorSpec = MOVE, *, observation: TensorSpec = PLACE, **more: Any) -> TaskSpec:
    return TaskSpec((observation,), (action,), **more)


def begin(agent: A, spec: TaskSpec) -> A:
    agent.spec, agent.phase = spec, Phase.TRAIN
    agent.agent_init(spec)
    return agent


def turn(
    agent: Agent,
    *,
    ends: Sequence[tuple[int, float, Any]] = (),
    steps: Sequence[tuple[int, float, Any]] = (),
    starts: Mapping[int, Any] | None = None,
    kind: EndKind = EndKind.TERMINATED,
    seed: int = 0,
) -> list[int]:
    """One turn; ends and steps are (slot, reward, observation), starts slot -> observation.

    A start's seed is `seed` plus what is observed. The actions of steps, then of starts.
    """
    starts = starts or {}
    seen = [row for _, _, row in (*ends, *steps)] + [*starts.values()]
    answer = agent.turn(
        Turn(
            agent.phase,
            Ends(_slots(ends), np.full(len(ends), kind, np.uint8)),
            Steps(_slots(steps), np.zeros(len(steps), np.uint8)),
            Starts(
                np.array([*starts], np.uint32),
                np.array([seed + int(np.sum(row)) for row in starts.values()], np.uint64),
            ),
            np.array([reward for _, reward, _ in (*ends, *steps)], np.float64),
            {agent.spec.observations[0].name: np.array(seen)},
        )
    )
    return [int(action) for action in answer]  # type: ignore[union-attr, arg-type]


def _slots(rows: Sequence[tuple[int, float, Any]]) -> npt.NDArray[np.uint32]:
    return np.array([slot for slot, _, _ in rows], np.uint32)


def everything(agent: Learner) -> list[list[float]]:
    """All values of the walk."""
    if isinstance(agent, Sarsa):
        return [agent.values([place]) for place in range(10)]
    return [agent.values(place) for place in range(10)]
