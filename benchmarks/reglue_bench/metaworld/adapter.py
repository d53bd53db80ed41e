"""Adapts an agent written for Meta-World's evaluation to ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reglue.agents.agent import Agent, Chosen
from reglue.agents.metaworld import MetaWorldAgent
from reglue.errors import NotAnAgent
from reglue.messages.agent_messages import Actions, Ends, Phase, Starts, Steps, Turn
from reglue.spec import Array, TaskSpec
from reglue_bench.metaworld.drop_in_worlds import IS_SINGLE, MOTION, OBSERVATION, RETURN

MayCount = Callable[[int, int], bool]
"""Whether a slot's episode can still count after this many steps."""


class MetaWorldAdapter(Agent):
    """Shows the agent the calls of `metaworld.evaluation`, and gives up episodes that cannot count
    any more. The agent sees whole arrays in the dtype of the vector environment; its actions are
    played in their own dtype.
    """

    may_count: MayCount  # set before each evaluation

    def __init__(self, agent: object) -> None:
        """Raises NotAnAgent if a method of Meta-World's protocol is missing."""
        self._inner = MetaWorldAgent(agent)
        self.returns: list[list[Any]] = []  # of each slot's finished episodes, as upstream adds

    @property
    def adapts(self) -> bool:
        return self._inner.adapts

    def agent_init(self, spec: TaskSpec) -> None:
        """Pass the agent only its observations and actions."""
        observations = tuple(each for each in spec.observations if each.name == OBSERVATION)
        done = tuple(each for each in spec.actions if each.name == MOTION)
        self._inner.agent_init(replace(spec, observations=observations, actions=done))
        self._steps = np.zeros(spec.slots, np.int64)  # of the episodes in play

    def agent_freeze(self) -> None:
        self.returns = [[] for _ in self._steps]
        self._inner.agent_freeze()

    def adapt_begin(self) -> None:
        self._inner.adapt_begin()

    def adapt(self) -> None:
        self._inner.adapt()

    def turn(self, turn: Turn) -> Actions | Chosen:
        """Ask the agent for the episodes that may count; give up the others."""
        plays = self._plays(turn)
        slots = np.concatenate([turn.steps.slots, turn.starts.slots])
        actions = np.zeros((len(slots), *self.spec.actions[0].shape))
        chosen = self._inner.turn(turn if plays.all() else _part(turn, plays))
        is_single = np.zeros(len(slots), np.bool_)
        if plays.any():
            assert isinstance(chosen, dict)
            rows = chosen[MOTION]
            is_single[:] = _is_single(rows)
            if rows.shape != actions[plays].shape:
                raise NotAnAgent(got=f"actions of shape {rows.shape}", wanted=actions.shape)
            actions[plays] = rows
        abandoned = tuple(slots[~plays].tolist())
        return Actions({MOTION: actions, IS_SINGLE: is_single}, abandoned)

    def _plays(self, turn: Turn) -> Array:
        """The rows of steps and starts that continue, (P + N,)."""
        self._steps[turn.steps.slots] += 1
        self._steps[turn.starts.slots] = 0
        slots = [*turn.steps.slots.tolist(), *turn.starts.slots.tolist()]
        if turn.phase != Phase.EVALUATE:
            return np.ones(len(slots), np.bool_)
        totals = turn.observations[RETURN]
        for place, slot in enumerate(turn.ends.slots.tolist()):
            total, is_single = totals[place]
            self.returns[slot].append(np.float32(total) if is_single else total)
        return np.array([self.may_count(slot, self._steps[slot]) for slot in slots], np.bool_)


def _part(turn: Turn, plays: Array) -> Turn:
    """The turn with the continuing rows only."""
    steps, starts = plays[: len(turn.steps)], plays[len(turn.steps) :]
    ends = np.ones(len(turn.ends), np.bool_)
    rows = np.concatenate([ends, plays])
    return Turn(
        phase=turn.phase,
        ends=Ends(turn.ends.slots, turn.ends.kinds),
        steps=Steps(turn.steps.slots[steps], turn.steps.flags[steps]),
        starts=Starts(turn.starts.slots[starts], turn.starts.seeds[starts]),
        rewards=turn.rewards[np.concatenate([ends, steps])],
        observations={name: values[rows] for name, values in turn.observations.items()},
    )


def _is_single(rows: Array) -> bool:
    """Whether the agent acts in float32. Raises NotAnAgent unless it is float32 or float64."""
    if rows.dtype not in (np.float32, np.float64):
        raise NotAnAgent(got=f"actions of {rows.dtype}", wanted="float32 (the space's) or float64")
    return rows.dtype == np.float32
