"""Ray clusters: one for the tests of a module, and those that a test begins for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import pytest

from tests.ray_cluster import RayCluster

NewCluster: TypeAlias = Callable[..., RayCluster]


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[RayCluster]:
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
