"""Runs on a Ray cluster: the rows of one process, whatever happens to nodes."""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from glue_server import Outcome
from reglue.errors import UsageError
from reglue_bench.cli import bench
from reglue_bench.engines.files import at_home, check_facts, facts_and_files, portable
from reglue_bench.engines.run_identity import agent_facts, machine
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.run_folder import RAY_LOG
from reglue_bench.runs.ledger import MACHINE, LedgerReader
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.ray_cluster import RayCluster
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoff.test_bakeoff_runs import ONLINE
from tests.reglue_bench.bakeoff.test_seed_runs import ONLINE as SEEDS
from tests.reglue_bench.bakeoffs import agent, bake, write
from tests.reglue_bench.conftest import NewCluster
from tests.reglue_bench.engines.test_local_engine import (
    LOST,
    PLANS,
    SEEDED,
    STARVED,
    hungry,
)
from tests.reglue_bench.procedures.test_online import kept
from tests.reglue_bench.toys import AGENTS, Interrupts, Says, online_plan, play, rows


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.procedure)
def test_rows_do_not_depend_on_the_nodes(tmp_path: Path, plan: Plan, cluster: RayCluster) -> None:
    play(tmp_path / "here", plan, Seeded())
    one = play(tmp_path / "1", plan, agent_cmd=SEEDED, engine="ray", processes=1)
    three = play(tmp_path / "3", plan, agent_cmd=SEEDED, engine="ray")
    assert one.complete
    assert three.complete
    assert kept(tmp_path / "here") == kept(tmp_path / "1") == kept(tmp_path / "3")


def test_the_ledger_names_the_machine_of_each_agent(tmp_path: Path, cluster: RayCluster) -> None:
    play(tmp_path, online_plan(runs=2), agent_cmd=SEEDED, engine="ray")
    with LedgerReader(tmp_path) as ledger:
        about = ledger.about
    assert [name for name in sorted(about) if name.startswith(MACHINE)] == [
        f"{MACHINE}agent 0: {machine()}",
        f"{MACHINE}agent 1: {machine()}",
    ]


class Loses(Says):
    """Does something to the cluster after some outcomes."""

    def __init__(self, cluster: RayCluster, after: int, *lose: str) -> None:
        super().__init__()
        self._cluster = cluster
        self._left = after
        self._lose = lose

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self._left -= 1
        if not self._left:
            for what in self._lose:
                getattr(self._cluster, what)()


def test_what_a_lost_node_played_is_played_again_by_another(
    tmp_path: Path, new_cluster: NewCluster
) -> None:
    plan = online_plan(runs=3, episodes=300)
    play(tmp_path / "whole", plan, Seeded())
    cluster = new_cluster(cores=0)
    cluster.add()
    watcher = Loses(cluster, 350, "kill", "add")
    result = play(tmp_path / "lost", plan, agent_cmd=SEEDED, engine="ray", watcher=watcher)
    assert result.complete
    assert kept(tmp_path / "lost") == kept(tmp_path / "whole")
    assert result.events[0].what == f"{LOST}: its node is lost, or Ray cannot reach it any more"
    assert result.events[0].what in watcher.said
    assert result.machines == [machine()]


def test_what_a_process_without_memory_played_is_played_again(
    tmp_path: Path, cluster: RayCluster
) -> None:
    watcher = Says()
    play(tmp_path / "whole", hungry(tmp_path / "fuse", 0), Seeded())
    plan = hungry(tmp_path / "fuse", 1)
    result = play(tmp_path / "starved", plan, agent_cmd=SEEDED, engine="ray", watcher=watcher)
    assert result.complete
    assert kept(tmp_path / "starved") == kept(tmp_path / "whole")
    assert f"{LOST}: {STARVED}" in watcher.said


def test_a_cluster_that_has_no_memory_for_any_process_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_cluster: NewCluster
) -> None:
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")  # Ray kills all that begins
    new_cluster()
    result = play(tmp_path, online_plan(runs=1), agent_cmd=SEEDED, engine="ray")
    assert result.ended_early is not None
    assert result.ended_early.status == "environment_error"
    words = "3 processes died, one after another, .*: killed by Ray for want of memory on its node "
    assert re.match(words, result.ended_early.what)


