"""Behaviour cloning: record an expert, fit a network to its actions, evaluate that as an agent.

    python behaviour_cloning.py --task button-press-v3 --seeds 3

needs `reglue[server,metaworld,datasets]` and PyTorch, and takes about a minute. Source: Pomerleau,
"ALVINN: An Autonomous Land Vehicle in a Neural Network", 1988.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import reglue

Floats = npt.NDArray[np.float32]


class Cloned(reglue.Agent):
    """Plays the network in `checkpoint`, for all slots at once."""

    def __init__(self, checkpoint: str) -> None:
        with np.load(checkpoint) as weights:
            self.weights = [weights[name] for name in weights.files]

    def agent_start(self, observations: Any, starts: reglue.Starts) -> Floats:
        """The first action of each episode, shape (rows, 4)."""
        return self.act(observations["observation"])

    def agent_step(self, rewards: Any, observations: Any, steps: reglue.Steps) -> Floats:
        """The next action of each episode, shape (rows, 4)."""
        return self.act(observations["observation"])

    def act(self, observations: npt.NDArray[np.float64]) -> Floats:
        """Two hidden layers; observations are scaled as they were in training."""
        mean, scale, *layers = self.weights
        rows = ((observations - mean) / scale).astype(np.float32)
        for place in range(0, len(layers), 2):
            rows = rows @ layers[place].T + layers[place + 1]
            if place + 2 < len(layers):
                rows = np.maximum(rows, 0)
        actions: Floats = np.clip(rows, -1, 1)
        return actions


def transitions(dataset: Path) -> tuple[npt.NDArray[np.float64], Floats]:
    """The expert's observations and actions in all episodes: (rows, 39) and (rows, 4)."""
    from minari import MinariDataset

    episodes = list(MinariDataset(dataset / "data"))
    # An episode has one observation more than it has actions: its last one.
    seen = np.concatenate([episode.observations[:-1] for episode in episodes])
    done = np.concatenate([episode.actions for episode in episodes])
    return seen, np.clip(done, -1, 1)  # recorded as it was chosen; the environment clips it


def fit(seen: npt.NDArray[np.float64], done: Floats, *, seed: int, epochs: int, file: Path) -> None:
    """Minimize the squared error by Adam, and save weights for `Cloned`."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # faster for so small a network
    mean, scale = seen.mean(0), seen.std(0) + 1e-3  # what never changed stays small
    inputs = torch.as_tensor((seen - mean) / scale, dtype=torch.float32)
    targets = torch.as_tensor(done, dtype=torch.float32)
    network = torch.nn.Sequential(
        torch.nn.Linear(inputs.shape[1], 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, targets.shape[1]),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(256):
            loss = torch.nn.functional.mse_loss(network(inputs[rows]), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    weights = [parameter.detach().numpy() for parameter in network.parameters()]
    np.savez(file, mean, scale, *weights)


def play(agent: str, task: str, out: Path, **more: Any) -> float:
    """The success rate of an agent on a task, by `reglue bench`."""
    result = reglue.evaluate(f"MT1:{task}", agent=agent, out=out, **more)
    return result.mean_success_rate


def main(words: Sequence[str] | None = None) -> None:
    """Record, fit and evaluate, once for each training seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="button-press-v3")
    parser.add_argument("--episodes", type=int, default=50, help="that the expert plays")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1, help="training seeds")
    parser.add_argument("--out", type=Path, default=Path("runs/cloning"))
    asked = parser.parse_args(words)
    task, out, games = asked.task, asked.out, {"num_episodes": asked.episodes}
    expert = play(
        "expert", task, out / "expert", seed=0, agent_args={"task": task}, record=True, **games
    )
    # Other goals than the expert was recorded on: those of --seed 1.
    chance = play("random", task, out / "random", seed=1, **games)
    print(f"{task}: expert {expert:.2f}, random {chance:.2f}")
    seen, done = transitions(out / "expert" / "dataset")
    for seed in range(asked.seeds):
        file = out / f"cloned-{seed}.npz"
        fit(seen, done, seed=seed, epochs=asked.epochs, file=file)
        given = {"checkpoint": str(file.resolve())}
        cloned = play(
            f"{Path(__file__).resolve()}:Cloned",
            task,
            out / f"cloned-{seed}",
            seed=1,
            agent_args=given,
            training_seed=seed,
            **games,
        )
        print(f"cloned from {len(done):,} steps, training seed {seed}: {cloned:.2f}", flush=True)


if __name__ == "__main__":
    main()
