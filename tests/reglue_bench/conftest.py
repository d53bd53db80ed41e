"""A Ray cluster for the tests of one module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ray_cluster import RayCluster


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
