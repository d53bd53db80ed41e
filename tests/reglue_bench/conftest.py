"""`reglue …` in this process; Ray clusters: one for a file, and those that a test begins."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

import pytest

from reglue.__main__ import main
from tests.ray_cluster import RayCluster

NewCluster: TypeAlias = Callable[..., RayCluster]
Say: TypeAlias = Callable[..., CompletedProcess[str]]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Say]:
    """Runs a command, in a folder, and tells how it left and what it printed.

    What needs no process of its own is spared the loading of one.
    """
    before = signal.getsignal(signal.SIGTERM)

    def say(*words: object, folder: Path | None = None) -> CompletedProcess[str]:
        if folder is not None:
            monkeypatch.chdir(folder)
        capfd.readouterr()
        command = [str(word) for word in words]
        with pytest.raises(SystemExit) as left:
            main(command)
        told = capfd.readouterr()
        return CompletedProcess(command, int(str(left.value.code)), told.out, told.err)

    yield say
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[RayCluster]:
    """Begun once a file, as a cluster that waits takes a tenth of a processor.

    A test that loses a node or a head begins a `new_cluster`.
    """
    with RayCluster() as cluster:
        cluster.add()
        cluster.add()
        yield cluster


@pytest.fixture
def cluster(three_nodes: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """With a core on each of three nodes, where runs find it."""
    three_nodes.use(monkeypatch)
    return three_nodes


@pytest.fixture
def new_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[NewCluster]:
    """Begins a cluster that the test may break, where runs find it."""
    with ExitStack() as stack:

        def begin(cores: int = 1, **more: str) -> RayCluster:
            cluster = stack.enter_context(RayCluster(cores, **more))
            cluster.use(monkeypatch)
            return cluster

        yield begin