def test_a_lost_head_ends_the_run_which_is_resumed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    three_nodes: RayCluster,
    new_cluster: NewCluster,
) -> None:
    plan = online_plan(runs=3, episodes=300)
    play(tmp_path / "whole", plan, Seeded())
    with new_cluster() as cluster:
        watcher = Loses(cluster, 350, "kill_head")
        result = play(tmp_path / "lost", plan, agent_cmd=SEEDED, engine="ray", watcher=watcher)
    assert result.ended_early is not None
    assert "Ray cluster is lost" in result.ended_early.what
    assert "can be resumed" in result.ended_early.what
    three_nodes.use(monkeypatch)
    assert resume(tmp_path / "lost", NullObserver()).complete
    assert kept(tmp_path / "lost") == kept(tmp_path / "whole")


def test_ctrl_c_keeps_what_is_whole_and_the_rest_is_resumed(
    tmp_path: Path, cluster: RayCluster
) -> None:
    plan = online_plan(runs=4, episodes=3)
    play(tmp_path / "whole", plan, Seeded())
    watcher = Interrupts(after=7)
    result = play(tmp_path / "cut", plan, agent_cmd=SEEDED, engine="ray", watcher=watcher)
    assert result.ended_early is not None
    assert result.ended_early.status == "interrupted"
    assert resume(tmp_path / "cut", NullObserver()).complete
    assert kept(tmp_path / "cut") == kept(tmp_path / "whole")


AGENT = """
from pathlib import Path

from beside import Agent


class Mine(Agent):
    def __init__(self, checkpoint):
        assert Path(checkpoint).read_text() == "weights"
        print("Mine began", flush=True)
"""


def test_an_agents_files_go_with_it_and_its_log_comes_back(
    tmp_path: Path, cluster: RayCluster
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (folder / "beside.py").write_text("from tests.reglue_bench.agents import Seeded as Agent\n")
    (folder / "weights.txt").write_text("weights")
    asked: dict[str, Any] = {"directory": str(folder), "processes": 1}
    asked["agent_args"] = {"checkpoint": "weights.txt"}
    plan = online_plan(runs=2)
    result = play(tmp_path / "run", plan, "agent.py:Mine", engine="ray", **asked)
    assert result.complete
    assert "Mine began" in (tmp_path / "run/agent.log").read_text()


PROGRAM = """
import sys
import reglue
from reglue.examples.random_agent import RandomAgent

print("played by", sys.executable, flush=True)
reglue.connect(RandomAgent())
"""


def test_an_agents_program_is_started_with_the_python_of_its_node(
    tmp_path: Path, new_cluster: NewCluster
) -> None:
    """It is installed elsewhere than the run's, so that its path is no fact of the agent."""
    (tmp_path / "agent.py").write_text(PROGRAM)
    (tmp_path / "there").symlink_to(sys.prefix)
    python = str(tmp_path / "there/bin/python")
    asked: dict[str, Any] = {"agent_cmd": f"{sys.executable} agent.py", "directory": str(tmp_path)}
    play(tmp_path / "here", online_plan(runs=2), **asked)
    new_cluster(python=python)
    play(tmp_path / "run", online_plan(runs=2), engine="ray", **asked)
    assert f"played by {python}" in (tmp_path / "run/agent.log").read_text()
    assert kept(tmp_path / "run") == kept(tmp_path / "here")


def test_programs_of_the_installation_are_found_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the machine stay what they are."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    asked = Settings(
        benchmark="corridor",
        agent_cmd=f"nice .venv/bin/python {sys.executable} /bin/sh python 'a b.py'",
        directory=str(tmp_path),
    )
    sent, name = portable(asked), Path(sys.executable).name
    assert not any(sys.prefix in fact for fact in agent_facts(sent))
    monkeypatch.setattr("sys.executable", "/opt/there/bin/python")
    there = f"/opt/there/bin/python /opt/there/bin/{name}"
    assert at_home(sent).agent_cmd == f"nice {there} /bin/sh python 'a b.py'"


def test_an_installed_package_is_not_sent_along() -> None:
    """Also where it is installed in the directory of the run."""
    where = str(Path(sys.prefix).parent)
    asked = Settings(benchmark="corridor", agent="numpy.random:Generator", directory=where)
    sent = facts_and_files(asked, online_plan())
    assert "agent file numpy.random" in sent["facts"]
    assert sent["files"] == {}


