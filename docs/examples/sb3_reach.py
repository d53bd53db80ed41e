"""Stable-Baselines3's PPO learns to reach, on MT1's training goals through the Gymnasium view.

    python docs/examples/sb3_reach.py
    python docs/examples/sb3_reach.py --evaluate  # the best model again, from its files

The benchmark judges it while it trains, on 20 of its goals. A policy that knows nothing reaches one
or two of them; 80,000 steps, about five minutes of two busy cores, later it reached about half.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import reglue
from reglue_bench import Result
from reglue_bench.sb3 import EvalCallback

BENCHMARK = "MT1:reach-v3"


def train(
    steps: int, evaluate_every: int, folder: str, *, goals: int = 20, seed: int = 0
) -> EvalCallback:
    """Train; what the evaluations found is in the callback."""
    env = DummyVecEnv([lambda: Monitor(reglue.make(BENCHMARK, seed=seed))])
    env = VecNormalize(env, gamma=0.99)  # the hand moves by centimetres
    callback = EvalCallback(
        BENCHMARK,
        eval_freq=evaluate_every,
        best_model_save_path=folder,
        num_episodes=goals,  # an episode each
        seed=seed,
        workers=0,
    )
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=1000,  # two episodes
        batch_size=200,
        learning_rate=1e-3,
        seed=seed,
        device="cpu",
    )
    model.learn(steps, callback=callback)
    env.close()
    return callback


def evaluate(folder: str, *, goals: int = 20, seed: int = 0) -> Result:
    """Judge the best model that `train` saved, with the statistics that it saved beside it."""
    model = PPO.load(Path(folder) / "best_model", device="cpu")
    agent = reglue.ModelAgent(model, vec_normalize=Path(folder) / "vecnormalize.pkl")
    return reglue.evaluate(BENCHMARK, agent=agent, num_episodes=goals, seed=seed, workers=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--evaluate-every", type=int, default=10_000)
    parser.add_argument("--folder", default="models")
    parser.add_argument("--evaluate", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.evaluate:
        print(evaluate(arguments.folder))
    else:
        found = train(arguments.steps, arguments.evaluate_every, arguments.folder)
        print(found.last_result)
