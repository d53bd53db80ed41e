"""Connecting a run to a Ray cluster, and the message if that fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import MissingExtra, UsageError
from tests.error_facts import raises
from tests.ray_cluster import RayCluster
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.engines.test_local_engine import SEEDED
from tests.reglue_bench.procedures.test_online import kept
from tests.reglue_bench.toys import Says, online_plan, play


def test_a_cluster_may_be_named(tmp_path: Path, three_nodes: RayCluster) -> None:
    plan = online_plan(runs=4)
    play(tmp_path / "here", plan, Seeded())
    watcher = Says()
    asked: dict[str, Any] = {"agent_cmd": SEEDED, "engine": three_nodes.client_address}
    assert play(tmp_path / "there", plan, watcher=watcher, **asked).complete
    assert kept(tmp_path / "here") == kept(tmp_path / "there")
    assert watcher.said[:2] == [
        f"connecting to the Ray cluster at {three_nodes.client_address}, for at most 60 s",
        "the Ray cluster has 3 nodes with 3 cores",
    ]


@pytest.mark.parametrize(
    ("engine", "where"), [("ray", "127.0.0.1:1"), ("ray://127.0.0.1:2", "ray://127.0.0.1:2")]
)
def test_a_cluster_where_nobody_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, where: str
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    asked: dict[str, Any] = {"agent_cmd": SEEDED, "engine": engine, "connect_timeout": 3.0}
    watcher = Says()
    with raises(UsageError, where, "no answer", "ray start --head", settings={"engine"}):
        play(tmp_path, online_plan(), watcher=watcher, **asked)
    assert watcher.said == [f"connecting to the Ray cluster at {where}, for at most 3 s"]


def test_why_ray_finds_no_cluster_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "no-address")
    with raises(UsageError, "no-address", "ValueError", "ray start --head", settings={"engine"}):
        play(tmp_path, online_plan(), agent_cmd=SEEDED, engine="ray")


def test_a_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with raises(MissingExtra, "pip install 'reglue[ray]'", name="the package ray"):
        play(tmp_path, online_plan(), agent_cmd=SEEDED, engine="ray")
