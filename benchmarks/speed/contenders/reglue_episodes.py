"""Many short episodes through Reglue's evaluation, the agent and the environment in its process."""

from __future__ import annotations

import json
import resource
import sys
import time

from reglue_bench.evaluation import evaluate
from speed.contenders.reglue_evaluation import Stopwatch
from speed.light import Still


def main(cells: int) -> None:
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
    main(int(sys.argv[1]))
