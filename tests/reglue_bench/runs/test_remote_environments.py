"""An environment that dials in is a cell's environment in any procedure."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from glue_server.conformance.tcp_proxy import TcpProxy
from reglue.errors import EnvironmentFault, PlanDiffers, RunExists, UsageError
from reglue.net.join_string import join_string
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.cli.benchmarks import main as list_benchmarks
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.rehearsal import rehearse
from reglue_bench.renderers.kinds import RETURN
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore, ReturnScore
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue_bench.agents import Learner, Seeded
from tests.reglue_bench.remote import WORLDS, Unheard, dialling, end
from tests.reglue_bench.toys import AGENTS, rows

pytestmark = pytest.mark.slow

SOLVED: dict[str, Any] = {"a": [1, 3, 0], "b": [5, 0, 2]}
CORRIDOR = f"solved={json.dumps(SOLVED)}"
META = {"num_evals": 2, "adaptation_episodes": 2, "evaluation_episodes": 1}


def remote(
    procedure: str, world: str, *arguments: str, proxy: TcpProxy | None = None, **options: Any
) -> Any:
    """The result of a run whose environment is joined from another process."""
    with nothing_left(), dialling(f"{WORLDS}:{world}", *arguments, proxy=proxy) as (watcher, _):
        return evaluate(f"{procedure}:wait", watcher=watcher, connect_timeout=30, **options)


def came_of(result: Result) -> list[Any]:
    """Each episode, or each run with its returns or rewards."""
    if not isinstance(result.score, PerformanceScore):
        return rows(result)
    return [run.model_copy(update={"attempt": 0}) for run in result.score.runs]


def test_one_that_never_tells_of_success_is_judged_by_its_mean_return(tmp_path: Path) -> None:
    options: dict[str, Any] = {"agent": "random", "num_episodes": 4, "seed": 3, "slots": 2}
    with nothing_left(), dialling("gymnasium:CartPole-v1") as (watcher, _):
        result = evaluate("multi-task:wait", watcher=watcher, out=tmp_path / "run", **options)
    here = evaluate("multi-task:gymnasium:CartPole-v1", workers=0, **options)
    assert result.measure is RETURN
    assert result.score_as(ReturnScore).success is None
    assert result.mean_return == here.mean_return
    assert resume(tmp_path / "run", NullObserver()).mean_return == here.mean_return


@pytest.mark.parametrize(
    ("procedure", "options"),
    [
        ("multi-task", {"agent": Seeded()}),
        ("meta-learning", {"agent": Learner()} | META),
        ("online", {"agent": Learner(), "runs": 1, "episodes": 2}),
    ],
)
def test_a_world_of_ones_own_may_say_that_it_never_tells_of_success(
    procedure: str, options: dict[str, Any]
) -> None:
    result = remote(procedure, "Untold", **options)
    assert result.complete
    assert (result.measure is RETURN) == (procedure != "online")


@pytest.mark.parametrize(
    ("procedure", "options"),
    [
        ("multi-task", {"slots": 1}),
        ("multi-task", {"slots": 4}),
        ("meta-learning", {"meta_batch_size": 1} | META),
        ("meta-learning", {"meta_batch_size": 4} | META),
        ("online", {"runs": 2, "episodes": 5}),
    ],
)
def test_rows_are_those_of_the_same_worlds_played_here(
    procedure: str, options: dict[str, Any]
) -> None:
    agent = Learner if procedure != "multi-task" else Seeded
    there = remote(procedure, "Corridor", CORRIDOR, agent=agent(), **options)
    here = evaluate(
        f"{procedure}:tests.worlds:Corridor",
        agent=agent(),
        environment_args={"solved": SOLVED},
        workers=0,
        **options,
    )
    assert there.complete
    assert there.repeatable is True  # it was played again where it is
    assert came_of(there) == came_of(here)
    assert there.parameters == {"environment": "Corridor", **here.parameters}


def test_rows_of_mountain_car_are_those_played_here_by_an_agent_in_a_process() -> None:
    """An agent in its own process too, which is started anew for each run."""
    options: dict[str, Any] = {"agent": "random", "runs": 2, "steps": 400}
    there = remote("online", "MountainCar", **options)
    here = evaluate("online:mountain-car", **options)
    assert there.complete
    assert came_of(there) == came_of(here)
    assert there.score_as(PerformanceScore).fresh_agent == "process"


def test_rows_are_the_same_over_a_connection_that_is_cut() -> None:
    """Within the reconnect window it comes back, and every call is carried out once."""
    options: dict[str, Any] = {"num_episodes": 40, "slots": 2, "transport": "grpc"}
    with TcpProxy() as proxy:
        agent = Cutting(proxy)
        there = remote("multi-task", "Corridor", CORRIDOR, proxy=proxy, agent=agent, **options)
        assert proxy.cuts >= 3
    here = evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Seeded(),
        environment_args={"solved": SOLVED},
        workers=0,
        **options,
    )
    assert there.complete
    assert came_of(there) == came_of(here)


class Cutting(Seeded):
    """Cuts a proxy at some of its turns."""

    def __init__(self, proxy: TcpProxy) -> None:
        self._proxy, self._turns = proxy, 0

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        self._turns += 1
        if self._turns % 30 == 5:
            self._proxy.cut()
        return super().agent_step(rewards, observations, steps)


# What goes wrong.


def test_a_world_that_failed_once_goes_unnoticed() -> None:
    """Its episode's actions come through in a fresh world there."""
    result = remote("online", "Fragile", "breaks=3", "times=1", agent=Learner(), runs=2, episodes=2)
    assert result.complete
    assert not result.faults
    assert [run.attempt for run in result.score_as(PerformanceScore).runs] == [0, 0]


