"""A Ray cluster whose nodes are processes of this machine, on loopback alone.

`python -m tests.ray_cluster CORES` begins a head with so many cores and prints its address; each
line of its input, `add`, `kill` or `kill head`, is answered by one. It ends all at its input's end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # this machine is 127.0.0.1
    "RAY_worker_niceness": "0",  # else nodes wait for whatever else this machine does
}
_NODE = {
    "object_store_memory": 80 * 2**20,
    "node_ip_address": "127.0.0.1",
    "include_dashboard": False,
}
_HEALTH = {  # a node that is gone is noticed soon, a slow one is not taken for one
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 10,
}


class RayCluster:
    """The cluster, from another process: this one imports no Ray. A context manager."""

    def __init__(self, cores: int = 1) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.ray_cluster", str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | _SETTINGS,
        )
        self.environment = {**_SETTINGS, "RAY_ADDRESS": self._answer()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()

    def add(self) -> None:
        """Another node, with one core."""
        self._ask("add")

    def kill(self) -> None:
        """Kill the node that was added last, with all that runs on it."""
        self._ask("kill")

    def kill_head(self) -> None:
        """Kill the head with its node."""
        self._ask("kill head")

    def _ask(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        assert answer, "the cluster has ended"
        return answer


def main() -> None:
    from ray.cluster_utils import Cluster

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Ray prints there
    head = _NODE | {"num_cpus": int(sys.argv[1]), "_system_config": _HEALTH}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    print(cluster.address, file=answers)
    nodes = []
    for line in sys.stdin:
        match line.strip():
            case "add":
                nodes.append(cluster.add_node(num_cpus=1, **_NODE))
            case "kill":
                _kill(nodes.pop())
            case "kill head":
                _kill(cluster.head_node)
        print("done", file=answers)
    cluster.shutdown()


def _kill(node: Any) -> None:
    """As if its machine had lost its power."""
    started = [each.process.pid for of in node.all_processes.values() for each in of]
    for pid in [*started, *(worker for parent in started for worker in _children(parent))]:
        os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(each) for file in files for each in file.read_text().split()]


if __name__ == "__main__":
    main()
