"""Schedules that cannot be: what is wrong is said, and where, before anything is played."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest
from gymnasium import spaces

from env_adapters.curricula import make_curriculum
from env_adapters.environment_configs.values import ConfigError
from reglue.errors import BadArgument, UnknownName
from tests.env_adapters.curricula.scripted import Scripted, by_episodes, named
from tests.error_facts import raises

CAR = "gymnasium:MountainCar-v0"


@pytest.mark.parametrize(
    ("schedule", "path", "named"),
    [
        ([], "schedule", [[]]),
        ("pong", "schedule", ["'pong'"]),
        ([[CAR]], "schedule[0]", [[CAR], "[what, duration]"]),
        ([[CAR, 1], [CAR, -1]], "schedule[1]", ["duration", -1]),
        ([[CAR, float("nan")]], "schedule[0]", ["duration", "nan"]),
        ([[CAR, 2.5]], "schedule[0]", ["duration", 2.5]),
        ([[CAR, True]], "schedule[0]", ["duration", "True"]),
        ([[{"pool": []}, 1]], "schedule[0].pool", [[]]),
        ([[{"pool": [CAR], "repeat": [[CAR, 1]]}, 1]], "schedule[0]", ["keys pool, repeat"]),
        ([[{"repeat": [[CAR, -2]]}, 1]], "schedule[0].repeat[0]", ["duration", -2]),
        ([[{"repeat": []}, 1]], "schedule[0].repeat", [[]]),
        ([[{"pool": [{"repeat": [[CAR, 1]]}]}, 1]], "schedule[0].pool[0]", ["repeat"]),
        ([[{"repeat": [[CAR, 1]] * 1000}, 10_000]], "schedule[0]", [1_000_000]),
        ([[{"interpolate": [CAR]}, 1]], "schedule[0].interpolate", [[CAR], "[config, config]"]),
        ([[{"interpolate": [CAR] * 3}, 1]], "schedule[0].interpolate", [[CAR] * 3]),
        (
            [[{"interpolate": [Scripted(0, 1), CAR]}, 1]],
            "schedule[0].interpolate",
            ["<Scripted instance>"],
        ),
        ([[{"foo": 3}, 1]], "schedule[0]", ["key", "'foo'"]),
        ([[{"repeat": [[CAR, 1]]}, 0]], "schedule", ["0 times"]),
        ([["other.toml", 1]], "schedule[0]", ["other.toml", "`repeat`"]),
        ([[by_episodes([[CAR, 1]])[0], 1]], "schedule[0]", ["curriculum", "`repeat`"]),
        ([[{"env": CAR, 3: 4}, 1]], "schedule[0].3", ["'3'"]),
        (
            [[{"interpolate": [CAR, "gymnasium:CartPole-v1"]}, 1]],
            "schedule[0].interpolate[0].env",
            [CAR, "gymnasium:CartPole-v1"],
        ),
        ([[5, 1]], "schedule[0]", [5, "`env`"]),
        (
            [["gymnasium:NoSuch-v0", 1]],
            "schedule[0]",
            ["'NoSuch-v0'", "gymnasium:my_module:NoSuch-v0"],
        ),
        ([["nope", 1]], "schedule[0]", ["'nope'", "MT10"]),
        ([["none.json", 1]], "schedule[0]", ["none.json", os.strerror(errno.ENOENT)]),
        ([[{"env": CAR, "kwarg": {}}, 1]], "schedule[0].kwarg", ["'kwarg'", "kwargs"]),
        ([[{"env": CAR, "kwargs": 3}, 1]], "schedule[0].kwargs", [3, "table"]),
        ([[{"env": CAR, "physics": {"gravity": -9.81}}, 1]], "schedule[0]", [CAR, "MuJoCo"]),
        (
            [[{"env": CAR, "physics": {"gravitas": 1}}, 1]],
            "schedule[0].physics.gravitas",
            ["'gravitas'", "gravity"],
        ),
        (
            [[{"env": CAR, "physics": {"friction": -1}}, 1]],
            "schedule[0].physics.friction",
            [-1, 0.001],
        ),
        (
            [[{"env": CAR, "kwargs": {"goal_velocity": {"distribution": "unform"}}}, 1]],
            "schedule[0].kwargs.goal_velocity",
            ["'unform'", "uniform"],
        ),
        (
            [[{"interpolate": [{"env": CAR, "kwargs": {"goal_velocity": 0.0}}, CAR]}, 1]],
            "schedule[0].interpolate[0].kwargs",
            ["second config"],
        ),
        (
            [[CAR, 1], [{"pool": ["gymnasium:Pendulum-v1"]}, 1]],
            "schedule[1].pool[0]",
            ["actions", "Box(-2.0, 2.0, (1,), float32)", "Discrete(3)", "schedule[0]"],
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(schedule: Any, path: str, named: list[Any]) -> None:
    with raises(ConfigError, *named, path=path):
        by_episodes(schedule)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("across_workers", 0),
        ("across_workers", 2.0),
        ("seed", -1),
        ("episodic", "no"),
        ("task_id", 1),
        ("key_readers", {"x": 3}),
        ("key_readers", ["x"]),
        ("primary_interpreter", "pong"),
    ],
)
def test_options_that_cannot_be(option: str, value: Any) -> None:
    options = {option: value}
    with raises(ConfigError, got=repr(value), path=option):
        by_episodes([[CAR, 1]], **options)


def test_an_unknown_fit_lists_the_near_ones() -> None:
    with raises(ConfigError, "'padd'", "pad", path="fit"):
        by_episodes([[CAR, 1]], fit="padd")


def test_an_interpreter_may_return_what_describes_an_environment() -> None:
    env, _ = by_episodes([["car", 1]], primary_interpreter=lambda what: {"car": CAR}[what])
    assert env.action_space.n == 3
    with raises(ConfigError, None, path="schedule[0]"):
        by_episodes([["car", 1]], primary_interpreter=lambda what: None)


def test_a_schedule_that_holds_itself_is_refused() -> None:
    schedule: list[Any] = [[CAR, 1]]
    schedule.append([{"repeat": schedule}, 1])
    with raises(ConfigError, 50):
        by_episodes(schedule)


def test_a_reader_that_gives_its_own_key_for_ever_is_refused() -> None:
    with raises(ConfigError, 50):
        by_episodes([[{"x": 1}, 1]], key_readers={"x": lambda *_, **__: [[{"x": 1}, 1]]})


@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        ("episod", 1, UnknownName),
        ("episode", -1, BadArgument),
        ("steps", 1.5, BadArgument),
        ("episode", True, BadArgument),
    ],
)
def test_how_far_a_run_is_must_be_a_whole_number(
    option: str, value: Any, kind: type[BadArgument]
) -> None:
    env, _ = by_episodes([[CAR, 1]])
    with raises(kind, option, *[value] * (kind is BadArgument)):
        env.reset(options={option: value})


def test_actions_other_than_discrete_must_be_equal() -> None:
    box = spaces.Box(-1, 1, (2,))
    env, _ = by_episodes([[named("A", actions=box), 1], [named("B", actions=box), 1]])
    assert env.action_space == box


def test_padding_wants_boxes_alike() -> None:
    other = Scripted(0, 1)
    other.observation_space = spaces.Discrete(3)
    with raises(ConfigError, "observations", "Discrete(3)", "schedule[0]", path="schedule[1]"):
        by_episodes([[Scripted(0, 1), 1], [other, 1]], fit="pad")


def test_durations_count_steps_unless_they_are_said_to_count_episodes() -> None:
    """As the original's."""
    env, total = make_curriculum([[Scripted(0, 100), 3], [Scripted(0, 100), 5]])
    env.reset(seed=0)
    assert total == 8
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
