"""Reglue's evaluation, timed from the first reset to the score; the agent has its own process.

`evaluate` is what `reglue bench` calls. It is a program by itself, as it is run once a process:
`python -m speed.contenders.reglue_evaluation BENCHMARK '{"agent": …, "seed": …}'`.
"""

from __future__ import annotations

import json
import sys
import time

from reglue_bench.evaluation import evaluate
from reglue_bench.terminal.observer import NullObserver, RunStarted


class Stopwatch(NullObserver):
    """Notes when play begins: agent and workers are there, nothing has been reset."""

    began = 0.0

    def begin(self, begun: RunStarted) -> None:
        """The next thing is the agent's init, then the first resets."""
        self.began = time.perf_counter()


def main(benchmark: str, options: str) -> None:
    """Evaluate."""
    watcher = Stopwatch()
    result = evaluate(benchmark, watcher=watcher, **json.loads(options))
    seconds = time.perf_counter() - watcher.began
    assert result.complete, result.ended_early
    sys.stdout.write(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
