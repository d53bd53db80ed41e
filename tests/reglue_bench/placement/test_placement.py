"""Environments on a Ray cluster, for an agent that stays here: the rows of local workers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import reglue
from glue_server import Outcome
from reglue.errors import MissingExtra, UsageError
from reglue_bench.engines.run_identity import machine
from reglue_bench.evaluation import evaluate, resume
from reglue_bench.placement.environment_process import check_reached
from reglue_bench.placement.placed_worker import PROCESS
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.ledger import ENVIRONMENTS, LedgerReader
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.ray_cluster import RayCluster
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoff.test_bakeoff_runs import IN_WORKERS
from tests.reglue_bench.bakeoffs import agent, bake, write
from tests.reglue_bench.conftest import NewCluster
from tests.reglue_bench.engines.test_local_engine import STARVED, hungry
from tests.reglue_bench.engines.test_ray import Loses
from tests.reglue_bench.procedures.test_online import kept
from tests.reglue_bench.runs.test_hosting import Waiting
from tests.reglue_bench.toys import Interrupts, Says, corridor_plan, online_plan, play, rows

PLANS = [corridor_plan(), corridor_plan("meta-learning"), online_plan(runs=2)]


def placed(folder: Path, plan: Plan, agent: object | None = None, **settings: Any) -> Any:
    settings.setdefault("workers", None)
    return play(folder, plan, agent or Seeded(), environments="ray", **settings)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.procedure)
def test_rows_are_those_of_local_workers(tmp_path: Path, plan: Plan, cluster: RayCluster) -> None:
    play(tmp_path / "here", plan, Seeded(), workers=1)
    assert placed(tmp_path / "there", plan, transport="grpc").repeatable is True
    assert kept(tmp_path / "there") == kept(tmp_path / "here")
    with LedgerReader(tmp_path / "there") as ledger:
        assert f"{ENVIRONMENTS}{machine()}" in ledger.about


def test_worlds_of_gymnasium_play_the_same(tmp_path: Path, cluster: RayCluster) -> None:
    for where in ("local", "ray"):
        asked: dict[str, Any] = {"num_episodes": 4, "workers": 2, "environments": where}
        evaluate("evaluate:cart-pole", agent="random", out=tmp_path / where, **asked)
    assert kept(tmp_path / "ray") == kept(tmp_path / "local")


def test_rows_of_meta_world_are_those_of_local_workers(tmp_path: Path, cluster: RayCluster) -> None:
    asked: dict[str, Any] = {"agent": "expert", "seed": 42, "num_episodes": 1, "workers": 2}
    for where in ("local", "ray"):
        evaluate("MT10", environments=where, out=tmp_path / where, **asked)
    assert len(kept(tmp_path / "ray")) == 10
    assert kept(tmp_path / "ray") == kept(tmp_path / "local")


@pytest.mark.parametrize("at_once", [1, 2])
def test_environments_of_a_bakeoff_are_placed(
    tmp_path: Path, cluster: RayCluster, at_once: int
) -> None:
    path = write(tmp_path, agent("seeded"), agent("other"), benchmark=IN_WORKERS)
    here = bake(path)
    (tmp_path / "out").rename(tmp_path / "here")
    there = bake(path, environments="ray", at_once=at_once)
    for name in ("seeded", "other"):
        assert there[name].complete
        assert rows(there[name]) == rows(here[name])
        with LedgerReader(tmp_path / "out" / name) as ledger:
            assert f"{ENVIRONMENTS}{machine()}" in ledger.about


def test_a_cluster_may_be_named_and_workers_numbered(tmp_path: Path, cluster: RayCluster) -> None:
    where = cluster.client_address
    play(tmp_path / "here", PLANS[0], Seeded(), workers=1)
    result = play(tmp_path / "there", PLANS[0], Seeded(), environments=where, workers=1)
    assert result.complete
    assert kept(tmp_path / "there") == kept(tmp_path / "here")


def test_the_agent_may_connect_by_itself(tmp_path: Path, cluster: RayCluster) -> None:
    plan = corridor_plan()
    play(tmp_path / "here", plan, Seeded(), workers=1)
    run = Waiting(tmp_path / "there", environments="ray", workers=None)
    reglue.connect(Seeded(), run.where)
    run.join(60)
    assert run.result.complete
    assert kept(tmp_path / "there") == kept(tmp_path / "here")


def test_environments_connect_over_tls(tmp_path: Path, cluster: RayCluster) -> None:
    assert placed(tmp_path, corridor_plan(), transport="grpc", tls=True).complete


class Sees(Interrupts):
    """Keeps the environments' processes of the cluster, then interrupts."""

    def __init__(self, cluster: RayCluster, after: int) -> None:
        super().__init__(after)
        self._cluster = cluster

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self.seen = self._cluster.processes(PROCESS)
        super().outcome(outcome, phase)