def test_what_differs_on_a_node_is_named(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("")
    plan = online_plan()
    settings = Settings(benchmark="corridor", agent="agent.py:Mine", directory=str(tmp_path))
    wanted = facts_and_files(settings, plan)["facts"]
    check_facts(wanted, settings, plan)
    (tmp_path / "agent.py").unlink()
    other = wanted | {"version numpy": "1.0"}
    with raises(UsageError, "agent file agent.py", "none", "version numpy", version("numpy"), 1.0):
        check_facts(other, settings, plan)


def test_a_node_with_another_version_is_named(tmp_path: Path, new_cluster: NewCluster) -> None:
    older = tmp_path / "older/numpy-1.0.dist-info/METADATA"
    older.parent.mkdir(parents=True)
    older.write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n")
    new_cluster(cores=0).add(str(tmp_path / "older"))
    with raises(UsageError, platform.node(), "numpy: 1.0 there", f"{version('numpy')} here"):
        play(tmp_path / "run", online_plan(), agent_cmd=SEEDED, engine="ray")


def test_who_gets_no_core_says_so_and_the_others_play_everything(
    tmp_path: Path, new_cluster: NewCluster
) -> None:
    gate = tmp_path / "gate"
    asked: dict[str, Any] = {
        "engine": "ray",
        "processes": 2,
        "connect_timeout": 30.0,
        "agent_args": {"gate": str(gate), "after": "2"},
    }
    watcher = Opens(gate, "waits for a free core of the Ray cluster, for at most 30 s")
    new_cluster()
    gated = f"{AGENTS}:Gated"
    result = play(tmp_path / "run", online_plan(runs=3), gated, watcher=watcher, **asked)
    assert result.complete


class Opens(NullObserver):
    """Lets gated agents play once something is said."""

    def __init__(self, gate: Path, words: str) -> None:
        self._gate = gate
        self._words = words

    def say(self, words: str) -> None:
        if words == self._words:
            self._gate.touch()


def test_a_bakeoff_plays_on_the_cluster(tmp_path: Path, cluster: RayCluster) -> None:
    path = write(tmp_path, agent("seeded"), agent("other"), benchmark=ONLINE)
    here = bake(path, processes=1)
    (tmp_path / "out").rename(tmp_path / "here")
    there = bake(path, engine="ray")
    for name in ("seeded", "other"):
        assert there[name].complete
        assert rows(there[name]) == rows(here[name])
        assert (tmp_path / "out" / name / RAY_LOG).exists()


def test_training_seeds_play_on_the_cluster(tmp_path: Path, cluster: RayCluster) -> None:
    for where in ("local", "ray"):
        agent = ("--agent", "constant", "--agent-arg", "action=0.{training_seed}")
        engine = ("--engine", where, "--processes", "1")
        words = [*SEEDS, *agent, *engine, "--out", str(tmp_path / where)]
        with pytest.raises(SystemExit, match="0"):
            bench.main(words)
    for seed in ("seed-0", "seed-1"):
        assert kept(tmp_path / "ray" / seed) == kept(tmp_path / "local" / seed)
        assert (tmp_path / "ray" / seed / RAY_LOG).exists()


def test_a_checkpoint_that_a_node_lacks_is_named_with_the_node(
    tmp_path: Path, cluster: RayCluster
) -> None:
    arguments = {"checkpoint": str(tmp_path / "weights.txt")}
    (tmp_path / "weights.txt").write_text("weights")
    watcher = Removes(tmp_path / "weights.txt")
    with raises(UsageError, platform.node(), f"checkpoint={watcher.file}", "a file"):
        play(
            tmp_path / "run",
            online_plan(),
            f"{Path(__file__).parents[1] / 'agents.py'}:Seeded",
            engine="ray",
            agent_args=arguments,
            watcher=watcher,
        )


class Removes(NullObserver):
    """Removes a file once the run connects to the cluster."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def say(self, words: str) -> None:
        self.file.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("settings", "why", "named"),
    [
        ({"agent": "wait"}, "the agent", set()),
        ({"agent_cmd": SEEDED, "record": True}, "dataset", {"record"}),
        ({"agent": Seeded()}, "object", set()),
    ],
    ids=["connects", "records", "object"],
)
def test_what_cannot_play_elsewhere_is_refused(
    tmp_path: Path, settings: dict[str, Any], why: str, named: set[str]
) -> None:
    with raises(UsageError, "local", why, got="engine=ray", settings={"engine", *named}):
        play(tmp_path, online_plan(), engine="ray", **settings)


def test_an_unknown_engine_is_refused() -> None:
    with raises(ValidationError, "slurm", "local", "ray", "ray://HOST:PORT"):
        Settings(benchmark="corridor", engine="slurm")
