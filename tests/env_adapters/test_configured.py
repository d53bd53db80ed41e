"""Environments that configs describe, and configs that change from episode to episode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.configured import configured
from env_adapters.curricula import Curriculum, make_curriculum
from env_adapters.environment_configs.values import ConfigError
from tests.env_adapters.curricula.scripted import by_episodes
from tests.error_facts import raises

CHEETAH = "gymnasium:HalfCheetah-v5"


def inner(env: Curriculum) -> Any:
    """The environment that is on, without wrappers."""
    return env.playing.unwrapped.env.unwrapped  # type: ignore[attr-defined]


def physics(**numbers: Any) -> dict[str, Any]:
    return {"env": CHEETAH, "physics": numbers}


def test_physics_are_set_without_making_the_environment_anew() -> None:
    described = configured(physics(gravity=-5.0, friction=2.0), {})
    own = configured(CHEETAH, {}).prepare({"env": CHEETAH})[0].unwrapped.model  # type: ignore[attr-defined]
    env, _ = described.prepare(described.config)
    model: Any = env.unwrapped.model  # type: ignore[attr-defined]
    assert model.opt.gravity.tolist() == [0, 0, -5]
    assert np.array_equal(model.geom_friction, 2 * own.geom_friction)
    again, _ = described.prepare(physics(mass=3.0, wind=[1, 0, 0]))
    assert again is env
    assert model.opt.gravity.tolist() == own.opt.gravity.tolist()
    assert np.array_equal(model.geom_friction, own.geom_friction)
    assert np.array_equal(model.body_mass, 3 * own.body_mass)
    np.testing.assert_allclose(model.body_subtreemass, 3 * own.body_subtreemass)  # derived
    described.prepare(physics())
    for name in (each for each in dir(own) if isinstance(getattr(own, each), np.ndarray)):
        assert np.array_equal(getattr(model, name), getattr(own, name)), name
    described.close()


def test_other_keywords_make_another_environment() -> None:
    config = {"env": "gymnasium:MountainCar-v0", "kwargs": {"goal_velocity": 0.01}}
    described = configured(config, {})
    env, _ = described.prepare(config)
    assert described.prepare(config)[0] is env
    other, _ = described.prepare({**config, "kwargs": {"goal_velocity": 0.02}})
    assert other is not env
    described.close()


def test_keywords_for_all_reach_each() -> None:
    env, _ = by_episodes([["gymnasium:MountainCar-v0", 1]], max_episode_steps=2)
    env.reset()
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    env.close()


def test_gravity_is_interpolated_by_episodes() -> None:
    schedule = [[{"interpolate": [physics(gravity=-10.0), physics(gravity=0.0)]}, 4]]
    env, total = by_episodes(schedule)
    found = []
    for k in range(total + 1):
        env.reset(options={"episode": k})
        found.append(float(inner(env).model.opt.gravity[2]))
    assert found == [-7.5, -5.0, -2.5, 0.0, 0.0]
    env.close()


def test_gravity_is_interpolated_by_steps() -> None:
    schedule = [
        [CHEETAH, 10],
        [{"interpolate": [physics(gravity=-10.0), physics(gravity=0.0)]}, 20],
    ]
    env, _ = make_curriculum(schedule, episodic=False)
    found = []
    for steps in (10, 15, 30, 90):
        env.reset(options={"steps": steps})
        found.append(float(inner(env).model.opt.gravity[2]))
    assert found == [-10.0, -7.5, 0.0, 0.0]
    env.close()


def test_distributions_are_drawn_once_an_episode_from_its_own_chance() -> None:
    drawn = {"distribution": "uniform", "low": 0.5, "high": 2.0}
    env, _ = by_episodes([[physics(friction=drawn), 9]], seed=5)

    def friction(k: int) -> float:
        env.reset(options={"episode": k})
        first = float(inner(env).model.geom_friction[0, 0])
        env.step(env.action_space.sample())
        assert float(inner(env).model.geom_friction[0, 0]) == first
        return first

    found = [friction(k) for k in range(4)]
    assert len(set(found)) == 4
    assert [friction(k) for k in (2, 0, 3, 1)] == [found[k] for k in (2, 0, 3, 1)]
    other, _ = by_episodes([[physics(friction=drawn), 9]], seed=5)
    other.reset(options={"episode": 3})
    assert float(inner(other).model.geom_friction[0, 0]) == found[3]
    env.close()
    other.close()


def test_meta_worlds_tasks_and_goals() -> None:
    goal = [0.0, 0.6, 0.02, {"distribution": "uniform", "low": 0.0, "high": 0.1}, 0.85, 0.2]
    config = {
        "env": "env_adapters.metaworld:MetaWorld",
        "kwargs": {"goals": {"reach-v3": [goal]}, "goal_visible": True},
    }
    env, _ = by_episodes([["MT1:reach-v3", 1], [config, 1]])
    env.reset(options={"episode": 0})
    first, info = env.reset(options={"episode": 1})
    assert info == {"task": "reach-v3", "variant": 0}
    assert first[37:] == pytest.approx([0.85, 0.2])
    again, _ = env.reset(options={"episode": 1})
    assert again.tolist() == first.tolist()
    env.close()


def test_a_variant_may_be_drawn() -> None:
    variant = {"distribution": "uniform", "low": 0, "high": 49}
    env, _ = by_episodes([[{"env": "MT1:reach-v3", "variant": variant}, 9]])
    found = [env.reset(options={"episode": k})[1]["variant"] for k in range(9)]
    assert len(set(found)) > 3
    env.close()


REACH = {"env": "MT1:reach-v3"}
BEYOND = {"distribution": "uniform", "low": 0, "high": 50}
NORMAL = {"distribution": "normal", "mean": 9, "std": 1}


@pytest.mark.parametrize(
    ("what", "within", "named"),
    [
        ({**REACH, "variant": 50}, "", ["variant 50", "0 to 49"]),
        ({**REACH, "variant": -1}, "", ["variant -1", "0 to 49"]),
        ({**REACH, "variant": BEYOND}, "", ["variant 50", "0 to 49"]),
        (
            {"interpolate": [{**REACH, "variant": 0}, {**REACH, "variant": 50}]},
            ".interpolate",
            ["reach-v3", "variant 50"],
        ),
        (
            {**REACH, "variant": {**BEYOND, "distribution": "normal"}},
            ".variant",
            ["normal", "mean, std", "low, high"],
        ),
        ({**REACH, "variant": NORMAL}, ".variant", [NORMAL, "integer"]),
        ({**REACH, "task": "push-v3"}, "", ["task", "'push-v3'", "reach-v3"]),
        (
            {"env": "env_adapters.metaworld:MetaWorld"}
            | {"kwargs": {"goals": {"reach-v3": [[0, 0.6, 0.2]]}, "goal_visible": True}},
            "",
            ["goal of 3", 6],
        ),
    ],
)
def test_what_no_episode_could_be_begun_with_is_refused_at_once(
    what: Any, within: str, named: list[Any]
) -> None:
    with raises(ConfigError, *named, path=f"schedule[1]{within}"):
        by_episodes([["pong", 1000], [what, 1]], fit="superset")


def test_keywords_are_tried_at_both_ends() -> None:
    def lasting(steps: Any) -> dict[str, Any]:
        return {"env": "gymnasium:CartPole-v1", "kwargs": {"max_episode_steps": steps}}

    drawn = {"distribution": "uniform", "low": -3, "high": 9}
    for what in (lasting(drawn), {"interpolate": [lasting(9), lasting(-3)]}):
        with raises(ConfigError, "CartPole-v1", {"max_episode_steps": -3}):
            by_episodes([[what, 9]])


def test_an_environment_that_cannot_begin_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "from reglue import Discrete, TaskSpec, TensorSpec\n"
        "class Broken:\n"
        "    one = TensorSpec('a', 'int64', (), Discrete(2))\n"
        "    spec = TaskSpec((one,), (one,))\n"
        "    variants, standardizes = {'x': 1}, True\n"
        "    def world(self): return self\n"
        "    def start(self, cell): raise RuntimeError('no map')\n"
        "    def close(self): pass\n"
    )
    with raises(ConfigError, f"{file}:Broken", "RuntimeError: no map", path="schedule[0]"):
        by_episodes([[f"{file}:Broken", 1]])


@pytest.mark.parametrize(
    "friction", [0, -1.0, {"distribution": "uniform", "low": 0.0, "high": 2.0}]
)
def test_a_factor_is_above_0_whatever_is_drawn(friction: Any) -> None:
    with raises(ConfigError, 0.001, path="schedule[0].physics.friction"):
        by_episodes([[physics(friction=friction), 1]])


def test_a_normal_draw_of_a_factor_is_cut() -> None:
    wide = {"distribution": "normal", "mean": 1.0, "std": 100.0}
    env, _ = by_episodes([[physics(friction=wide), 1]])
    own = configured(CHEETAH, {}).prepare({"env": CHEETAH})[0].unwrapped.model  # type: ignore[attr-defined]
    found = []
    for k in range(12):
        env.reset(options={"episode": k})
        found.append(float(inner(env).model.geom_friction[0, 0] / own.geom_friction[0, 0]))
    assert min(found) == pytest.approx(0.001)
    env.close()


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("gravity", {"distribution": "uniform", "low": [0, 0], "high": [1, 1]}, [[0, 0], "three"]),
        ("wind", {"distribution": "uniform", "low": 0, "high": 1}, [0, "three"]),
        ("friction", {"distribution": "color"}, [[0, 0, 0], 0.001]),
        ("mass", float("inf"), ["inf", 0.001]),
    ],
)
def test_distributions_of_another_shape_are_refused(
    name: str, value: Any, named: list[Any]
) -> None:
    with raises(ConfigError, *named, path=f"schedule[0].physics.{name}"):
        by_episodes([[physics(**{name: value}), 1]])


def test_what_is_no_json_is_refused_and_tuples_are_lists() -> None:
    with raises(ConfigError, "JSON", "ndarray", path="schedule[0]"):
        by_episodes([[physics(gravity=np.zeros(3)), 1]])
    env, _ = by_episodes([[physics(gravity=(0, 0, -1.0)), 1]])
    env.reset()
    assert inner(env).model.opt.gravity.tolist() == [0, 0, -1]
    env.close()


def test_a_config_may_be_a_file_and_have_a_name(tmp_path: Path) -> None:
    file = tmp_path / "moon.json"
    file.write_text(json.dumps({**physics(gravity=-1.62), "name": [0, 1]}))
    env, _ = by_episodes([[str(file), 1]])
    env.reset()
    assert env.name == [0, 1]
    env.close()


def test_a_file_that_holds_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("{")
    with raises(ConfigError, file, "JSON", "line 1", path="schedule[0]"):
        by_episodes([[str(file), 1]])
