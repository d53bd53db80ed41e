"""Q-learning by a table: learns the values of the best actions, whatever it plays.

Watkins 1989; Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition,
section 6.5, the box on page 131.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.choices import discrete_action, epsilon_greedy
from reglue.messages.agent import EndKind, Ends, Phase, Starts, Steps
from reglue.rng import Rng
from reglue.spec import Arrays, Discrete, TaskSpec


@dataclass(slots=True)
class _Episode:
    chance: Rng
    state: int
    action: int


class TabularQ(Agent):
    """One table for all slots: a value for each observed number and each action.

    `alpha` is the step size, `epsilon` the probability of exploring. Values begin at `initial`: if
    that exceeds every return, the agent tries everything.
    """

    def __init__(self, *, alpha: float = 0.5, epsilon: float = 0.1, initial: float = 0.0) -> None:
        if not 0 <= epsilon <= 1:
            raise UsageError(f"got epsilon {epsilon}, wanted 0 to 1")
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
        self._episodes: dict[int, _Episode] = {}  # by slot
        self._frozen = False

    def agent_start(self, observations: Arrays, starts: Starts) -> list[int]:
        """Act."""
        actions = []
        for slot, seed, state in zip(
            starts.slots.tolist(), starts.seeds.tolist(), _states(observations), strict=True
        ):
            self._episodes[slot] = _Episode(Rng(seed), state, 0)
            actions.append(self._act(self._episodes[slot]))
        return actions

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> list[int]:
        """Learn from the reward and the best next value, then act."""
        actions = []
        for slot, reward, state in zip(
            steps.slots.tolist(), rewards.tolist(), _states(observations), strict=True
        ):
            episode = self._episodes[slot]
            self._learn(episode, reward + self.spec.discount * max(self.values(state)))
            episode.state = state
            actions.append(self._act(episode))
        return actions

    def agent_end(self, rewards: npt.NDArray[np.float64], observations: Arrays, ends: Ends) -> None:
        """Learn from the last reward; a truncated episode bootstraps from its last observation."""
        for slot, kind, reward, state in zip(
            ends.slots.tolist(),
            ends.kinds.tolist(),
            rewards.tolist(),
            _states(observations),
            strict=True,
        ):
            episode = self._episodes.pop(slot)
            if kind == EndKind.TRUNCATED:
                self._learn(episode, reward + self.spec.discount * max(self.values(state)))
            elif kind == EndKind.TERMINATED:
                self._learn(episode, reward)

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

    def _act(self, episode: _Episode) -> int:
        epsilon = 0.0 if self._is_judged else self.epsilon
        episode.action = epsilon_greedy(self.values(episode.state), episode.chance, epsilon)
        return self._first + episode.action

    def _learn(self, episode: _Episode, target: float) -> None:
        if not self._is_judged:
            values = self._table.setdefault(episode.state, [self.initial] * self._actions)
            values[episode.action] += self.alpha * (target - values[episode.action])


def _states(observations: Arrays) -> list[int]:
    """The number of each row of the only observation."""
    (rows,) = observations.values()
    states: list[int] = rows.reshape(len(rows)).tolist()
    return states
