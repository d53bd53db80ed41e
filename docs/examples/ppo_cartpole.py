"""PPO on CartPole: one file, PyTorch, about a minute of one core.

    python docs/examples/ppo_cartpole.py --seed 1

Schulman et al., "Proximal Policy Optimization Algorithms", 2017, with generalised advantages of
"High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016. The settings
are those of Stable-Baselines3's zoo for CartPole-v1.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import reglue
from reglue.rollouts import Rollout, collect_episodes, collect_steps, transitions
from reglue.spec import Array

ENVIRONMENT = "gymnasium:CartPole-v1"


@dataclass(frozen=True)
class Settings:
    """Settings of one training run."""

    seed: int = 0
    steps: int = 100_000  # of all environments together
    num_envs: int = 8
    steps_per_update: int = 32  # of each environment
    learning_rate: float = 1e-3  # falls to 0, as does the clip range
    clip: float = 0.2
    passes: int = 20  # over the transitions of an update
    minibatch: int = 256  # transitions
    discount: float = 0.98
    trace_decay: float = 0.8  # λ of the advantages


class ActorCritic:
    """Two small networks: logits of the actions, and the value of an observation."""

    def __init__(self, inputs: int, actions: int) -> None:
        self.actor, self.critic = network(inputs, actions), network(inputs, 1)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]

    def explore(self, observations: Array) -> tuple[Any, dict[str, Any]]:
        """A policy for collect_steps: sampled actions, and what PPO wants to know later."""
        with torch.no_grad():
            seen = torch.from_numpy(observations)
            chosen = Categorical(logits=self.actor(seen))
            action = chosen.sample()
            value = self.critic(seen).squeeze(1)
            return action, {"value": value, "log_prob": chosen.log_prob(action)}

    def greedy(self, observations: Array) -> Any:
        """A policy for collect_episodes: the likeliest actions."""
        with torch.no_grad():
            return self.actor(torch.from_numpy(observations)).argmax(dim=1)


def network(inputs: int, outputs: int) -> Any:
    """Two hidden layers of 64."""
    hidden = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()]
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


def advantages(rollout: Rollout, discount: float, trace_decay: float) -> Array:
    """The gain of each row's action over its expectation: (time, env), 0 in the last row."""
    value, reward, done = rollout["value"], rollout["reward"], rollout["done"]
    after = rollout.arrivals("value") * rollout["bootstrap"]  # a terminated episode earns no more
    found = np.zeros_like(value)
    for t in reversed(range(len(value) - 1)):
        surprise = reward[t + 1] + discount * after[t + 1] - value[t]
        found[t] = surprise + discount * trace_decay * ~done[t + 1] * found[t + 1]
    return found


def update(
    net: ActorCritic, optimizer: Any, rollout: Rollout, settings: Settings, clip: float
) -> None:
    """Some passes over an epoch's transitions."""
    advantage = advantages(rollout, settings.discount, settings.trace_decay)
    pairs = transitions(rollout.with_arrays(advantage=advantage))
    first = {name: torch.from_dlpack(pair[0]) for name, pair in pairs.items()}  # not copied
    target = first["value"] + first["advantage"]
    for _ in range(settings.passes):
        for chosen in torch.randperm(len(target)).split(settings.minibatch):
            seen, action = first["observation"][chosen], first["action"][chosen]
            now = Categorical(logits=net.actor(seen))
            ratio = (now.log_prob(action) - first["log_prob"][chosen]).exp()
            gain = first["advantage"][chosen]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            kept = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
            error = net.critic(seen).squeeze(1) - target[chosen]
            loss = -kept.mean() + 0.5 * error.square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters, 0.5)
            optimizer.step()


def train(settings: Settings) -> ActorCritic:
    """Learn; prints the mean return of the episodes that ended, ten times."""
    torch.manual_seed(settings.seed)
    envs = reglue.make_vec(ENVIRONMENT, num_envs=settings.num_envs, seed=settings.seed)
    net = ActorCritic(4, 2)
    optimizer = torch.optim.Adam(net.parameters, eps=1e-5)
    updates = settings.steps // (settings.steps_per_update * settings.num_envs)
    rows, budget = settings.steps_per_update + 1, settings.steps
    epochs = collect_steps(envs, net.explore, rows, budget=budget)
    returns: list[float] = []
    for done_updates, rollout in enumerate(epochs):
        left = 1 - done_updates / updates
        optimizer.param_groups[0]["lr"] = settings.learning_rate * left
        update(net, optimizer, rollout, settings, settings.clip * left)
        returns += rollout["cumulated_reward"][1:][rollout["done"][1:]].tolist()
        if returns and done_updates % max(updates // 10, 1) == 0:
            print(f"update {done_updates:4} of {updates}: mean return {np.mean(returns):.0f}")
            returns.clear()
    envs.close()
    return net


def mean_return(net: ActorCritic, episodes: int = 40) -> float:
    """The mean return of the greedy policy, over episodes with seeds that training did not use."""
    envs = reglue.make_vec(ENVIRONMENT, num_envs=8, seed=1_000_000)
    played = collect_episodes(envs, net.greedy, episodes)
    envs.close()
    return float(played["cumulated_reward"][-1].mean())


def main() -> None:
    """Train, then play."""
    parser = argparse.ArgumentParser(description="PPO on CartPole")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--out", help="keep the evaluation in this folder")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the networks are small
    net = train(Settings(seed=arguments.seed, steps=arguments.steps))
    print(f"mean return {mean_return(net):.0f} of 40 episodes")
    benchmark, label = f"evaluate:{ENVIRONMENT}", "PPO"
    print(reglue.evaluate(benchmark, net.greedy, seed=7, label=label, out=arguments.out))


if __name__ == "__main__":
    main()
