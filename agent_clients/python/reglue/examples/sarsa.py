"""Sarsa(λ) with tile coding: learns the values of its own policy's actions.

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition: the algorithm
with binary features and replacing traces is the box on page 305 (section 12.7); with
`lambda_=0` it is the semi-gradient Sarsa of page 244 (section 10.1). A continuing task
without discount is learned in the differential form of page 251 (section 10.3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.choices import discrete_action, epsilon_greedy
from reglue.examples.tiles import Bounds, features
from reglue.messages.agent import EndKind, Ends, Phase, Starts, Steps
from reglue.rng import Rng
from reglue.spec import Arrays, TaskSpec

FAINTEST = 0.01  # smaller traces are dropped: they cost more than they teach

_Weights: TypeAlias = defaultdict[int, float]
"""Feature -> weight, for features that have occurred."""


@dataclass(slots=True)
class _Episode:
    chance: Rng
    active: list[int]  # features of the present state
    action: int
    traces: list[dict[int, float]]  # by action: feature -> eligibility


class Sarsa(Agent):
    """One linear value function for all slots; every slot's steps teach it.

    `alpha` is the step size of a whole state: each of its active features gets an equal part, so
    the book's "α = 0.5/8" with 8 tilings is 0.5 here. `beta` is the step size of the average
    reward, `epsilon` the probability of exploring. `tilings` grids of `tiles` to a side lie over
    the observation's bounds, or over `bounds`, a pair for each number. Integers need no tiles:
    each combination is a feature.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        lambda_: float = 0.9,
        epsilon: float = 0.1,
        beta: float = 0.01,
        tilings: int = 8,
        tiles: int = 8,
        bounds: Bounds | None = None,
    ) -> None:
        for what, number in (("lambda_", lambda_), ("epsilon", epsilon)):
            if not 0 <= number <= 1:
                raise UsageError(f"got {what} {number}, wanted 0 to 1")
        if tilings < 1 or tiles < 1:
            raise UsageError(f"got {tilings} tilings of {tiles} tiles, wanted 1 or more of each")
        self.alpha, self.lambda_, self.epsilon, self.beta = alpha, lambda_, epsilon, beta
        self.tilings, self.tiles, self.bounds = tilings, tiles, bounds

    def agent_init(self, spec: TaskSpec) -> None:
        """Set every weight to 0. Raises NotAnAgent unless the task's action is one integer."""
        domain = discrete_action(spec, "Sarsa")
        if len(spec.observations) != 1:
            raise NotAnAgent(f"Sarsa needs one observation; this task has {spec.observations}")
        self._features = features(
            spec.observations[0], tilings=self.tilings, tiles=self.tiles, bounds=self.bounds
        )
        self._first = domain.start
        self._weights = [_Weights(float) for _ in range(domain.n)]  # by action
        self._episodes: dict[int, _Episode] = {}  # by slot
        self._frozen = False
        self._differential = spec.continuing and spec.discount == 1.0
        self.average_reward = 0.0  # of the differential form; otherwise it stays 0

    def agent_start(self, observations: Arrays, starts: Starts) -> list[int]:
        """Act; traces begin empty."""
        return [
            self._begin(slot, seed, numbers)
            for slot, seed, numbers in zip(
                starts.slots.tolist(), starts.seeds.tolist(), _rows(observations), strict=True
            )
        ]

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> list[int]:
        """Choose, learn from the choice, act."""
        return [
            self._go_on(slot, reward, numbers)
            for slot, reward, numbers in zip(
                steps.slots.tolist(), rewards.tolist(), _rows(observations), strict=True
            )
        ]

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """Learn from the last reward; a truncated episode bootstraps from its last observation."""
        for slot, kind, reward, numbers in zip(
            ends.slots.tolist(),
            ends.kinds.tolist(),
            rewards.tolist(),
            _rows(observations),
            strict=True,
        ):
            if kind == EndKind.TRUNCATED:
                self._go_on(slot, reward, numbers)
            elif kind == EndKind.TERMINATED and not self._is_judged:
                self._learn(self._episodes[slot], reward)
            del self._episodes[slot]

    def agent_freeze(self) -> None:
        """From now on take the best action and do not learn."""
        self._frozen = True

    @property
    def _is_judged(self) -> bool:
        """Whether it neither learns nor explores: frozen, or at a checkpoint of its training."""
        return self._frozen or self.phase is Phase.EVALUATE

    def values(self, numbers: Sequence[float]) -> list[float]:
        """The estimated value of each action for an observation's numbers, row-major."""
        return self._values(self._features.active(numbers))

    def _begin(self, slot: int, seed: int, numbers: list[float]) -> int:
        chance = Rng(seed)
        active = self._features.active(numbers)
        action = self._choose(self._values(active), chance)
        self._episodes[slot] = _Episode(chance, active, action, [{} for _ in self._weights])
        return self._first + action

    def _go_on(self, slot: int, reward: float, numbers: list[float]) -> int:
        episode = self._episodes[slot]
        active = self._features.active(numbers)
        values = self._values(active)
        action = self._choose(values, episode.chance)
        if not self._is_judged:
            self._learn(episode, reward + self.spec.discount * values[action])
        episode.active, episode.action = active, action
        return self._first + action

    def _choose(self, values: list[float], chance: Rng) -> int:
        return epsilon_greedy(values, chance, 0.0 if self._is_judged else self.epsilon)

    def _values(self, active: list[int]) -> list[float]:
        return [_value(weights, active) for weights in self._weights]

    def _learn(self, episode: _Episode, target: float) -> None:
        """Move the value of the last action, and of those before it, towards `target`."""
        value = _value(self._weights[episode.action], episode.active)
        error = target - self.average_reward - value
        if self._differential:
            self.average_reward += self.beta * error
        episode.traces[episode.action].update(dict.fromkeys(episode.active, 1.0))
        step, fade = self.alpha / self._features.count * error, self.lambda_ * self.spec.discount
        for weights, traces in zip(self._weights, episode.traces, strict=True):
            for feature, trace in traces.items():
                weights[feature] += step * trace
        episode.traces = [_faded(traces, fade) for traces in episode.traces]


def _value(weights: _Weights, active: list[int]) -> float:
    value = 0.0  # not sum(): its rounding is not the same in all versions of Python
    for feature in active:
        value += weights[feature]
    return value


def _faded(traces: dict[int, float], fade: float) -> dict[int, float]:
    return {
        feature: fainter
        for feature, trace in traces.items()
        if (fainter := fade * trace) >= FAINTEST
    }


def _rows(observations: Arrays) -> list[list[float]]:
    """The numbers of each row of the only observation."""
    (rows,) = observations.values()
    numbers: list[list[float]] = rows.reshape(len(rows), -1).tolist()
    return numbers
