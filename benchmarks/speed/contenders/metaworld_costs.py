"""What steps and resets of Meta-World cost, in a process of its own, which loads all tasks."""

from __future__ import annotations

import json
import sys

from env_adapters.metaworld import ALL_TASKS
from speed import reset_cost, step_cost


def main(tasks: int, repetitions: int) -> None:
    """Rows of the first `tasks` tasks."""
    names = ALL_TASKS[:tasks]
    steps = [row._asdict() for row in step_cost.metric(names, repetitions)]
    resets = [row._asdict() for row in reset_cost.metric(names)]
    sys.stdout.write(json.dumps({"steps": steps, "resets": resets}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
