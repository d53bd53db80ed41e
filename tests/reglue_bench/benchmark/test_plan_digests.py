"""Plans keep their digests: runs that are compared, or resumed, were planned by older code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.declared import Declared
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import read_settings

CORRIDOR = {"environment_args": {"solved": {"a": [1, 0], "b": [0]}}}
FILE = """
procedure = "multi-task"
num_episodes = 4
seed = 3
split = "test"
horizon = 30

[tasks.a]
environment = "tests.worlds:Corridor"
environment_args = { solved = { a = [1, 0, 2, 3] } }
variants = { train = "0-1", test = "2-3" }

[tasks.b]
environment = "tests.worlds:Corridor"
environment_args = { solved = { b = [0, 2] } }
"""
WHOLE = 'procedure = "online"\nepisodes = 5\nenvironment = "mountain-car"\n'
LEARNS = 'procedure = "meta-learning"\nsplit = "test"\nenvironment = "ML1:reach-v3"\n'

PLANS: dict[str, tuple[str, dict[str, Any]]] = {
    "MT1": ("MT1:reach-v3", {}),
    "MT1, seed, few": ("MT1:reach-v3", {"seed": 4, "num_episodes": 2, "slots": 3}),
    "MT10": ("MT10", {}),
    "MT10 by its procedure": ("multi-task:MT10", {}),
    "MT10, secret": ("MT10", {"secret": "a secret of sixteen characters or more"}),
    "MT10, changed": ("MT10", {"one_hot": False, "goal_visible": False, "episode_horizon": 90}),
    "MT10, trained": ("MT10", {"train_steps": 1000, "eval_every": 500}),
    "MT10, upstream": ("MT10", {"estimator": "metaworld"}),
    "ML1": ("ML1:reach-v3", {}),
    "ML1, train": ("ML1:reach-v3", {"split": "train", "goal_visible": True}),
    "ML10": ("ML10", {"reveal_tasks": True, "one_hot": True}),
    "ML10, trained": ("ML10", {"train_steps": 500}),
    "ML10, upstream": ("ML10", {"estimator": "metaworld"}),
    "a task set elsewhere": ("online:MT1:reach-v3", {"environment_args": {"seed": 3}}),
    "online": ("online:mountain-car", {}),
    "online, steps": ("online:access-control", {"steps": 400, "runs": 2}),
    "online, per run": ("online:MT1:reach-v3", {"variants": "per-run"}),
    "online, secret": ("online:cart-pole", {"secret": "a secret of sixteen characters or more"}),
    "evaluate": ("evaluate:gymnasium:CartPole-v1", {"seed": 7}),
    "evaluate, hidden": ("evaluate:acrobot", {"hide_rewards": True, "hide_success_ends": True}),
    "evaluate, copies": ("multi-task:gridworld", {"agents": 2, "num_episodes": 8}),
    "worst": ("multi-task:gridworld", {"worst_performance": -3.5}),
    "corridor": ("multi-task:tests.worlds:Corridor", CORRIDOR),
    "corridor, trained": ("multi-task:tests.worlds:Corridor", CORRIDOR | {"train_steps": 40}),
    "corridor, learned": ("meta-learning:tests.worlds:Corridor", CORRIDOR),
    "wait": ("online:wait", {}),
    "wait, trained": ("multi-task:wait", {"train_steps": 40}),
    "file": ("mine.toml", {}),
    "file, train": ("mine.toml", {"split": "train", "num_episodes": 2}),
    "file, whole": ("whole.toml", {}),
    "file, learned": ("learns.toml", {}),
    "file, trained": ("mine.toml", {"train_steps": 60}),
}

DIGESTS = json.loads(Path(__file__).with_name("plan_digests.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, text in {"mine": FILE, "whole": WHOLE, "learns": LEARNS}.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def planned(which: str, folder: Path) -> Plan:
    benchmark, options = PLANS[which]
    settings = read_settings(benchmark=benchmark, directory=str(folder), **options)
    theirs = Declared("theirs", "0" * 64, {"a": 2, "b": 1}, -1.0, 50, tells_success=False)
    return make_plan(settings, declare=lambda _slots: theirs)


@pytest.mark.parametrize("which", PLANS)
def test_a_plan_has_the_digest_that_it_always_had(which: str, folder: Path) -> None:
    plan = planned(which, folder)
    assert [plan.sha256, plan.goals_sha256, plan.title] == DIGESTS[which]
