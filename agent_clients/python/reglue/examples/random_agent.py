"""Acts at random: every agent should do better.

The seed of an episode's start alone decides its actions, so that they are the same in
any slot, order and process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue.action_masks import ACTION_MASK, action_mask
from reglue.agents.episode import AgentEpisode, EpisodeAgent
from reglue.spec import TaskSpec
from reglue.texts import action_texts


class RandomAgent(EpisodeAgent):
    """Draws every action by `TensorSpec.sample`, or a text if the spec's `extra` tells of one.

    Where the observation has an `action_mask`, it draws from the actions that are legal now.
    """

    adapts = True  # it learns nothing, but meta-learning benchmarks may judge it

    partial_turns = True

    def new_episode(self, seed: int) -> AgentEpisode:
        return _Episode(self.spec, seed)


class _Episode(AgentEpisode):
    def __init__(self, spec: TaskSpec, seed: int) -> None:
        texts = action_texts(spec)
        self._actions = [texts.get(tensor.name, tensor) for tensor in spec.actions]
        self._mask = action_mask(spec)
        self._rng = np.random.Generator(np.random.Philox(seed))

    def start(self, observation: Any) -> dict[str, Any]:
        if self._mask is not None:
            shown = observation[ACTION_MASK] if isinstance(observation, dict) else observation
            return {self._mask.action.name: self._mask.sample(shown, self._rng)}
        return {tensor.name: tensor.sample(self._rng) for tensor in self._actions}

    def step(self, reward: float, observation: Any) -> dict[str, Any]:
        return self.start(observation)