def test_ctrl_c_leaves_no_process_and_the_rest_is_resumed(
    tmp_path: Path, cluster: RayCluster
) -> None:
    plan = corridor_plan(num_episodes=6)
    play(tmp_path / "whole", plan, Seeded())
    watcher = Sees(cluster, after=5)
    result = placed(tmp_path / "cut", plan, f"{AGENTS}:Seeded", watcher=watcher)
    assert watcher.seen
    assert result.ended_early.status == "interrupted"
    deadline = time.monotonic() + 60
    while cluster.processes(PROCESS) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not cluster.processes(PROCESS)
    assert resume(tmp_path / "cut", NullObserver()).complete
    assert kept(tmp_path / "cut") == kept(tmp_path / "whole")


AGENTS = Path(__file__).parents[1] / "agents.py"


def test_what_a_lost_node_held_is_played_again_on_another(
    tmp_path: Path, new_cluster: NewCluster
) -> None:
    plan = corridor_plan(num_episodes=30)
    play(tmp_path / "whole", plan, Seeded())
    cluster = new_cluster()
    cluster.add()
    watcher = Loses(cluster, 50, "kill")
    result = placed(tmp_path / "lost", plan, watcher=watcher)
    assert result.complete
    assert kept(tmp_path / "lost") == kept(tmp_path / "whole")
    how = f"the environment on {machine()} died: its node is lost, or Ray cannot reach it any more"
    assert result.events[0].what == f"{how}; its episodes are rebuilt"
    assert result.environments_on == [machine()]


def test_what_a_process_without_memory_held_is_played_again(
    tmp_path: Path, cluster: RayCluster
) -> None:
    play(tmp_path / "whole", hungry(tmp_path / "fuse", 0), Seeded())
    result = placed(tmp_path / "starved", hungry(tmp_path / "fuse", 1))
    assert result.complete
    assert kept(tmp_path / "starved") == kept(tmp_path / "whole")
    how = f"the environment on {machine()} died: {STARVED}; its episodes are rebuilt"
    assert [each.what for each in result.events] == [how]


def test_a_lost_head_ends_the_run_which_is_resumed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    three_nodes: RayCluster,
    new_cluster: NewCluster,
) -> None:
    plan = corridor_plan(num_episodes=30)
    play(tmp_path / "whole", plan, Seeded())
    with new_cluster() as cluster:
        watcher = Loses(cluster, 50, "kill_head")
        result = placed(tmp_path / "lost", plan, f"{AGENTS}:Seeded", watcher=watcher)
    assert result.ended_early is not None
    three_nodes.use(monkeypatch)
    assert resume(tmp_path / "lost", NullObserver()).complete
    assert kept(tmp_path / "lost") == kept(tmp_path / "whole")


def test_no_free_core_is_said_and_given_up(tmp_path: Path, cluster: RayCluster) -> None:
    watcher = Says()
    with raises(UsageError, "core", 30):  # the cluster itself is to be reached within it, too
        placed(tmp_path, corridor_plan(slots=8), workers=4, connect_timeout=30.0, watcher=watcher)
    assert any("waits for a free core" in words for words in watcher.said)


def test_an_address_that_a_node_cannot_reach_says_what_to_give(
    tmp_path: Path, cluster: RayCluster
) -> None:
    facts = ("127.0.0.1:1", "listen=0.0.0.0:PORT", "advertise=HOST:PORT")
    with raises(UsageError, *facts):
        check_reached("127.0.0.1:1")
    with raises(UsageError, *facts):
        placed(tmp_path, corridor_plan(), advertise="127.0.0.1:1")


def test_a_cluster_that_is_not_there_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with raises(UsageError, "127.0.0.1:1", "ray start --head", settings={"environments"}):
        placed(tmp_path, corridor_plan(), connect_timeout=3.0)


def test_a_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with raises(
        MissingExtra, "environments=ray", "pip install 'reglue[ray]'", name="the package ray"
    ):
        placed(tmp_path, corridor_plan())


def test_an_environment_that_connects_by_itself_is_refused(tmp_path: Path) -> None:
    with raises(UsageError, "environments=ray", "the environment"):
        evaluate("online:wait", agent="random", environments="ray", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"engine": "ray"}, ["omit one of them"]), ({"workers": 0}, ["got 0, wanted 1"])],
)
def test_what_contradicts_it_is_refused(settings: dict[str, Any], named: list[object]) -> None:
    with raises(ValidationError, *named):
        Settings(benchmark="corridor", environments="ray", **settings)
