"""A Ray cluster whose nodes are processes of this machine, on loopback alone.

`python -m tests.ray_cluster CORES` begins a head with so many cores and prints its address; each
line of its input, `add`, `kill` or `kill head`, is answered by one. It ends all at its input's end.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

if TYPE_CHECKING:
    import pytest

_MARK = "RAY_CLUSTER_OF_TESTS"  # a variable that each of its processes has
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # else Ray's proxy for ray:// fails now and then: it forks
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

    def __init__(self, cores: int = 1, python: str = sys.executable) -> None:
        """Its head has so many cores; its nodes run that Python."""
        mark = {_MARK: uuid4().hex}
        self._mark = f"{_MARK}={mark[_MARK]}".encode()
        self._process = subprocess.Popen(
            [python, "-m", "tests.ray_cluster", str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | _SETTINGS | mark,
        )
        self.environment = {**_SETTINGS, "RAY_ADDRESS": self._answer()}
        self.client_address = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let a test's runs find it."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def processes(self, module: str) -> list[int]:
        """Those on its nodes that run a module now, also if nobody holds them any more."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended
                if self._mark in (folder / "environ").read_bytes().split(b"\0"):
                    found += [int(folder.name)] * (module in (folder / "cmdline").read_text())
        return found

    def add(self, path: str = "") -> None:
        """Another node, with one core. `path` is its PYTHONPATH: what it imports first."""
        self._ask(f"add {path}")

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
    port = _free_port()
    head = _NODE | {"num_cpus": int(sys.argv[1]), "_system_config": _HEALTH}
    cluster = Cluster(initialize_head=True, head_node_args=head | {"ray_client_server_port": port})
    print(cluster.address, file=answers)
    print(f"ray://127.0.0.1:{port}", file=answers)
    nodes = []
    for line in sys.stdin:
        match line.split():
            case ["add", *path]:
                variables = {"PYTHONPATH": path[0]} if path else {}
                nodes.append(cluster.add_node(num_cpus=1, env_vars=variables, **_NODE))
            case ["kill"]:
                _kill(nodes.pop())
            case ["kill", "head"]:
                _kill(cluster.head_node)
        print("done", file=answers)
    cluster.shutdown()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _kill(node: Any) -> None:
    """As if its machine had lost its power."""
    started = [each.process.pid for of in node.all_processes.values() for each in of]
    for pid in [each for first in started for each in _family(first)]:
        with suppress(ProcessLookupError):  # it ended with its parent
            os.kill(pid, signal.SIGKILL)


def _family(pid: int) -> list[int]:
    """A process, its children and theirs."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(each) for file in files for each in file.read_text().split()]
    return [pid, *(each for child in children for each in _family(child))]


if __name__ == "__main__":
    main()
