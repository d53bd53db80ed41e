"""Meta-World's own evaluation of its scripted experts on MT10, as its documentation has it.

The vector environment is Gymnasium's SyncVectorEnv, the experts are in its process. It is a
program by itself: the whole command is measured as well.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any, cast

import gymnasium
import metaworld  # noqa: F401 - registers the environments
import numpy as np
from metaworld.evaluation import _get_task_names, evaluation
from metaworld.policies import ENV_POLICY_MAP


class Experts:
    """A scripted expert for each environment, who counts steps."""

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


def main(episodes: int, seed: int) -> None:
    """Evaluate, and say how long it took from the first reset to the score."""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    environments: Any = gymnasium.make_vec("Meta-World/MT10", vector_strategy="sync", seed=seed)
    experts = Experts(_get_task_names(environments), episodes)
    began = time.perf_counter()
    _, _, per_task, _ = evaluation(experts, environments, episodes)
    found = {
        "seconds": time.perf_counter() - began,
        "success_per_task": per_task,
        "executed": experts.executed,
        "counted": experts.counted,
    }
    sys.stdout.write(json.dumps(found))
    environments.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
