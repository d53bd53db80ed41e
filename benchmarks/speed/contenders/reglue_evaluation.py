"""Reglue's evaluation, timed from the first reset to the score; the agent has its own process.

`evaluate` is what `reglue bench` calls. It is a program by itself, as it is run once a process:
`python -m speed.contenders.reglue_evaluation BENCHMARK '{"agent": …, "seed": …}'`.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from reglue_bench.evaluation import evaluate
from reglue_bench.runs.observer import NullObserver, RunStarted
from speed.light import Still


class Stopwatch(NullObserver):
    """Notes when play begins: agent and workers are there, nothing has been reset."""

    began = 0.0

    def begin(self, begun: RunStarted) -> None:
        """The next thing is the agent's init, then the first resets."""
        self.began = time.perf_counter()


def evaluation(benchmark: str, options: str) -> None:
    """Evaluate."""
    watcher = Stopwatch()
    result = evaluate(benchmark, watcher=watcher, **json.loads(options))
    seconds = time.perf_counter() - watcher.began
    assert result.complete, result.ended_early
    sys.stdout.write(json.dumps({"seconds": seconds}))


def episodes(cells: int) -> None:
    """So many episodes of one step: seconds from the first reset to the score, and memory."""
    watcher = Stopwatch()
    result = evaluate(
        "multi-task:speed.light:Suite",
        agent=Still(),
        num_episodes=cells,
        slots=1,
        workers=0,
        environment_args={"horizon": 1},
        watcher=watcher,
    )
    seconds = time.perf_counter() - watcher.began
    assert result.complete
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(json.dumps({"seconds": seconds, "peak_bytes": peak}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case [cells]:
            episodes(int(cells))
        case [benchmark, options]:
            evaluation(benchmark, options)
