"""Servers of either protocol as programs of their own, which are killed and may come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from reglue.spec import Array

_AWAY_S = 3.0  # longer than a new process takes to start


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A server's program, and how its worlds are named and played."""

    module: str
    name: str  # of the environment, at a port
    arguments: Mapping[str, Any]
    act: Callable[[Mapping[str, Array]], dict[str, Array]]

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[tuple[int, int]]:
        """The process id and the port of a server, until the block ends."""
        words = [sys.executable, "-m", self.module, str(port)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.pid, int(server.stdout.readline().rpartition(":")[2])
            finally:
                server.kill()

    @contextmanager
    def coming_back(self, pid: int, port: int) -> Iterator[Callable[[], None]]:
        """A function that kills the server, which is to be called in the block.

        Another server is at the port `_AWAY_S` later, until the block ends.
        """
        is_killed, is_over = threading.Event(), threading.Event()

        def kill() -> None:
            os.kill(pid, signal.SIGKILL)
            is_killed.set()

        def come_back() -> None:
            is_killed.wait()
            if not is_over.wait(_AWAY_S):
                with self.serving(port):
                    is_over.wait()

        later = threading.Thread(target=come_back)
        later.start()
        try:
            yield kill
            assert is_killed.is_set()
        finally:
            is_over.set()
            is_killed.set()
            later.join()


def _act_in_dm_env_rpc(seen: Mapping[str, Array]) -> dict[str, Array]:
    place = seen["place"]
    gear = np.sign(place[:, 0]).astype(np.int8)
    return {"push": np.tanh(place[:, :2]).astype(np.float32), "gear": gear}


def _act_in_openenv(seen: Mapping[str, Array]) -> dict[str, Array]:
    place = seen["pose/at"]
    choices = (place[:, 0] > 0).astype(np.int64)
    nothing = np.zeros((len(place), 32), np.uint8)
    pushed = {"push": np.tanh(place[:, :2]), "say": nothing}
    return pushed | dict.fromkeys(("gear", "level", "is_fast"), choices)


DM_ENV_RPC = ServerProgram(
    "tests.reglue.bridges.dm_servers",
    "dm-env-rpc:127.0.0.1:{}",
    {"seed_setting": "seed"},
    _act_in_dm_env_rpc,
)
OPENENV = ServerProgram(
    "tests.reglue.bridges.openenv_servers", "openenv:http://127.0.0.1:{}", {}, _act_in_openenv
)
