"""Commands on Ray clusters of 1 to 8 nodes, which are processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from speed.launches import ContenderFailed, Scale, Watch
from tests.ray_cluster import RayCluster

NODES = (1, 2, 3, 4, 6, 8)
RUNS = 16
EPISODES, STEP_S = 25, 0.1  # of a run, 2.5 s of waiting
SHORT, LONG = 100, 4100  # episodes of two commands whose difference is what rows cost
FAST_S = 0.005

ENVIRONMENT = Path(__file__).with_name("slow.py")


def seconds_by_nodes(scale: Scale, watch: Watch) -> dict[int, list[float]]:
    """Nodes -> seconds of the same command, each round on a cluster that grows."""
    sizes = NODES[: scale.of(len(NODES), 3)]
    runs, episodes = scale.of(RUNS, 2), scale.of(EPISODES, 2)
    seconds: dict[int, list[float]] = {nodes: [] for nodes in sizes}
    for turn in range(scale.rounds(2)):
        with RayCluster(cores=0) as cluster:  # of the head
            for nodes in range(1, max(sizes) + 1):
                cluster.add()
                if nodes in sizes:
                    watch(f"{nodes} nodes, {turn + 1}")
                    seconds[nodes].append(_bench(cluster, runs, episodes, STEP_S).wall_s)
    return seconds


def cpu_s_of_a_row(scale: Scale, watch: Watch) -> list[float]:
    """CPU seconds of the command and its processes for a row from a node, alone; each round."""
    cpu_s = []
    long = scale.of(LONG, 5 * SHORT)
    with RayCluster(cores=0) as cluster:  # of the head
        cluster.add()
        for turn in range(scale.rounds(3)):
            watch(f"rows that come alone, {turn + 1}")
            less, more = (_bench(cluster, 1, each, FAST_S).cpu_s for each in (SHORT, long))
            cpu_s.append((more - less) / (long - SHORT))
    return cpu_s


@dataclass(frozen=True, slots=True)
class _Took:
    """The time that a command took."""

    wall_s: float
    cpu_s: float  # of the command and its processes here; nodes' are not among them


def _bench(cluster: RayCluster, runs: int, episodes: int, step_s: float) -> _Took:
    """One command. Raises ContenderFailed."""
    with tempfile.TemporaryDirectory(prefix="reglue-scaling-") as folder:
        command = [
            *(sys.executable, "-m", "reglue", "bench", f"online:{ENVIRONMENT}:Slow"),
            *("--environment-arg", f"step_s={step_s}", "--agent", "random"),
            *("--runs", str(runs), "--episodes", str(episodes)),
            *("--engine", "ray", "--out", f"{folder}/run"),
        ]
        output = Path(folder) / "said"
        with output.open("wb") as out:
            began = time.perf_counter()
            process = subprocess.Popen(
                command, env=os.environ | cluster.environment, stdout=out, stderr=out
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise ContenderFailed(output.read_text(errors="replace")[-2000:])
    return _Took(wall_s, usage.ru_utime + usage.ru_stime)
