"""Rollouts over Reglue's own vector environment."""

from __future__ import annotations

import functools
from contextlib import closing, suppress
from itertools import islice

import numpy as np
import numpy.testing as npt
import pytest

import reglue
from glue_server import EpisodeRunner
from reglue.errors import TrainingOver
from reglue.gymnasium.make import Mode
from reglue.messages.agent_messages import Phase
from reglue.rollouts import collect_episodes, collect_steps, transitions
from reglue.spec import Array
from tests.reglue.gymnasium.walks import Played, first, glue
from tests.reglue.rollouts.rollout_toys import MODES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tidy")]

CART_POLE = "gymnasium:CartPole-v1"


def balance(observations: Array) -> tuple[Array, dict[str, Array]]:
    """Actions and values of CartPole that depend on each row alone."""
    lean = (observations * [0.1, 0.3, 1.0, 0.2]).sum(axis=1)
    return (lean > 0.05).astype(int), {"value": lean}


@functools.cache
def whole_episodes(num_envs: int, mode: Mode, steps: int) -> dict[bytes, dict[str, Array]]:
    """Their transitions, by their first observation."""
    parts = []
    with closing(
        reglue.make_vec(CART_POLE, num_envs=num_envs, seed=5, autoreset_mode=mode)
    ) as envs:
        for rollout in islice(collect_steps(envs, balance, 32), steps // (31 * num_envs)):
            columns = np.broadcast_to(np.arange(num_envs), rollout["done"].shape)
            parts.append(transitions(rollout.with_arrays(env=columns)))
    pairs = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    columns, found = pairs.pop("env")[0], {}
    for env in range(num_envs):
        own = {name: array[:, columns == env] for name, array in pairs.items()}
        ends = np.flatnonzero(own["done"][1]) + 1
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            episode = {name: array[:, begin:end] for name, array in own.items()}
            found[episode["observation"][0, 0].tobytes()] = episode
    return found


@pytest.mark.parametrize("mode", MODES)
def test_episodes_are_those_that_one_environment_plays(mode: Mode) -> None:
    alone, three = whole_episodes(1, "NextStep", 2000), whole_episodes(3, mode, 1500)
    assert len(three) > 10
    assert three.keys() <= alone.keys()
    for begin, episode in three.items():
        for name, array in episode.items():
            npt.assert_array_equal(array, alone[begin][name], name)
        assert episode["timestep"][0].tolist() == list(range(len(episode["timestep"][0])))


@pytest.mark.parametrize("mode", MODES)
def test_returns_are_the_episodes_lengths(mode: Mode) -> None:
    with closing(reglue.make_vec(CART_POLE, num_envs=3, seed=5, autoreset_mode=mode)) as env:
        played = collect_episodes(env, balance, 5)
    assert played["done"][-1].all()
    npt.assert_array_equal(played["cumulated_reward"][-1], played["timestep"][-1])
    npt.assert_array_equal(played["reward"].sum(axis=0), played["cumulated_reward"][-1])


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_lost_until_a_glue_ends_the_training(mode: Mode) -> None:
    """Nine episodes in three slots, which run out of episodes one after another."""

    def nine(runner: EpisodeRunner, played: Played) -> None:
        runner.init()
        played.outcomes += runner.play(first(9), Phase.TRAIN)
        runner.cleanup()

    def walk(observations: Array) -> Array:
        return np.asarray(observations.sum(axis=1) % 3, int)

    got = []
    with glue(nine, 3) as played:
        server = played.server
        made = reglue.make_vec(server.address, token=server.token, autoreset_mode=mode)
        with closing(made) as envs, suppress(TrainingOver):
            for rollout in collect_steps(envs, walk, 2):
                got += [transitions(rollout)]
    rewards = np.concatenate([pairs["reward"][1] for pairs in got])
    totals = np.concatenate([pairs["cumulated_reward"][1][pairs["done"][1]] for pairs in got])
    assert len(rewards) == sum(outcome.steps for outcome in played.outcomes)
    assert sorted(totals) == sorted(outcome.return_ for outcome in played.outcomes)
