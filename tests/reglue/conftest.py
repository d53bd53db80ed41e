"""A real server on loopback, and peers that dial in: from a thread, from a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from glue_server.rpc import GlueServer
from reglue import connect
from tests.leftovers import nothing_left
from tests.reglue.connecting import Start
from tests.reglue.join_processes import AGENTS, ENVIRONMENTS, Join


@pytest.fixture
def tidy() -> Iterator[None]:
    """For files whose tests start threads or processes: `usefixtures` puts it first."""
    with nothing_left():
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Several threads of PyTorch's wait for each other on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def start() -> Iterator[Start]:
    """Calls `connect` from a thread."""
    threads = ThreadPoolExecutor(1, thread_name_prefix="agent")
    yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
    threads.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def join(server: GlueServer, tmp_path: Path) -> Iterator[Join]:
    """Runs `reglue join` with the server's address and token in its environment."""
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "environments.py").write_text(ENVIRONMENTS)
    processes: list[subprocess.Popen[str]] = []

    def join(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        named = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.token}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "reglue", "join", *arguments],
                cwd=tmp_path,
                env=os.environ | named | environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield join
    for process in processes:
        process.kill()
        process.communicate()
