"""Sarsa(λ) with tile coding: learns the values of its own policy's actions.

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition: the algorithm
with binary features and replacing traces is the box on page 305 (section 12.7); with
`lambda_=0` it is the semi-gradient Sarsa of page 244 (section 10.1). A continuing task
without discount is learned in the differential form of page 251 (section 10.3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from reglue.agents.episode import AgentEpisode, EpisodeAgent
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.choices import discrete_action, epsilon_greedy
from reglue.examples.tiles import Bounds, features
from reglue.messages.agent_messages import EndKind, Phase
from reglue.rng import Rng
from reglue.spec import TaskSpec

FAINTEST = 0.01  # smaller traces are dropped: they cost more than they teach

_Weights: TypeAlias = defaultdict[int, float]
"""Feature -> weight, for features that have occurred."""


class Sarsa(EpisodeAgent):
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
                raise UsageError(got=f"{what} {number}", wanted="0 to 1")
        if tilings < 1 or tiles < 1:
            raise UsageError(got=f"{tilings} tilings of {tiles} tiles", wanted="1 or more of each")
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
        self._frozen = False
        self._differential = spec.continuing and spec.discount == 1.0
        self.average_reward = 0.0  # of the differential form; otherwise it stays 0

    def new_episode(self, seed: int) -> AgentEpisode:
        return _Episode(self, seed)

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

    def _choose(self, values: list[float], rng: Rng) -> int:
        return epsilon_greedy(values, rng, 0.0 if self._is_judged else self.epsilon)

    def _values(self, active: list[int]) -> list[float]:
        return [_value(weights, active) for weights in self._weights]


class _Episode(AgentEpisode):
    """One episode of Sarsa: acts, and teaches the weights that all slots share."""

    def __init__(self, sarsa: Sarsa, seed: int) -> None:
        self._sarsa, self._rng = sarsa, Rng(seed)
        self._active: list[int] = []  # features of the present state
        self._action = 0
        self._traces: list[dict[int, float]] = [{} for _ in sarsa._weights]
        """Eligibilities of each action: feature -> eligibility."""

    def start(self, observation: npt.NDArray[Any]) -> int:
        sarsa = self._sarsa
        self._active = sarsa._features.active(_numbers(observation))
        self._action = sarsa._choose(sarsa._values(self._active), self._rng)
        return sarsa._first + self._action

    def step(self, reward: float, observation: npt.NDArray[Any]) -> int:
        """Choose, learn from the choice, act."""
        sarsa = self._sarsa
        active = sarsa._features.active(_numbers(observation))
        values = sarsa._values(active)
        action = sarsa._choose(values, self._rng)
        if not sarsa._is_judged:
            self._learn(reward + sarsa.spec.discount * values[action])
        self._active, self._action = active, action
        return sarsa._first + action

    def end(self, reward: float, observation: npt.NDArray[Any], kind: EndKind) -> None:
        """Learn from the last reward; a truncated episode bootstraps from its last observation."""
        if kind is EndKind.TRUNCATED:
            self.step(reward, observation)
        elif kind is EndKind.TERMINATED and not self._sarsa._is_judged:
            self._learn(reward)

    def _learn(self, target: float) -> None:
        """Move the value of the last action, and of those before it, towards `target`."""
        sarsa = self._sarsa
        value = _value(sarsa._weights[self._action], self._active)
        error = target - sarsa.average_reward - value
        if sarsa._differential:
            sarsa.average_reward += sarsa.beta * error
        self._traces[self._action].update(dict.fromkeys(self._active, 1.0))
        step, fade = (
            sarsa.alpha / sarsa._features.count * error,
            sarsa.lambda_ * sarsa.spec.discount,
        )
        for weights, traces in zip(sarsa._weights, self._traces, strict=True):
            for feature, trace in traces.items():
                weights[feature] += step * trace
        self._traces = [_faded(traces, fade) for traces in self._traces]


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


def _numbers(observation: npt.NDArray[Any]) -> list[float]:
    """Row-major."""
    numbers: list[float] = observation.reshape(-1).tolist()
    return numbers
