"""Meta-World's own evaluation of its scripted experts on MT10, as its documentation has it.

The vector environment is Gymnasium's SyncVectorEnv, the experts are in its process. It is a
program by itself: the whole command is measured as well.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any, cast

import gymnasium
import metaworld
import numpy as np
from metaworld.evaluation import _get_task_names, evaluation
from metaworld.policies import ENV_POLICY_MAP

from reglue_bench.results.scoring import read_run
from speed.light import Learner


class Experts:
    """A scripted expert for each environment; counts steps."""

    def __init__(self, names: list[str], quota: int) -> None:
        self._policies = [cast(Any, ENV_POLICY_MAP)[name]() for name in names]
        self._left = np.full(len(names), quota)  # episodes that count
        self._lengths = np.zeros(len(names), np.int64)
        self.executed = 0  # steps of all environments
        self.counted = 0  # of episodes that count

    def eval_action(self, observations: Any) -> Any:
        """An action each; float32, as the action space has it."""
        self.executed += len(observations)
        self._lengths += 1
        rows = zip(self._policies, observations, strict=True)
        return np.array([policy.get_action(row.copy()) for policy, row in rows], np.float32)

    def reset(self, env_mask: Any) -> None:
        """Episodes are over."""
        self.counted += int(self._lengths[env_mask & (self._left > 0)].sum())
        self._left -= env_mask & (self._lengths > 0)
        self._lengths[env_mask] = 0


def evaluate_experts(episodes: int, seed: int) -> None:
    """Evaluate, and say how long it took from the first reset to the score."""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    environments: Any = gymnasium.make_vec("Meta-World/MT10", vector_strategy="sync", seed=seed)
    experts = Experts(_get_task_names(environments), episodes)
    began = time.perf_counter()
    _, _, per_task, _ = evaluation(experts, environments, episodes)
    measured = {
        "seconds": time.perf_counter() - began,
        "success_per_task": per_task,
        "executed": experts.executed,
        "counted": experts.counted,
    }
    sys.stdout.write(json.dumps(measured))
    environments.close()


class Counting(Learner):
    """Counts the steps of all environments."""

    executed = 0

    def eval_action(self, observations: Any) -> Any:
        """Count the observations, and act as the Learner does."""
        self.executed += len(observations)
        return super().eval_action(observations)


def evaluate_learner(module: str, evaluations: int, seed: int) -> None:
    """Evaluate, and say how long it took from the first reset to the score."""
    environments: Any = gymnasium.make_vec(
        "Meta-World/ML10-test",
        vector_strategy="sync",
        seed=seed,
        meta_batch_size=20,
        total_tasks_per_cls=40,  # the documentation's 40 goals; with the default it fails
    )
    learner, evaluate = Counting(), importlib.import_module(module).metalearning_evaluation
    began = time.perf_counter()
    evaluate(learner, environments, num_evals=evaluations)
    measured = {"seconds": time.perf_counter() - began, "executed": learner.executed}
    sys.stdout.write(json.dumps(measured))
    environments.close()


def compare_rows(folder: str, each: int) -> None:
    """The first `each` goals of every task of MT10."""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    result = read_run(Path(folder))
    rows = {(row.task, row.variant): row for row in result.episodes}
    benchmark = cast(Any, metaworld).MT10(seed=result.seed)
    equal = compared = 0
    for name, cls in benchmark.train_classes.items():
        environment = cls(reward_function_version="v2")
        goals = [task for task in benchmark.train_tasks if task.env_name == name]
        for variant in range(each):
            environment.set_task(goals[variant])
            row = rows[name, variant]
            played = _play(environment, cast(Any, ENV_POLICY_MAP)[name]())
            equal += played == (row.success, row.steps, row.return_)
            compared += 1
        environment.close()
    sys.stdout.write(json.dumps({"equal": equal, "compared": compared}))


def _play(environment: Any, policy: Any) -> tuple[bool, int, float]:
    """Success, steps and return of an episode that ends at its first success."""
    observation, _ = environment.reset()
    total = 0.0
    for step in range(1, 501):
        action = policy.get_action(observation.copy()).astype(np.float32)
        observation, reward, _, _, info = environment.step(action)
        total += float(reward)
        if info["success"] == 1:
            return True, step, total
    return False, 500, total


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["experts", episodes, seed]:
            evaluate_experts(int(episodes), int(seed))
        case ["learner", module, evaluations, seed]:
            evaluate_learner(module, int(evaluations), int(seed))
        case ["rows", folder, each]:
            compare_rows(folder, int(each))
