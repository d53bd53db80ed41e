"""`metalearning_evaluation` on ML10's test tasks, with Meta-World's default parameters.

`python -m speed.contenders.metaworld_meta_learning MODULE EVALUATIONS SEED`: the function is
imported from MODULE, metaworld.evaluation or reglue_bench.metaworld; all else is the same.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import gymnasium
import metaworld  # noqa: F401 - registers the environments

from speed.learner import Learner


class Counting(Learner):
    """Counts the steps of all environments."""

    executed = 0

    def eval_action(self, observations: Any) -> Any:
        """As the Learner."""
        self.executed += len(observations)
        return super().eval_action(observations)


def main(module: str, evaluations: int, seed: int) -> None:
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
    found = {"seconds": time.perf_counter() - began, "executed": learner.executed}
    sys.stdout.write(json.dumps(found))
    environments.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
