"""`make_vec` as Stable-Baselines3's VecEnv: the same steps, and what SB3 reads of an end."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

import reglue
from reglue.errors import BadArgument
from reglue.gymnasium.sb3_vec_env import VecEnv

POLE = "gymnasium:CartPole-v1"


@pytest.mark.filterwarnings("ignore:another environment of this program plays the same")
def test_it_plays_what_make_vec_plays_and_says_how_episodes_ended() -> None:
    plain = reglue.make_vec(POLE, 3, seed=1, autoreset_mode="SameStep")
    with closing(plain), closing(VecEnv(POLE, 3, seed=1)) as envs:
        envs.seed(5)
        assert envs.reset().tolist() == plain.reset(seed=5)[0].tolist()
        returns, lengths = np.zeros(3), np.zeros(3, int)
        ends = 0
        for _ in range(40):
            actions = np.ones(3, int)
            seen, rewards, terminated, truncated, infos = plain.step(actions)
            theirs, earned, ended, parted = envs.step(actions)
            assert theirs.tolist() == seen.tolist()
            assert earned.tolist() == rewards.tolist()
            assert ended.tolist() == (terminated | truncated).tolist()
            returns, lengths = returns + rewards, lengths + 1
            for slot, info in enumerate(parted):
                assert ("episode" in info) is bool(ended[slot])
                if ended[slot]:
                    ends += 1
                    last = infos["final_obs"][slot]
                    assert info["terminal_observation"].tolist() == last.tolist()
                    assert info["TimeLimit.truncated"] is False
                    assert (info["episode"]["r"], info["episode"]["l"]) == (
                        returns[slot],
                        lengths[slot],
                    )
                    assert "is_success" not in info  # it is judged by its return
                    returns[slot] = lengths[slot] = 0
        assert ends > 3


def test_success_is_told_where_it_is_judged_and_a_limit_is_no_end() -> None:
    with closing(VecEnv("MT1:reach-v3", 2)) as envs:
        envs.reset()
        infos: Any = []
        while not any("episode" in info for info in infos):
            *_, infos = envs.step(np.zeros((2, 4), np.float32))
    assert [info["is_success"] for info in infos] == [False, False]
    assert [info["TimeLimit.truncated"] for info in infos] == [True, True]


@pytest.mark.slow
def test_ppo_trains_on_it_and_logs_its_episodes() -> None:
    with closing(VecNormalize(VecEnv(POLE, 4))) as envs:
        model = PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=0)
        model.learn(256)
        assert model.ep_info_buffer
        assert all(info["r"] == info["l"] for info in model.ep_info_buffer)


def test_what_slots_have_not_is_refused() -> None:
    with pytest.raises(BadArgument, match="autoreset_mode"):
        VecEnv(POLE, 2, autoreset_mode="NextStep")
    with closing(VecEnv(POLE, 2)) as envs:
        assert envs.get_attr("render_mode", indices=0) == [None]
        assert envs.env_is_wrapped(VecNormalize) == [False, False]
        for call in (lambda: envs.set_attr("x", 1), lambda: envs.env_method("x")):
            with pytest.raises(BadArgument, match="got"):
                call()


def test_it_draws() -> None:
    with closing(VecEnv(POLE, 2, render_mode="rgb_array")) as envs:
        envs.reset()
        first, second = envs.get_images()
        assert first.shape == second.shape
        assert first.any()
