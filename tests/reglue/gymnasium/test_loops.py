"""Libraries that own the stepping run unchanged."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

from reglue.gymnasium import make, make_vec
from tests.reglue.gymnasium.walks import WALK, glue, training

pytestmark = [
    pytest.mark.usefixtures("tidy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.mark.usefixtures("one_thread")
def test_stable_baselines3_checks_and_learns() -> None:
    """To walk on: the return of an episode grows from about 2 to the most, 4."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.evaluation import evaluate_policy

    with closing(make(WALK)) as env:
        check_env(env)
        model = PPO(
            "MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=4, learning_rate=0.01, seed=0
        )
        model.learn(1024)
        mean, _ = evaluate_policy(model, env, n_eval_episodes=3)
        assert mean >= 4.0


def test_gymnasiums_vector_wrappers_run() -> None:
    with glue(training, 3) as played:
        made: Any = make_vec(played.server.address, token=played.server.token, num_envs=3)
        envs: Any = gymnasium.wrappers.vector.RecordEpisodeStatistics(made)
        envs = gymnasium.wrappers.vector.NormalizeObservation(envs)
        with closing(envs):
            envs.reset()
            found = []
            for _ in range(10):
                *_, infos = envs.step(np.ones(3, np.int64))
                if "episode" in infos:
                    found += infos["episode"]["r"][infos["_episode"]].tolist()
            assert found == [2.0] * 6


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("mode", [None, "SameStep", "Disabled"])
def test_torchrls_wrapper_collects(mode: Any) -> None:
    """It takes no other mode, of Gymnasium's environments either."""
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    inner: Any = make_vec(WALK, num_envs=3, autoreset_mode=mode) if mode else make(WALK)
    with closing(inner):
        env = GymWrapper(inner)
        check_env_specs(env)
        rolled = env.rollout(20, break_when_any_done=False)
        assert rolled["next", "reward"].shape == ((3, 20, 1) if mode else (20, 1))
        assert bool(rolled["next", "done"].any())


def test_a_cleanrl_loop_runs() -> None:
    """PPO's, as far as the environment is concerned: NEXT_STEP, a buffer, and done flags."""
    envs: Any = make_vec(WALK, num_envs=4)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    rng = np.random.default_rng(0)
    with closing(envs):
        seen, _ = envs.reset(seed=1)
        done = np.zeros(4, np.bool_)
        observations = np.zeros((64, 4, *envs.single_observation_space.shape), np.float32)
        dones, returns = np.zeros((64, 4)), []
        for step in range(64):
            observations[step], dones[step] = seen, done
            actions = rng.integers(envs.single_action_space.n, size=4)
            seen, _, terminated, truncated, infos = envs.step(actions)
            done = np.logical_or(terminated, truncated)
            if "episode" in infos:
                returns += infos["episode"]["r"][infos["_episode"]].tolist()
        assert len(returns) == int(dones.sum() + done.sum())
        starts = np.roll(dones, 1, axis=0)[2:].astype(np.bool_)  # rows after a done's
        assert (observations[2:][starts][:, 1] <= 1).all()
