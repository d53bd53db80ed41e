"""Schedules that cannot be: what is wrong is said, and where, before anything is played."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium import spaces

from env_adapters.curricula import make_curriculum
from env_adapters.environment_configs.values import ConfigError
from reglue.errors import BadArgument
from tests.env_adapters.curricula.scripted import Scripted, by_episodes, named
from tests.errors import raises

CAR = "gymnasium:MountainCar-v0"


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ([], r"schedule: got \[\], wanted a list"),
        ("pong", "schedule: got 'pong', wanted a list"),
        ([[CAR]], r"schedule\[0\]: got .* wanted \[what, duration\]"),
        ([[CAR, 1], [CAR, -1]], r"schedule\[1\]: got the duration -1"),
        ([[CAR, float("nan")]], "got the duration nan, wanted an integer"),
        ([[CAR, 2.5]], "got the duration 2.5"),
        ([[CAR, True]], "got the duration True"),
        ([[{"pool": []}, 1]], r"schedule\[0\]\.pool: got \[\], wanted a list of environments"),
        ([[{"pool": [CAR], "repeat": [[CAR, 1]]}, 1]], "got the keys pool, repeat, wanted one"),
        ([[{"repeat": [[CAR, -2]]}, 1]], r"schedule\[0\]\.repeat\[0\]: got the duration -2"),
        ([[{"repeat": []}, 1]], r"schedule\[0\]\.repeat: got \[\]"),
        ([[{"pool": [{"repeat": [[CAR, 1]]}]}, 1]], "got a repeat in a pool"),
        ([[{"repeat": [[CAR, 1]] * 1000}, 10_000]], "more than 1000000 entries"),
        ([[{"interpolate": [CAR]}, 1]], r"interpolate: got .* wanted \[config, config\]"),
        ([[{"interpolate": [CAR] * 3}, 1]], r"wanted \[config, config\]"),
        ([[{"interpolate": [Scripted(0, 1), CAR]}, 1]], "wanted two configs"),
        ([[{"foo": 3}, 1]], r"schedule\[0\]: .*scheduling key 'foo'"),
        ([[{"repeat": [[CAR, 1]]}, 0]], "schedule: got nothing to play"),
        ([["other.toml", 1]], r"schedule\[0\]: got the schedule other.toml, wanted an env"),
        (
            [[by_episodes([[CAR, 1]])[0], 1]],
            r"schedule\[0\]: got a curriculum, wanted its sched",
        ),
        ([[{"env": CAR, 3: 4}, 1]], "there is no key of .* called '3'"),
        (
            [[{"interpolate": [CAR, "gymnasium:CartPole-v1"]}, 1]],
            "got gymnasium:MountainCar-v0 and gymnasium:CartPole-v1, wanted one environment",
        ),
        ([[5, 1]], r"schedule\[0\]: got 5, wanted an environment"),
        ([["gymnasium:NoSuch-v0", 1]], r"schedule\[0\]: there is no Gymnasium environment"),
        ([["nope", 1]], r"schedule\[0\]: there is no .*'nope'"),
        ([["none.json", 1]], r"schedule\[0\]: none.json cannot be read"),
        (
            [[{"env": CAR, "kwarg": {}}, 1]],
            r"schedule\[0\]\.kwarg: there is no key of .*-v0 called 'kwarg'; did you mean kwargs",
        ),
        ([[{"env": CAR, "kwargs": 3}, 1]], r"schedule\[0\]\.kwargs: got 3, wanted a table"),
        (
            [[{"env": CAR, "physics": {"gravity": -9.81}}, 1]],
            "got physics, wanted a MuJoCo environment",
        ),
        (
            [[{"env": CAR, "physics": {"gravitas": 1}}, 1]],
            "physics.gravitas: there is no physics 'gravitas'",
        ),
        (
            [[{"env": CAR, "physics": {"friction": -1}}, 1]],
            "physics.friction: got -1, wanted a fac",
        ),
        (
            [[{"env": CAR, "kwargs": {"goal_velocity": {"distribution": "unform"}}}, 1]],
            r"schedule\[0\]\.kwargs\.goal_velocity: there is no distribution 'unform'",
        ),
        (
            [[{"interpolate": [{"env": CAR, "kwargs": {"goal_velocity": 0.0}}, CAR]}, 1]],
            r"schedule\[0\]\.interpolate\[0\]\.kwargs: the second config lacks it",
        ),
        (
            [[CAR, 1], [{"pool": ["gymnasium:Pendulum-v1"]}, 1]],
            r"schedule\[1\]\.pool\[0\]: got the actions Box.* Discrete\(3\) as at schedule\[0\]",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(schedule: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
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
    with raises(ConfigError, repr(value), path=option):
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
    "options", [{"episod": 1}, {"episode": -1}, {"steps": 1.5}, {"episode": True}]
)
def test_how_far_a_run_is_must_be_a_whole_number(options: Any) -> None:
    env, _ = by_episodes([[CAR, 1]])
    with pytest.raises(BadArgument, match=r"episod|steps"):
        env.reset(options=options)


def test_actions_other_than_discrete_must_be_equal() -> None:
    box = spaces.Box(-1, 1, (2,))
    env, _ = by_episodes([[named("A", actions=box), 1], [named("B", actions=box), 1]])
    assert env.action_space == box


def test_padding_wants_boxes_alike() -> None:
    other = Scripted(0, 1)
    other.observation_space = spaces.Discrete(3)
    with pytest.raises(
        BadArgument, match=r"schedule\[1\]: got the observations Discrete.*schedule\[0\]"
    ):
        by_episodes([[Scripted(0, 1), 1], [other, 1]], fit="pad")


def test_durations_count_steps_unless_they_are_said_to_count_episodes() -> None:
    """As the original's."""
    env, total = make_curriculum([[Scripted(0, 100), 3], [Scripted(0, 100), 5]])
    env.reset(seed=0)
    assert total == 8
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
