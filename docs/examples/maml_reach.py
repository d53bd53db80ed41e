"""First-order MAML on ML1 reach: meta-train on the train split, then be judged on the test split.

    reglue bench ML1:reach-v3 --agent maml_reach.py:Maml --train-steps 3e5 --meta-batch-size 10 \
        --episode-horizon 100 --adaptation-episodes 5 --evaluation-episodes 2

needs `reglue[server,metaworld]`. Source: Finn, Abbeel and Levine 2017, "Model-Agnostic
Meta-Learning for Fast Adaptation of Deep Networks", section 5.2 for the first-order form and 4.2
for policy gradients (Williams 1992). The policy is linear and Gaussian: a step towards the goal is
linear in the hand's position, and the goal, which is hidden, has to be found from rewards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import reglue
from reglue import Phase

Floats = npt.NDArray[np.float64]

HAND = 3  # numbers of the observation that are seen: the hand's position
SIGMA = 0.3  # of exploring actions


class Maml(reglue.Agent):
    """Meta-parameters of shape (3, 4), and in each slot those that its trial has adapted.

    `inner` and `outer` are lengths of steps along normalised policy gradients.
    """

    def __init__(self, *, inner: float = 0.3, outer: float = 0.05, seed: int = 0) -> None:
        self.inner, self.outer, self.seed = inner, outer, seed

    def agent_init(self, spec: reglue.TaskSpec) -> None:
        """Begin with a policy that does nothing."""
        self.rng = np.random.default_rng(self.seed)
        self.theta: Floats = np.zeros((3, HAND + 1))
        self.own = np.repeat(self.theta[None], spec.slots, axis=0)  # (slots, 3, 4)
        self.is_frozen = False
        self.updates = 0
        self._forget()

    def _forget(self) -> None:
        slots = len(self.own)
        self.seen: list[list[list[Floats]]] = [[] for _ in range(slots)]  # of each episode, steps
        self.rewards: list[list[list[float]]] = [[] for _ in range(slots)]

    def adapt_begin(self) -> None:
        """A new trial: learn from the last one, if it was for training, and start over."""
        if not self.is_frozen:
            self._learn()
        self.own[:] = self.theta
        self._forget()

    def adapt(self) -> None:
        """The inner step, in each slot along the gradient of its own episodes."""
        for slot in range(len(self.own)):
            self.own[slot] += self.inner * self._gradient(slot)
        self._forget()

    def agent_freeze(self) -> None:
        """Learn from the last trial too; then only adapt."""
        if not self.is_frozen:
            self._learn()
            self._forget()
        self.is_frozen = True

    def _learn(self) -> None:
        """The outer step: the gradients at the adapted parameters, as if they were the meta's."""
        gradients = [self._gradient(slot) for slot in range(len(self.own))]
        found = [each for each in gradients if each.any()]
        if found:
            self.theta += self.outer * np.mean(found, axis=0)
            self.updates += 1

    def _gradient(self, slot: int) -> Floats:
        """REINFORCE with rewards to go and the mean over episodes as baseline, of length 1."""
        played = [(s, r) for s, r in zip(self.seen[slot], self.rewards[slot], strict=True) if r]
        if len(played) < 2:
            return np.zeros_like(self.theta)
        steps = min(len(rewards) for _, rewards in played)
        to_go = np.cumsum([rewards[:steps] for _, rewards in played], axis=1)
        to_go = to_go[:, -1:] - to_go + [rewards[:steps] for _, rewards in played]
        advantage = to_go - to_go.mean(axis=0)  # (episodes, steps)
        scores = np.array([seen[:steps] for seen, _ in played])  # (episodes, steps, 3, 4)
        gradient: Floats = np.einsum("es,esij->ij", advantage, scores)
        return gradient / (np.linalg.norm(gradient) + 1e-8)

    def agent_start(self, observations: Any, starts: reglue.Starts) -> Floats:
        """Begin an episode's record, and act."""
        for slot in starts.slots.tolist():
            self.seen[slot].append([])
            self.rewards[slot].append([])
        return self._act(observations["observation"], starts.slots)

    def agent_step(self, rewards: Floats, observations: Any, steps: reglue.Steps) -> Floats:
        """Note the reward, and act."""
        self._note(rewards, steps.slots)
        return self._act(observations["observation"], steps.slots)

    def agent_end(self, rewards: Floats, observations: Any, ends: reglue.Ends) -> None:
        """Note the last reward."""
        self._note(rewards, ends.slots)

    def _note(self, rewards: Floats, slots: npt.NDArray[np.uint32]) -> None:
        if self.phase is not Phase.EVALUATE:  # where rewards are withheld
            for slot, reward in zip(slots.tolist(), rewards.tolist(), strict=True):
                self.rewards[slot][-1].append(reward)

    def _act(self, observation: Floats, slots: npt.NDArray[np.uint32]) -> Floats:
        features = np.ones((len(slots), HAND + 1))
        features[:, :HAND] = 10 * (observation[:, :HAND] - [0.0, 0.6, 0.2])
        action = np.zeros((len(slots), 4))
        action[:, :3] = np.einsum("sij,sj->si", self.own[slots], features)
        if self.phase is Phase.EVALUATE:
            return action
        noise = SIGMA * self.rng.normal(size=(len(slots), 3))
        action[:, :3] += noise
        scores = noise[:, :, None] * features[:, None] / SIGMA**2  # d log π / d θ
        for slot, score in zip(slots.tolist(), scores, strict=True):
            self.seen[slot][-1].append(score)
        return np.clip(action, -1, 1)
