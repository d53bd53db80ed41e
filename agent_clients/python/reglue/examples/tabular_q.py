"""Tabular Q-learning: learns the values of the best actions, whichever it takes.

Watkins 1989; Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition,
section 6.5, the box on page 131.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from reglue.agents.episode import AgentEpisode, EpisodeAgent
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.choices import discrete_action, epsilon_greedy
from reglue.messages.agent_messages import EndKind, Phase
from reglue.rng import Rng
from reglue.spec import Discrete, TaskSpec


class TabularQ(EpisodeAgent):
    """One table for all slots: a value for each observed number and each action.

    `alpha` is the step size, `epsilon` the probability of exploring. Values begin at `initial`: if
    that exceeds every return, the agent tries everything.
    """

    def __init__(self, *, alpha: float = 0.5, epsilon: float = 0.1, initial: float = 0.0) -> None:
        if not 0 <= epsilon <= 1:
            raise UsageError(got=f"epsilon {epsilon}", wanted="0 to 1")
        self.alpha, self.epsilon, self.initial = alpha, epsilon, initial

    def agent_init(self, spec: TaskSpec) -> None:
        """Empty the table. Raises NotAnAgent unless observation and action are discrete and
        episodes end."""
        domain = discrete_action(spec, "TabularQ")
        match spec.observations:
            case [only] if isinstance(only.domain, Discrete) and only.size == 1:
                pass
            case _:
                got = ", ".join(f"{tensor.name} {tensor.domain}" for tensor in spec.observations)
                raise NotAnAgent(f"TabularQ needs one discrete observation; this task has {got}")
        if spec.continuing and spec.discount == 1.0:
            raise NotAnAgent(
                "TabularQ needs episodes that end, or a discount below 1; "
                "Sarsa learns the average reward of tasks that go on forever"
            )
        self._first, self._actions = domain.start, domain.n
        self._table: dict[int, list[float]] = {}  # observation -> value of each action
        self._frozen = False

    def new_episode(self, seed: int) -> AgentEpisode:
        return _Episode(self, seed)

    def agent_freeze(self) -> None:
        """From now on take the best action and do not learn."""
        self._frozen = True

    def values(self, state: int) -> list[float]:
        """The estimated value of each action in `state`."""
        return self._table.get(state, [self.initial] * self._actions)

    @property
    def _is_judged(self) -> bool:
        """Whether it neither learns nor explores: frozen, or at a checkpoint of its training."""
        return self._frozen or self.phase is Phase.EVALUATE


class _Episode(AgentEpisode):
    """One episode of Q-learning."""

    def __init__(self, table: TabularQ, seed: int) -> None:
        self._table, self._rng = table, Rng(seed)
        self._state = self._action = 0

    def start(self, observation: npt.NDArray[Any]) -> int:
        table = self._table
        self._state = _state(observation)
        epsilon = 0.0 if table._is_judged else table.epsilon
        self._action = epsilon_greedy(table.values(self._state), self._rng, epsilon)
        return table._first + self._action

    def step(self, reward: float, observation: npt.NDArray[Any]) -> int:
        """Learn from the reward and the best next value, then act."""
        self._learn_before(reward, observation)
        return self.start(observation)

    def end(self, reward: float, observation: npt.NDArray[Any], kind: EndKind) -> None:
        """Learn from the last reward; a truncated episode bootstraps from its last observation."""
        if kind is EndKind.TRUNCATED:
            self._learn_before(reward, observation)
        elif kind is EndKind.TERMINATED:
            self._learn(reward)

    def _learn_before(self, reward: float, observation: npt.NDArray[Any]) -> None:
        """Learn from a reward and the observation that followed it."""
        best = max(self._table.values(_state(observation)))
        self._learn(reward + self._table.spec.discount * best)

    def _learn(self, target: float) -> None:
        table = self._table
        if not table._is_judged:
            values = table._table.setdefault(self._state, [table.initial] * table._actions)
            values[self._action] += table.alpha * (target - values[self._action])


def _state(observation: npt.NDArray[Any]) -> int:
    """The only number of the only observation."""
    return int(observation.item())
