"""Evaluates one agent at two steps of a training, for the loggers that it is told; then they get
the result of agents that learned.

`python -m tests.reglue_bench.loggers.scores_logged LOGGER...`
"""

from __future__ import annotations

import sys
from typing import Any

from reglue_bench.evaluator import Evaluator
from reglue_bench.loggers import Loggers
from tests.reglue_bench.learning_results import learned

BENCHMARK = "evaluate:cart-pole"
STEPS = (0, 1000)


def lean(observations: Any) -> Any:
    """To the side to which the pole leans."""
    return (observations[:, 2] > 0).astype(int)


def main() -> None:
    """Evaluate, and say the mean return."""
    with Evaluator(BENCHMARK, num_episodes=4, log=sys.argv[1:]) as evaluator:
        means = {evaluator(lean, step=step).mean_return for step in STEPS}
    Loggers(sys.argv[1:])(learned())
    print(*means)


if __name__ == "__main__":
    main()
