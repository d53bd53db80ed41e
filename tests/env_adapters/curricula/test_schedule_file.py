"""Schedules as files: what they refer to, and the line of what is wrong."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.curricula import make_curriculum
from env_adapters.suites import suite_name
from reglue import Phase
from reglue.environments.world import Suite
from reglue.errors import BadArgument
from reglue.messages.environment_messages import Cell
from tests.error_facts import raises
from tests.wrong_files import Mistake, WrongFiles

SCHEDULE = """\
# A car on its own, then two that change.
schedule = [
    ["car", 2],          # "named" below
    [{ pool = ["car", "fast.json"] }, 3],
    [{ repeat = [["car", 1], [{ interpolate = ["car", "fast.json"] }, 2]] }, 2],
]
seed = 3

[configs.car]
env = "gymnasium:MountainCar-v0"
kwargs = { goal_velocity = 0.0 }
"""
FAST = {"env": "gymnasium:MountainCar-v0", "kwargs": {"goal_velocity": 0.05}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "fast.json").write_text(json.dumps(FAST))
    path = tmp_path / "cars.toml"
    path.write_text(SCHEDULE)
    return path


def suite_of(path: Path, **arguments: Any) -> Suite:
    return suite_name(str(path), arguments).build()


WRONG = WrongFiles(
    Path(__file__).with_name("wrong_files.txt"),
    "cars.toml",
    SCHEDULE,
    suite_of,
    {"fast.json": json.dumps(FAST)},
)


def test_a_suite_holds_all_that_its_file_refers_to(file: Path) -> None:
    named = suite_name(str(file))
    text = json.dumps(dict(named.config))
    for each in file.parent.iterdir():
        each.unlink()
    again = type(named)(named.factory, json.loads(text)).build()
    assert again.variants == {"curriculum": 1}
    assert "0.05" in text


def test_its_cells_are_the_episodes_of_the_curriculum(file: Path) -> None:
    config = dict(suite_name(str(file)).config)
    env, total = make_curriculum(**config)
    assert total == 11
    with closing(suite_of(file).world()) as world:
        for k in [0, 4, 9, 2]:
            first = world.start(Cell("curriculum", 0, 17, k, Phase.TRAIN, steps=100 * k))
            again = world.start(Cell("curriculum", 0, 17, k, Phase.TRAIN, steps=100 * k))
            assert np.array_equal(first["observation"], again["observation"])
            env.reset(options={"episode": k})
            assert world._env.name == env.name  # type: ignore[attr-defined]


def test_steps_of_the_run_reach_a_curriculum_by_steps(file: Path) -> None:
    file.write_text(SCHEDULE.replace("seed = 3", "seed = 3\nepisodic = false"))
    with closing(suite_of(file).world()) as world:
        for steps, wanted in [(0, 2), (1, 1), (2, 3)]:
            world.start(Cell("curriculum", 0, 1, 5, Phase.TRAIN, steps=steps))
            taken, over = 0, False
            while not over:
                over = world.step({"action": np.array(0)}).truncated
                taken += 1
            assert taken == wanted


@pytest.mark.parametrize("mistake", WRONG.mistakes(), ids=str)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, mistake: Mistake) -> None:
    assert WRONG.message(mistake, tmp_path) == mistake.message


def test_what_is_wrong_in_a_file_that_is_referred_to_is_said_with_both(file: Path) -> None:
    other = file.parent / "fast.json"
    for text, named in (
        ("{", [other, "JSON"]),
        ('{"env": "gymnasium:MountainCar-v0", "kwarg": {}}', [f"{other}: kwarg", "'kwarg'"]),
    ):
        other.write_text(text)
        with raises(BadArgument, *named) as caught:
            suite_of(file)
        assert str(caught.value).startswith(f"{file}:4: schedule[1].pool[1]: ")


def test_a_file_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    with raises(BadArgument, path, "recursion depth"):
        suite_of(path)


JSON_SCHEDULE = """\
{ "schedule": [
    ["gymnasium:CartPole-v1", 1],
    [{
        "pool": [
            {"env": "gymnasium:CartPole-v1",
             "kwargs": {
                 "max_episode_steps": {"distribution": "uniform", "low": 3, "high": 5}
             }},
            "gymnasium:CartPole-v1"
        ]
    }, 2]
  ],
  "fit": "pad"
}
"""


@pytest.mark.parametrize(
    ("before", "after", "line", "path"),
    [
        ('"gymnasium:CartPole-v1", 1]', "1]", 2, "schedule[0]"),
        ('"pool"', '"pol"', 3, "schedule[1]"),
        ('"kwargs"', '"kwarg"', 6, "schedule[1].pool[0].kwarg"),
        ('"high": 5', '"high": 1', 7, "schedule[1].pool[0].kwargs.max_episode_steps"),
        ('"gymnasium:CartPole-v1"\n', '"gymnasium:CartPole-v7"\n', 9, "schedule[1].pool[1]"),
        ('"gymnasium:CartPole-v1"\n', '"gymnasium:Acrobot-v1"\n', 9, "schedule[1].pool[1]"),
        ('"pad"', '"pd"', 13, "fit"),
    ],
)
def test_json_has_lines_too(tmp_path: Path, before: str, after: str, line: int, path: str) -> None:
    assert JSON_SCHEDULE.count(before) == 1
    file = tmp_path / "cars.json"
    file.write_text(JSON_SCHEDULE.replace(before, after).replace("pad", "equal"))
    with raises(BadArgument) as caught:
        suite_of(file)
    assert str(caught.value).startswith(f"{file}:{line}: {path}: ")


def test_a_numeric_name_may_be_shown(file: Path) -> None:
    names = 'env = "gymnasium:MountainCar-v0"\nname = [1, 0]'
    file.write_text(
        SCHEDULE.replace('env = "gymnasium:MountainCar-v0"', names).replace(
            "seed", "task_id = true\nseed"
        )
    )
    with raises(BadArgument, "schedule[2].repeat[1].interpolate[0].name", "second config"):
        suite_of(file)
    (file.parent / "fast.json").write_text(json.dumps({**FAST, "name": [0, 1]}))
    suite = suite_of(file)
    assert [tensor.name for tensor in suite.spec.observations] == ["observation", "task_id"]
    with closing(suite.world()) as world:
        first = world.start(Cell("curriculum", 0, 1, 0, Phase.TRAIN))
    assert first["task_id"].tolist() == [1, 0]
