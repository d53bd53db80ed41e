"""Rows of Meta-World's benchmarks against plain Meta-World on the same machine, to the bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import metaworld
import numpy as np
import pytest
from metaworld.policies import ENV_POLICY_MAP

from glue_server import Outcome
from reglue.examples.expert import ExpertAgent
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import evaluate, start
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import SuccessScore
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.toys import play

pytestmark = pytest.mark.slow

SEED = 42
EPISODES = 2  # goals of each of the ten tasks
PLAIN = tuple[bool, int, float]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(Settings(benchmark="MT10", seed=SEED, num_episodes=EPISODES))


@pytest.fixture(scope="module")
def plain() -> Mapping[tuple[str, int], PLAIN]:
    """Each (task, variant) played alone: success, steps and the sum of float64 rewards."""
    library, policies = cast(Any, metaworld), cast(Any, ENV_POLICY_MAP)  # partly untyped
    benchmark = library.MT10(seed=SEED)
    played = {}
    for name, cls in benchmark.train_classes.items():
        env = cls(reward_function_version="v2")
        tasks = [task for task in benchmark.train_tasks if task.env_name == name]
        for variant in range(EPISODES):
            env.set_task(tasks[variant])
            played[name, variant] = play_plain(env, policies[name]())
        env.close()
    return played


def play_plain(env: Any, policy: Any) -> PLAIN:
    observation, _ = env.reset()
    total = 0.0
    for step in range(1, 501):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
            action = policy.get_action(observation.copy()).astype(np.float32)
        observation, reward, _, _, info = env.step(action)
        total += float(reward)
        if info["success"] == 1:
            return True, step, total
    return False, step, total


def rows(result: Result) -> dict[tuple[str, int], PLAIN]:
    assert result.status_counts == {"ok": 10 * EPISODES}
    return {(e.task, e.variant): (e.success, e.steps, e.return_) for e in result.episodes}


@pytest.mark.parametrize(
    ("slots", "workers", "agent"),
    [(10, 2, "expert"), (1, 1, None), (3, 0, None)],
    ids=["a process, ten slots, two workers", "one slot, one worker", "one process for all"],
)
def test_rows_are_those_of_plain_meta_world(
    tmp_path: Path,
    plan: Plan,
    plain: Mapping[tuple[str, int], PLAIN],
    slots: int,
    workers: int,
    agent: str | None,
) -> None:
    result = play(tmp_path, replace(plan, slots=slots), agent or ExpertAgent(), workers=workers)
    assert rows(result) == plain


class KillsWorkers(NullObserver):
    """Kills one of the run's workers after each of the first outcomes."""

    def __init__(self, times: int) -> None:
        self._left = times
        self.killed = 0

    def outcome(self, outcome: Outcome, phase: str) -> None:
        if self._left:
            self._left -= 1
            worker = workers_of(os.getpid())[self._left % 2]
            os.kill(worker, signal.SIGKILL)
            self.killed += 1


def workers_of(parent: int) -> list[int]:
    """Process ids of the live workers that a process has started."""
    found = []
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"glue_server.environment.worker" in command:
            found.append(int(pid))
    return sorted(found)


def test_nobody_notices_a_worker_that_is_killed(
    tmp_path: Path, plan: Plan, plain: Mapping[tuple[str, int], PLAIN]
) -> None:
    watcher = KillsWorkers(2)
    request = Request(Settings(benchmark="MT10", workers=2), plan, agent=ExpertAgent())
    result = start(tmp_path, request, watcher)
    assert watcher.killed == 2
    assert rows(result) == plain


DIES = """
import os, signal, sqlite3, sys, time
from contextlib import closing
from pathlib import Path
from reglue_bench.evaluation import start
from reglue_bench.run_folder import LEDGER
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from reglue_bench.runs.observer import NullObserver

folder = Path(sys.argv[1])

def committed():
    with closing(sqlite3.connect(f"file:{folder / LEDGER}?mode=ro", uri=True)) as ledger:
        return ledger.execute("SELECT COUNT(*) FROM outcome").fetchone()[0]

class Dies(NullObserver):
    seen = 0
    def outcome(self, outcome, phase):
        self.seen += 1
        if self.seen == 8:
            deadline = time.monotonic() + 30
            while committed() < 7 and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)

settings = Settings(benchmark="MT10", seed=42, num_episodes=2, agent="expert")
start(folder, Request(settings, Plan.from_json(sys.stdin.read())), Dies())
"""


def test_a_run_that_is_killed_resumes_to_the_same_rows(
    tmp_path: Path, plan: Plan, plain: Mapping[tuple[str, int], PLAIN], say: Say
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", DIES, str(tmp_path)],
        input=plan.to_json(),
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    resumed = say("bench", "--resume", tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "7 of 20 episodes are done" in resumed.stdout
    assert rows(read_result(tmp_path)) == plain


def test_the_reach_learner_beats_itself_before_it_adapted() -> None:
    result = evaluate(
        "ML1:reach-v3",
        agent="reach_adapt",
        seed=1,
        meta_batch_size=4,
        num_evals=1,
        adaptation_episodes=1,
        evaluation_episodes=1,
        evaluate_before_adaptation=True,
        episode_horizon=300,
    )
    assert result.status_counts == {"ok": 4}
    before = result.score_as(SuccessScore).before_adaptation
    assert before is not None
    assert before.mean_success_rate < 0.5 < result.mean_success_rate
    assert result.privileged == []


def test_a_run_that_reveals_tasks_is_marked_as_privileged() -> None:
    result = evaluate(
        "ML1:drawer-close-v3",
        agent="expert",
        reveal_tasks=True,
        goal_visible=True,
        meta_batch_size=1,
        num_evals=1,
        adaptation_steps=0,
        evaluation_episodes=1,
    )
    assert result.privileged == ["tasks", "goals"]
    assert result.mean_success_rate == 1.0