def test_a_world_that_fails_again_by_the_same_actions_has_crashed() -> None:
    asked: dict[str, Any] = {"runs": 2, "episodes": 2, "raise_faults": False}
    result = remote("online", "Fragile", "breaks=3", "times=3", agent=Learner(), **asked)
    assert [run.status for run in result.score_as(PerformanceScore).runs] == ["crashed", "ok"]
    assert "the floor gave way" in result.faults[0].detail


def test_an_environment_that_was_late_once_goes_unnoticed() -> None:
    result = remote(
        "online",
        "Slow",
        "seconds=4.0",
        "late=[2]",
        agent=Learner(),
        runs=2,
        episodes=2,
        environment_timeout=2.0,
    )
    assert result.complete
    assert not result.faults
    assert [run.attempt for run in result.score_as(PerformanceScore).runs] == [0, 0]


def test_an_environment_that_hangs_ends_the_run_early() -> None:
    with dialling(f"{WORLDS}:Deaf") as (watcher, started):
        result = evaluate(
            "online:wait",
            agent=Learner(),
            watcher=watcher,
            runs=2,
            episodes=2,
            environment_timeout=0.2,
            raise_faults=False,
        )
        assert result.ended_early is not None
        assert result.ended_early.status == "environment_error"
        assert "within 0.2 s (environment timeout)" in result.ended_early.what
        for process in started:
            process.kill()


def test_a_run_whose_environment_vanished_is_resumed_with_another(tmp_path: Path) -> None:
    """Committed rows stay, and the rest is played as if nothing had happened."""
    fuse = tmp_path / "fuse"
    fuse.touch()
    agent = f"{AGENTS}:Learner"
    options: dict[str, Any] = {"agent": agent, "runs": 3, "episodes": 4, "out": tmp_path / "run"}
    words = (f"fuse={fuse}", "dies=35", 'solved={"walk": [0]}')
    first = remote("online", "Mortal", *words, reconnect_window=0, raise_faults=False, **options)
    assert [run.status for run in first.score_as(PerformanceScore).runs] == [
        "ok",
        "environment_lost",
        "missing",
    ]
    assert "connection is gone" in first.ended_early.what
    with dialling(f"{WORLDS}:Mortal", *words) as (watcher, _):
        again = resume(tmp_path / "run", watcher)
    assert again.complete
    whole = remote("online", "Mortal", *words, **options | {"out": None})
    assert came_of(again) == came_of(whole)


