"""Built-in benchmarks as files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from env_adapters.metaworld import catalogue, draw_goals, task_set
from env_adapters.suites import EXAMPLES
from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.benchmark_file import described
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.procedures import PROCEDURES, TRAINING
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.reglue_bench.conftest import Say

LISTS = {
    "MT1:<task>": "MT1:reach-v3",
    "MT:<task>,<task>,…": "MT:push-v3,reach-v3",
    "ML1:<task>": "ML1:drawer-open-v3",
    "ML:train=<task>,…+test=<task>,…": "ML:train=reach-v3,push-v3+test=sweep-v3",
}
CONTINUING = "access-control"
EPISODIC = [name for name in EXAMPLES if name != CONTINUING]
GYMNASIUM = ["Reglue/Arcade-v0", "Reglue/Point2D-v0", "FetchReach-v4", "Ant-v5", "FrozenLake-v1"]
PLAYED = [name for name in PROCEDURES.built_in if name != TRAINING]

NAMES = [
    *(LISTS.get(name, name) for name in catalogue()),
    *(
        f"{procedure}:{name}"
        for procedure in PROCEDURES.built_in
        if procedure != TRAINING
        for name in EPISODIC
    ),
    f"online:{CONTINUING}",
    *(f"online:gymnasium:{name}" for name in GYMNASIUM),
    "multi-task:MT1:reach-v3",
    "online:arcade:pong",
]


def plan_of(benchmark: str | Path, **options: object) -> Plan:
    return make_plan(read_settings(benchmark=str(benchmark), **options))


@pytest.mark.parametrize("name", NAMES)
def test_who_plays_the_description_plays_the_same_plan(name: str, say: Say, tmp_path: Path) -> None:
    done = say("benchmarks", name, "--describe")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "it.toml"
    file.write_text(text := done.stdout)
    quota = {"steps": 10_000} if name.endswith(CONTINUING) else {}
    built_in, played = plan_of(name, **quota), plan_of(file)
    assert difference(built_in, played) == []
    assert played.sha256 == built_in.sha256
    assert played.suite.build().spec == built_in.suite.build().spec
    assert described(played) == text


def test_goals_are_in_it_one_a_line(say: Say) -> None:
    text = say("benchmarks", "MT1:reach-v3", "--describe").stdout
    goals = draw_goals(task_set("MT1:reach-v3"), 0)["reach-v3"]
    assert tomllib.loads(text)["environment_args"]["goals"]["reach-v3"] == [
        list(goal) for goal in goals
    ]
    assert len(text.splitlines()) < len(goals) + 25


def test_a_schedule_and_a_file_of_one_s_own_are_described_too(tmp_path: Path) -> None:
    schedule, mine = tmp_path / "worlds.toml", tmp_path / "mine.toml"
    schedule.write_text(
        'seed = 3\nschedule = [["near", 2], [{ pool = ["arcade:pong", "maze"] }, 2]]\n'
        '[configs.near]\nenv = "arcade:pong"\nball_settings = { speed = 0.1 }\n'
    )
    mine.write_text(
        'procedure = "meta-learning"\nsplit = "train"\nhorizon = 9\nenvironment = "MT10"\n'
        "environment_args = { seed = 4 }\n[tasks.reach-v3]\n"
        'variants = { train = "0-3", test = 4 }\n'
    )
    for benchmark in (f"online:{schedule}", str(mine)):
        (tmp_path / "it.toml").write_text(described(plan_of(benchmark)))
        assert plan_of(tmp_path / "it.toml").sha256 == plan_of(benchmark).sha256


def test_what_bears_a_built_in_s_name_is_that_built_in(tmp_path: Path) -> None:
    text, file = described(plan_of("MT1:reach-v3")), tmp_path / "it.toml"
    for name, same in (("num_episodes", "num_episodes = 7 #"), ("seed", "slots = 3\nseed")):
        file.write_text(text.replace("slots = 50\n", "") if name == "seed" else text)
        file.write_text(file.read_text().replace(name, same, 1))
        assert plan_of(file).benchmark == "MT1:reach-v3"
    easier = text.replace("goal_visible = true", "goal_visible = true\nreveal_tasks = true", 1)
    file.write_text(easier.replace("reveal_tasks = false\n", ""))
    with raises(
        UsageError, file, "MT1:reach-v3", "parameters.reveal_tasks", "false", "true", "`name`"
    ):
        plan_of(file)
    (tmp_path / "MT10.toml").write_text('procedure = "multi-task"\nenvironment = "MT10"\n')
    with raises(
        UsageError, tmp_path / "MT10.toml", "MT10", "parameters.split", '"train"', "`name`"
    ):
        plan_of(tmp_path / "MT10.toml")


def test_what_a_file_holds_is_listed(say: Say, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(
        'procedure = "multi-task"\nenvironment = "cart-pole"\n[tasks.stand]\n'
    )
    done = say("benchmarks", tmp_path / "it.toml")
    assert done.returncode == 0, done.stderr
    assert "stand" in done.stdout
    assert "observation" in done.stdout
