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
from reglue.errors import UsageError
from reglue.worlds import Cell, Suite

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


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ('["car", 2]', '["car", -2]', 3, "got the duration -2"),
        ('"fast.json"] }, 3', '"fst.json"] }, 3', 0, "fst.json cannot be read"),
        ("pool =", "pol =", 4, "scheduling key 'pol'; did you mean pool"),
        ("seed = 3", "sead = 3", 7, "key of a schedule's file 'sead'; did you mean seed"),
        ("seed = 3", "seed = true", 7, "got True, wanted a int"),
        ("MountainCar", "MountainCaar", 3, "Gymnasium environment 'MountainCaar-v0'"),
        ('], [{ interpolate = ["car"', "], [{ interpolate = [{}", 5, "got {}"),
        ("seed = 3", "seed = ", 0, "Invalid value (at line 7, column 8)"),
        ("schedule = [", "schedules = [", 0, "got no `schedule`"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    file: Path, before: str, after: str, line: int, words: str
) -> None:
    assert before in SCHEDULE
    file.write_text(SCHEDULE.replace(before, after))
    with pytest.raises(UsageError) as caught:
        suite_of(file)
    where = f"{file}:{line}: " if line else f"{file.parent}"
    assert str(caught.value).startswith(where)
    assert words in str(caught.value)


def test_json_has_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "cars.json"
    path.write_text('{\n"seed": 1,\n"schedule": [\n["gymnasium:MountainCar-v0", 1],\n[1]\n]}')
    with pytest.raises(UsageError, match=r"cars.json:5: schedule\[1\]: got \[1\]"):
        suite_of(path)


def test_a_numeric_name_may_be_shown(file: Path) -> None:
    names = 'env = "gymnasium:MountainCar-v0"\nname = [1, 0]'
    file.write_text(
        SCHEDULE.replace('env = "gymnasium:MountainCar-v0"', names).replace(
            "seed", "task_id = true\nseed"
        )
    )
    with pytest.raises(UsageError, match="name: the second config lacks it"):
        suite_of(file)
    (file.parent / "fast.json").write_text(json.dumps({**FAST, "name": [0, 1]}))
    suite = suite_of(file)
    assert [tensor.name for tensor in suite.spec.observations] == ["observation", "task_id"]
    with closing(suite.world()) as world:
        first = world.start(Cell("curriculum", 0, 1, 0, Phase.TRAIN))
    assert first["task_id"].tolist() == [1, 0]
