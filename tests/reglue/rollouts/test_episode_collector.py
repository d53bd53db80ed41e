"""Whole episodes, a column each."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import numpy.testing as npt
import pytest
from gymnasium.vector import SyncVectorEnv

from reglue.errors import BadArgument, EnvironmentFault, NotAnEnvironment, UnknownName
from reglue.rollouts import collect_episodes, transitions
from reglue.spec import Array
from tests.error_facts import raises
from tests.reglue.rollouts.rollout_toys import (
    MODES,
    TRUNCATES,
    Counting,
    DictToy,
    Pausing,
    Toy,
    toys,
)


@pytest.mark.parametrize("mode", MODES)
def test_every_episode_has_a_column_and_the_last_row_its_return(mode: str) -> None:
    rollout = collect_episodes(toys(2, 4, 3, mode=mode), Counting(3), 7)
    assert rollout["reward"].shape == (5, 7)
    npt.assert_array_equal(rollout["timestep"][-1], [2, 4, 3, 2, 4, 3, 2])
    npt.assert_array_equal(rollout["cumulated_reward"][-1], [3, 10, 6, 3, 10, 6, 3])


@pytest.mark.parametrize("mode", MODES)
def test_each_environment_gives_as_many_episodes_whatever_their_lengths(mode: str) -> None:
    """Eight episodes: those of one step do not crowd out those of thirty."""
    rollout = collect_episodes(toys(1, 30, mode=mode), Counting(), 8)
    assert rollout["timestep"][-1].tolist() == [1, 30] * 4


@pytest.mark.parametrize(
    ("mode", "lengths"),
    [("NextStep", [2, 5]), ("SameStep", [2, 1, 5]), ("Disabled", [2, 5])],
)
def test_a_shorter_round_repeats_its_last_row_too(mode: str, lengths: list[int]) -> None:
    """In autoreset mode SAME_STEP an episode has begun that nobody wants."""
    env = SyncVectorEnv([lambda: Toy(lengths)], autoreset_mode=mode)
    rollout = collect_episodes(env, Counting(1), 2)
    assert rollout["observation"][:, 0, 0].tolist() == [0, 1, 2, 2, 2, 2]
    assert rollout["reward"][:, 0].tolist() == [0, 1, 2, 0, 0, 0]
    assert rollout["action"][:, 0].tolist() == [0, 1, 2, 2, 2, 2]
    assert rollout["timestep"][:, 1].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("mode", MODES)
def test_repeated_frames_are_no_transitions(mode: str) -> None:
    pairs = transitions(collect_episodes(toys(2, 4, mode=mode), Counting(), 2))
    assert pairs["observation"][0, :, 0].tolist() == [0, 0, 1, 1, 2, 3]
    assert pairs["reward"][1].tolist() == [1, 1, 2, 2, 3, 4]


def test_the_policy_sees_the_frames_that_are_recorded() -> None:
    seen = []

    def policy(observations: Array) -> tuple[Array, dict[str, Array]]:
        seen.append(observations.copy())
        return np.zeros(2, int), {"value": observations[:, 0] / 2}

    rollout = collect_episodes(toys(2, 4, mode="SameStep"), policy, 2)
    npt.assert_array_equal(rollout["observation"], seen)
    npt.assert_array_equal(rollout["value"], rollout["observation"][..., 0] / 2)


def test_a_policy_may_write_to_what_it_sees() -> None:
    def policy(observations: Array) -> Array:
        observations += 7
        return np.zeros(2, int)

    envs = SyncVectorEnv([lambda: Toy([2]), lambda: Toy([4])], copy=False)
    rollout = collect_episodes(envs, policy, 2)
    assert rollout["observation"][:, :, 0].T.tolist() == [[0, 1, 2, 2, 2], [0, 1, 2, 3, 4]]


def test_an_episode_is_seeded_by_its_number_whatever_the_number_of_environments() -> None:
    def play(num_envs: int) -> Any:
        envs = gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="sync")
        return collect_episodes(envs, lambda seen: (seen[:, 2] > 0).astype(int), 5, seed=11)

    one, three = play(1), play(3)
    for name in one:
        npt.assert_array_equal(one[name], three[name])


def test_a_flag_of_the_policys_stops_an_episode() -> None:
    def policy(observations: Array) -> tuple[Array, dict[str, Array]]:
        return np.zeros(2, int), {"enough": observations[:, 0] == 2}

    rollout = collect_episodes(toys(9, 1), policy, 2, stop="enough")
    assert rollout["timestep"].T.tolist() == [[0, 1, 2], [0, 1, 1]]  # done stops in any case
    assert not rollout["done"][:, 0].any()
    assert transitions(rollout)["timestep"][1].tolist() == [1, 1, 2]


@pytest.mark.parametrize("stop", ["done", "terminated", "truncated"])
def test_an_episode_that_never_sets_the_flag_ends_all_the_same(stop: str) -> None:
    envs = toys(2, 3, kinds=[TRUNCATES, "terminates"])
    assert collect_episodes(envs, Counting(), 2, stop=stop)["timestep"][-1].tolist() == [2, 3]


def test_rows_cut_longer_episodes_off() -> None:
    rollout = collect_episodes(toys(2, 4), Counting(), 2, rows=4)
    assert rollout["timestep"][-1].tolist() == [2, 3]
    assert rollout["done"][-1].tolist() == [True, False]
    assert transitions(rollout)["timestep"][1].tolist() == [1, 1, 2, 2, 3]


def test_more_rows_than_the_arrays_had_first() -> None:
    rollout = collect_episodes(toys(3, 300), Counting(), 2)
    assert rollout["observation"][:, 1, 0].tolist() == list(range(301))
    assert rollout["observation"][-1, 0, 0] == 3


@pytest.mark.parametrize("mode", MODES)
def test_dict_and_tuple_observations_are_named_arrays(mode: str) -> None:
    seen = []

    def policy(observations: Any) -> Array:
        seen.append(observations["seen"][0][:, 0].tolist())
        return np.zeros(2, int)

    envs = SyncVectorEnv([partial(DictToy, 1), partial(DictToy, 2)], autoreset_mode=mode)
    rollout = collect_episodes(envs, policy, 2)
    assert rollout["observation/goal"].tolist() == [[0, 0]] * 3
    assert rollout["observation/seen/0"][:, :, 0].tolist() == [[0, 0], [1, 1], [1, 2]] == seen
    assert rollout["observation/seen/1"].shape == (3, 2, 2)


def test_a_policy_with_state_hears_of_each_round() -> None:
    masks: list[list[bool]] = []

    def hear(mask: Array) -> None:
        masks.append(mask.tolist())

    collect_episodes(toys(2, 4), Counting(), 3, on_start=hear)
    assert masks == [[True, True]] * 2


def test_stable_baselines3s_predict_is_a_policy() -> None:
    def predict(observations: Array) -> tuple[Array, None]:
        return np.zeros(2, int), None

    assert set(collect_episodes(toys(2, 4), predict, 2)) >= {"action", "observation"}


@pytest.mark.parametrize("argument", ["n", "rows"])
@pytest.mark.parametrize("number", [0, -1, 2.0, "2", True])
def test_a_number_that_is_none_is_refused(argument: str, number: Any) -> None:
    envs = toys(2)
    with raises(BadArgument, "integer", 1, got=f"{argument}={number!r}"):
        collect_episodes(envs, Counting(1), **{"n": 1, argument: number})
    assert envs.envs[0].unwrapped.episode == -1  # type: ignore[attr-defined]


def test_an_unknown_flag_is_refused_before_anything_is_played() -> None:
    envs = toys(2)
    with raises(UnknownName, "done", got="dnoe"):
        collect_episodes(envs, Counting(1), 1, stop="dnoe")
    assert envs.envs[0].unwrapped.actions == []  # type: ignore[attr-defined]


def test_a_single_environment_is_refused() -> None:
    with raises(NotAnEnvironment, "Toy", "make_vec(…, num_envs=1)"):
        collect_episodes(Toy([2]), Counting(1), 1)


def test_an_environment_that_does_not_say_how_it_resets_is_refused() -> None:
    envs = toys(2)
    del envs.metadata["autoreset_mode"]
    with raises(NotAnEnvironment, None, "metadata['autoreset_mode']"):
        collect_episodes(envs, Counting(1), 1)


def test_a_lost_final_observation_is_the_environments_fault() -> None:
    class Forgetful(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
        def step(self, actions: Any) -> Any:
            return (*super().step(actions)[:4], {})

    with raises(EnvironmentFault, "'final_obs'", "SAME_STEP"):
        collect_episodes(Forgetful(toys(2, mode="SameStep")), Counting(1), 1)


def test_an_environment_without_an_episode_is_not_waited_for() -> None:
    envs = Pausing("NextStep")
    for _ in range(2):
        envs.step(None)
    with raises(EnvironmentFault, [0], "info['idle']"):
        collect_episodes(envs, Counting(1), 1)
