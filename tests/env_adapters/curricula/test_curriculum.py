"""A schedule as one environment; what the original computed is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from env_adapters.curricula import NamedEnv, make_curriculum
from env_adapters.curricula.curriculum import Timeline
from env_adapters.environment_configs.values import ConfigError
from reglue.errors import BadArgument, UsageError
from tests.env_adapters.curricula.scripted import Scripted, by_episodes, episodes, named
from tests.error_facts import raises


def names(env: Any, count: int) -> list[Any]:
    return [name for name, _ in episodes(env, count)]


# Sequences (original: cur01 to cur05, cur08).


def test_by_episodes() -> None:
    env, total = make_curriculum([[named("A", 3), 2], [named("B", 2), 2]], episodic=True)
    assert total == 4
    assert episodes(env, 6) == [("A", 3), ("A", 3), ("B", 2), ("B", 2), ("B", 2), ("B", 2)]


def test_by_steps_the_end_of_an_entry_truncates() -> None:
    env, total = make_curriculum([[named("A", 100), 5], [named("B", 3), 4]], episodic=False)
    assert total == 9
    trace: list[Any] = []
    over = True
    for _ in range(12):
        if over:
            trace.append((env.unwrapped.name if trace else None, env.reset()[0].tolist()))
        observation, _, terminated, truncated, info = env.step(0)
        over = terminated or truncated
        trace.append((env.name, observation.tolist(), terminated, truncated, info["k"]))
    a = [("A", [0, t], False, t == 5, 0) for t in range(1, 6)]
    b = [("B", [1, t], t == 3, False, 1) for t in range(1, 4)]
    assert trace[1:6] == a
    assert trace[7:10] == b
    assert trace[11:14] == b
    assert [each[-1] for each in (trace[0], trace[6], trace[10])] == [[0, 0], [1, 0], [1, 0]]


def test_short_episodes_by_steps() -> None:
    env, _ = make_curriculum([[named("A", 3), 5], [named("B", 3), 4]], episodic=False)
    ends = []
    env.reset()
    for _ in range(9):
        _, _, terminated, truncated, _ = env.step(0)
        ends.append(terminated or truncated)
        if ends[-1]:
            env.reset()
    assert ends == [False, False, True, False, True, False, False, True, False]


def test_who_steps_on_without_a_reset_stays_where_it_is() -> None:
    env, _ = make_curriculum([[named("A", 100), 3], [named("B", 3), 4]], episodic=False)
    env.reset()
    ends = [env.step(0)[3] for _ in range(6)]
    assert ends == [False, False, True, True, True, True]
    assert env.name == "A"
    env.reset()
    assert env.name == "B"


def test_an_end_counts_whenever_it_is_told() -> None:
    env, _ = make_curriculum([[named("A", 2), 3], [named("B", 2), 4]], episodic=True)
    env.reset()
    for _ in range(4):  # over at the second, and told three times
        env.step(0)
    env.reset()
    assert env.name == "B"


def test_a_reset_in_mid_episode_counts_nothing() -> None:
    env, _ = by_episodes([[named("A"), 1], [named("B"), 1]])
    for _ in range(3):
        env.reset()
        env.step(0)
    assert names(env, 2) == ["A", "B"]


def test_entries_of_no_length_take_a_step_each() -> None:
    schedule = [[named("A", 9), 3], [named("B", 9), 3], [named("C", 2), 9]]
    env, total = make_curriculum(schedule, episodic=False, across_workers=4)
    assert total == 2
    assert episodes(env, 4) == [("A", 1), ("B", 1), ("C", 2), ("C", 2)]


def test_a_later_entry_pays_for_those_of_no_length() -> None:
    timeline = Timeline([0, 0, 2, 3])
    assert [timeline.at(n).entry for n in range(7)] == [0, 1, 2, 3, 3, 3, 3]
    assert timeline.at(2).end == 3
    assert timeline.at(3).end is None


# How long it is (cur09).


@pytest.mark.parametrize(
    ("schedule", "workers", "wanted"),
    [
        ([["A", 500], ["B", 500]], 4, 250),
        ([[{"repeat": [["A", 2], ["B", 2]]}, 3]], 1, 12),
        ([[{"repeat": [["A", 5], ["B", 3]]}, 3]], 2, 9),
        ([[{"pool": ["A", "B"]}, 7]], 2, 3),
        ([["A", 1]] * 5, 2, 0),
        ([[{"repeat": [["A", 9]]}, 0], ["B", 4]], 1, 4),
        ([[{"repeat": [[{"repeat": [["A", 2], ["B", 1]]}, 2], ["C", 1]]}, 2]], 1, 14),
    ],
)
def test_total_durations(schedule: Any, workers: int, wanted: int) -> None:
    def made(what: Any) -> Any:
        if isinstance(what, list):
            return [made(each) for each in what]
        if isinstance(what, dict):
            return {key: made(value) for key, value in what.items()}
        return named(what) if isinstance(what, str) else what

    assert by_episodes(made(schedule), across_workers=workers)[1] == wanted


def test_repeats() -> None:
    a, b = named("A"), named("B")
    env, total = by_episodes([[{"repeat": [[a, 2], [b, 2]]}, 3]])
    assert total == 12
    assert names(env, 14) == [*"AABBAABBAABB", "B", "B"]


# Spaces (cur12 to cur14).


def test_actions_are_those_of_all() -> None:
    env, _ = by_episodes([[named("A", actions=6), 1], [named("B", actions=4), 1]])
    assert env.action_space == spaces.Discrete(6)
    received = []
    for actions in ([0, 3, 4], [0, 3, 5]):
        env.reset()
        received.append([env.step(action)[1] for action in actions])
    assert received == [[0, 3, 4], [0, 3, 0]]


def test_a_pools_actions_are_those_of_all_in_it() -> None:
    """An action that the running environment lacks is its first action."""
    env, _ = by_episodes([[{"pool": [named("A", 1, actions=2), named("B", 1, actions=5)]}, 9]])
    assert env.action_space == spaces.Discrete(5)
    received = set()
    for _ in range(20):
        env.reset()
        received.add((env.unwrapped.name, env.step(4)[1]))
    assert received == {("A", 0), ("B", 4)}


def test_a_negative_action_is_refused() -> None:
    env, _ = by_episodes([[named("A", actions=6), 1], [named("B", actions=4), 1]])
    env.reset()
    with raises(BadArgument, "action", -1, "0 to 5"):
        env.step(-1)


def test_observations_that_differ_are_padded_or_refused() -> None:
    schedule = [[named("A", width=3), 1], [named("B", width=5), 1]]
    with raises(ConfigError, "observations", 'fit="pad"', path="schedule[1]"):
        by_episodes(schedule)
    env, _ = by_episodes(schedule, fit="pad")
    assert env.observation_space.shape == (5,)
    assert env.reset()[0].tolist() == [0, 0, 1, 0, 0]
    for _ in range(3):
        env.step(0)
    assert env.reset()[0].tolist() == [1, 0, 1, 1, 1]


def test_padding_widens_the_bounds_to_zero_where_it_pads() -> None:
    one, other = Scripted(0, 3), Scripted(1, 3)
    one.observation_space = spaces.Box(1, 2, (2,), np.float64)
    other.observation_space = spaces.Box(3, 4, (3,), np.float64)
    env, _ = by_episodes([[one, 1], [other, 1]], fit="pad")
    space: Any = env.observation_space
    assert (space.low.tolist(), space.high.tolist()) == ([0, 0, 0], [4, 4, 4])


def test_a_superset_has_an_entry_for_each_space() -> None:
    picture = spaces.Box(0, 255, (2, 2, 3), np.uint8)
    one, other, third = Scripted(1, 2), Scripted(2, 2, spaces.Box(-1, 1, (2,))), Scripted(3, 2, 3)
    third.observation_space = picture
    third._seen = lambda: np.full((2, 2, 3), 7, np.uint8)  # type: ignore[method-assign]
    other.step = lambda action: (other._seen(), action.sum(), True, False, {})  # type: ignore[method-assign]
    env, _ = by_episodes([[one, 1], [other, 1], [third, 1]], fit="superset")
    box = one.observation_space
    assert env.observation_space == spaces.Dict(
        observation=spaces.Tuple([box, picture]), kind=spaces.Discrete(2)
    )
    assert env.action_space == spaces.Dict(
        action=spaces.Tuple([spaces.Discrete(6), spaces.Box(-1, 1, (2,))])
    )
    action = {"action": (5, np.array([0.5, 0.25], np.float32))}
    rewards, kinds = [], []
    for _ in range(3):
        observation, _ = env.reset()
        assert env.observation_space.contains(observation)
        kinds.append(int(observation["kind"]))
        over = False
        while not over:
            observation, reward, over, _, _ = env.step(action)
            assert env.observation_space.contains(observation)
        rewards.append(reward)
    assert kinds == [0, 0, 1]
    assert rewards == [5, 0.75, 0]


# Names (cur16).


def test_names() -> None:
    env = NamedEnv(Scripted(0, 3), [1, 0, 7])
    assert env.unwrapped is env
    env.name.append(3)
    assert env.name == [1, 0, 7]
    assert NamedEnv(NamedEnv(Scripted(0, 3), "in"), "out").unwrapped.name == "out"
    inside, _ = by_episodes([[{"pool": [NamedEnv(Scripted(0, 3), "p")]}, 2]])
    inside.reset()
    assert inside.unwrapped.name == "p"


def test_an_environment_without_a_name_has_none() -> None:
    env, _ = by_episodes([[Scripted(0, 3), 1]])
    env.reset()
    assert not hasattr(env, "name")


def test_before_the_first_reset_nothing_is_on() -> None:
    env, _ = by_episodes([[named("A"), 1]])
    for use in (lambda: env.step(0), lambda: env.name, env.render):
        with raises(UsageError, "reset"):
            use()


# Chance.


def test_a_pool_is_a_function_of_the_seed() -> None:
    def pooled(seed: int) -> list[Any]:
        pool = [named("A", 1), named("B", 1), named("C", 1)]
        return names(by_episodes([[{"pool": pool}, 20]], seed=seed)[0], 20)

    assert pooled(1) == pooled(1) != pooled(2)
    assert set(pooled(1)) == {"A", "B", "C"}


def test_a_pool_is_uniform_at_every_level() -> None:
    inner = {"pool": [named("B", 1), named("C", 1)]}
    env, _ = by_episodes([[{"pool": [named("A", 1), inner]}, 1]])
    found = names(env, 2000)
    assert [round(found.count(name) / 2000, 1) for name in "ABC"] == pytest.approx(
        [0.5, 0.25, 0.25], abs=0.06
    )


def test_an_episode_follows_from_how_far_the_run_is() -> None:
    pool = {"pool": [named("A", 2), named("B", 2), named("C", 2)]}
    schedule = [[pool, 5], [{"repeat": [[pool, 2], [named("D", 1), 1]]}, 3]]
    env, total = by_episodes(schedule, seed=3)
    wanted = names(env, total)
    for k in [7, 2, 13, 0, 5]:
        env.reset(options={"episode": k, "steps": 1000})
        assert env.name == wanted[k]


def test_each_episode_has_a_seed_of_its_own() -> None:
    inner = Scripted(0, 1)
    env, _ = by_episodes([[inner, 3]], seed=4)
    for _ in range(3):
        env.reset()
        env.step(0)
    first = inner.seeds[:]
    assert len(set(first)) == 3
    assert first == [1195179315, 1849964062, 777870532]  # below 2**31, and never others
    env.reset(options={"episode": 1})
    assert inner.seeds[-1] == first[1]
    env.reset(seed=8, options={"episode": 1})
    assert inner.seeds[-1] != first[1]


def test_it_is_an_environment_of_gymnasium() -> None:
    car = "gymnasium:MountainCar-v0"
    check_env(by_episodes([[car, 2], [{"pool": [car, car]}, 2]])[0], skip_render_check=True)


# Given and described environments.


def test_given_environments_are_the_callers_to_close() -> None:
    inner = Scripted(0, 1)
    env, _ = by_episodes([[NamedEnv(inner, "A"), 1], [named("B", 1), 1]])
    episodes(env, 3)
    env.close()
    assert inner.closed == 0


def test_an_interpreter_makes_the_environment_of_each_entry() -> None:
    """Of pools' members and of repeated schedules too, from dicts as from words."""
    told: list[Any] = []

    def interpreter(what: Any, **env_kwargs: Any) -> Any:
        told.append((what, env_kwargs))
        return named(what["name"] if isinstance(what, dict) else what, 1)

    schedule = [["A", 1], [{"pool": [{"name": "B"}]}, 1], [{"repeat": [["C", 1]]}, 2], ["D", 1]]
    env, total = by_episodes(schedule, primary_interpreter=interpreter, headless=True)
    assert told == [(what, {"headless": True}) for what in ("A", {"name": "B"}, "C", "D")]
    assert (total, names(env, 5)) == (5, [*"ABCCD"])


def test_what_a_reader_returns_is_not_interpreted() -> None:
    env, _ = by_episodes(
        [["A", 1], [{"own": "B"}, 1]],
        primary_interpreter=lambda what: named(what, 1),
        key_readers={"own": lambda data, duration, **_: [[named(data, 1), duration]]},
    )
    assert names(env, 2) == ["A", "B"]


def test_a_readers_entries_take_its_place() -> None:
    told: list[Any] = []

    def twice(data: Any, duration: int, **how: Any) -> list[Any]:
        told.append((duration, how))
        return [[data, duration // how["across_workers"]]] * 2

    env, total = by_episodes(
        [[{"twice": named("A", 1)}, 10], [named("B", 1), 5]],
        across_workers=5,
        key_readers={"twice": twice},
        headless=True,
    )
    assert told == [(10, {"episodic": True, "across_workers": 5, "headless": True})]
    assert total == 5
    assert names(env, 6) == [*"AAAA", "B", "B"]