def test_another_environment_does_not_finish_a_run(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    options: dict[str, Any] = {"agent": f"{AGENTS}:Learner", "runs": 3, "episodes": 4}
    words = (f"fuse={fuse}", "dies=35", 'solved={"walk": [0]}')
    with raises(EnvironmentFault, "online:wait", "connection"):
        remote("online", "Mortal", *words, reconnect_window=0, out=tmp_path / "run", **options)
    before = played(tmp_path / "run")
    variants, horizon = ("variants.walk", 1, 2), ("spec_sha256", "suite.config.horizon", 5, 6)
    for other, named in (
        ((*words[:2], 'solved={"walk": [0, 0]}'), variants),
        ((*words, "horizon=6"), horizon),
    ):
        with (
            dialling(f"{WORLDS}:Mortal", *other) as (watcher, _),
            raises(PlanDiffers, "environment", *named, settings=set()),
        ):
            resume(tmp_path / "run", watcher)
    assert played(tmp_path / "run") == before
    with raises(PlanDiffers, "parameters.episodes", "4 before", "5 now"):
        resume(tmp_path / "run", NullObserver(), episodes=5)


def played(folder: Path) -> list[Any]:
    with Ledger(folder) as ledger:
        return list(ledger.rows())


def test_a_finished_run_is_scored_again_without_an_environment(tmp_path: Path) -> None:
    agent = f"{AGENTS}:Seeded"
    out = tmp_path / "run"
    first = remote("multi-task", "Corridor", CORRIDOR, agent=agent, slots=3, out=out)
    heard = Unheard()
    assert came_of(resume(out, heard)) == came_of(first)
    options: dict[str, Any] = {"agent": agent, "slots": 3, "out": out, "resume": True}
    assert came_of(evaluate("multi-task:wait", watcher=heard, **options)) == came_of(first)
    assert heard.said == []


# The plan, and wrong starts.


def test_the_plan_is_made_of_what_was_declared(tmp_path: Path) -> None:
    result = remote("multi-task", "Corridor", CORRIDOR, agent=Seeded(), out=tmp_path)
    assert result.title == "multi-task:wait (environment = Corridor)"
    with Ledger(tmp_path) as ledger:
        plan = Plan.from_json(ledger.about["plan"])
    assert (plan.slots, plan.variants) == (10, {"a": 3, "b": 3})
    assert plan.parameters == {"environment": "Corridor", "num_episodes": 3}
    assert plan.suite.factory == "wait"
    assert len(plan.suite.config["spec_sha256"]) == 64


def test_an_environment_that_plays_fewer_slots_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    with (
        dialling(f"{WORLDS}:Narrow") as (watcher, started),
        raises(UsageError, "Narrow", 2, 10, "slots=2", settings={"slots"}),
    ):
        evaluate("multi-task:wait", agent=Seeded(), watcher=watcher, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert started[0].returncode == 0


def test_a_continuing_task_needs_steps(tmp_path: Path) -> None:
    with (
        dialling(f"{WORLDS}:Treadmill") as (watcher, _),
        raises(UsageError, "Treadmill", settings={"steps"}),
    ):
        evaluate("online:wait", agent=Seeded(), watcher=watcher, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_environment_that_never_comes_leaves_nothing(tmp_path: Path) -> None:
    heard = Unheard()
    with nothing_left(), raises(EnvironmentFault, "0.3 s", "connect timeout"):
        evaluate(
            "online:wait", agent="wait", watcher=heard, connect_timeout=0.3, out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()
    assert "reglue join my_environment.py:MyEnvironment" in heard.said[0]
    assert "reglue join my_agent.py:MyAgent" in heard.said[1]


def test_a_folder_that_holds_a_run_is_refused_before_the_wait(tmp_path: Path) -> None:
    remote("multi-task", "Corridor", CORRIDOR, agent=Seeded(), out=tmp_path)
    heard = Unheard()
    with pytest.raises(RunExists):
        evaluate("multi-task:wait", agent=Seeded(), out=tmp_path, watcher=heard)
    assert heard.said == []


@pytest.mark.parametrize(
    ("options", "named", "settings"),
    [
        ({"environment_args": {"x": 1}}, ["online:wait"], {"environment_args"}),
        ({"workers": 2}, ["online:wait"], {"workers"}),
        ({"one_hot": True}, ["online:wait"], {"environment_args", "one_hot"}),
        ({"episodes": 3, "steps": 3}, [], {"episodes", "steps"}),
        ({"slots": 2}, ["slots=2", "online"], {"slots"}),
        (
            {"listen": "0.0.0.0:0"},
            ["listen=0.0.0.0"],
            {"insecure", "listen", "tls", "tls_cert", "tls_key"},
        ),
    ],
)
def test_what_cannot_be_is_refused_before_the_wait(
    options: dict[str, Any], named: list[object], settings: set[str]
) -> None:
    heard = Unheard()
    with raises(UsageError, *named, settings=settings):
        evaluate("online:wait", agent=Seeded(), watcher=heard, **options)
    assert heard.said == []


def test_more_variants_than_a_plan_can_hold_are_refused() -> None:
    """They take nothing to declare; a plan of some of them can be made."""
    with raises(UsageError, 1, 2**32 - 1, 10**7, settings={"num_episodes"}):
        remote("multi-task", "Endless", agent=Seeded())
    assert remote("multi-task", "Endless", agent=Seeded(), num_episodes=3).complete


def test_a_rehearsal_and_a_list_need_an_environment_that_is_made_here() -> None:
    settings = read_settings(benchmark="online:wait", agent="random")
    with raises(UsageError, "online:wait", "rehearsal", "online:file.py:Class"):
        rehearse(settings, NullObserver())
    with raises(UsageError, "online:wait", "online:file.py:Class"):
        make_plan(settings)
    with pytest.raises(SystemExit):
        list_benchmarks(["online:wait"])


def test_agent_and_environment_come_in_any_order(tmp_path: Path) -> None:
    """Here the agent is first, before anybody asks for it."""
    agents: list[subprocess.Popen[str]] = []
    token = "the agent's"
    options: dict[str, Any] = {"agent": "wait", "runs": 2, "episodes": 3, "token": token}
    with dialling(f"{WORLDS}:Corridor", CORRIDOR) as (watcher, _):
        start, come = watcher._start, threading.Event()

        def both(where: str) -> None:
            with dialling(f"{AGENTS}:Learner") as (other, started):
                other._start(str(join_string(join_string(where).address, token)))
                agents.extend(started)
                started.clear()
            come.wait(2.0)
            start(where)

        watcher._start = both
        result = evaluate("online:wait", watcher=watcher, **options)
    assert result.complete
    assert "the run is over" in end(agents)[0]
