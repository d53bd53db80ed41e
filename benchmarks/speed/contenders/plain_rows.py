"""Plays some cells of a result anew in plain Meta-World, each alone, and compares to the bit."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any, cast

import metaworld
import numpy as np
from metaworld.policies import ENV_POLICY_MAP


def main(folder: str, each: int) -> None:
    """The first `each` goals of every task of MT10."""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    result = json.loads(Path(folder, "result.json").read_text(encoding="utf-8"))
    rows = {(row["task"], row["variant"]): row for row in result["episodes"]}
    benchmark = cast(Any, metaworld).MT10(seed=result["seed"])
    equal = compared = 0
    for name, cls in benchmark.train_classes.items():
        environment = cls(reward_function_version="v2")
        goals = [task for task in benchmark.train_tasks if task.env_name == name]
        for variant in range(each):
            environment.set_task(goals[variant])
            row = rows[name, variant]
            played = _play(environment, cast(Any, ENV_POLICY_MAP)[name]())
            equal += played == (row["success"], row["steps"], row["return"])
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
    main(sys.argv[1], int(sys.argv[2]))
