"""The callback evaluates a model of Stable-Baselines3 and leaves its training alone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecNormalize

import reglue
from reglue.agents.adaptation import agent_of
from reglue.agents.model_agent import ModelAgent
from reglue.errors import (
    BadArgument,
    CannotLoad,
    EnvironmentFault,
    NotAnAgent,
    UnknownName,
)
from reglue_bench.sb3 import EvalCallback, VecEnv
from tests.error_facts import raises

NAME = "evaluate:gymnasium:CartPole-v1"


def model(env: Any = "CartPole-v1") -> Any:
    return PPO("MlpPolicy", env, n_steps=64, n_epochs=1, seed=1, device="cpu")


def callback(**options: Any) -> Any:
    return EvalCallback(NAME, **{"eval_freq": 64, "num_episodes": 3, "workers": 0, **options})


def weights(of: Any) -> list[float]:
    return [float(each.sum()) for each in of.policy.state_dict().values()]


def test_it_logs_the_score_and_keeps_the_best_model(tmp_path: Path) -> None:
    trained = model()
    trained.set_logger(configure(str(tmp_path / "log"), ["csv"]))
    watching = callback(best_model_save_path=tmp_path)
    trained.learn(128, callback=watching)
    trained.logger.close()

    with (tmp_path / "log" / "progress.csv").open() as file:
        logged = [row for row in csv.DictReader(file) if row["eval/mean_reward"]]
    assert [float(row["time/total_timesteps"]) for row in logged] == [64, 128]
    means = [float(row["eval/mean_reward"]) for row in logged]
    assert watching.best_mean_reward == max(means)
    assert float(logged[-1]["eval/mean_ep_length"]) == means[-1]  # 1 a step
    assert watching.last_result.mean_return == watching.last_mean_reward == means[-1]

    best = PPO.load(tmp_path / "best_model")
    again = reglue.evaluate(NAME, agent=best, num_episodes=3, workers=0)
    assert again.mean_return == max(means)


def test_the_training_is_the_same_without_it() -> None:
    alone = model().learn(128)  # each model seeds PyTorch when it is made
    watched = model().learn(128, callback=callback())
    assert weights(alone) == weights(watched)


def test_the_training_is_the_same_if_evaluations_draw_actions() -> None:
    """From PyTorch's generator, which the training draws its own from."""
    alone = model().learn(128)
    watched = model().learn(128, callback=callback(deterministic=False))
    assert weights(alone) == weights(watched)


def test_it_sees_what_the_training_normalizes() -> None:
    env = VecNormalize(make_vec_env("CartPole-v1"), norm_reward=False)
    trained = model(env)
    seen: list[float] = []
    predict = trained.predict

    def predicts(observation: Any, **more: Any) -> Any:
        seen.extend(np.ravel(observation))
        return predict(observation, **more)

    trained.predict = predicts
    trained.learn(64, callback=callback())
    env.close()
    assert max(map(abs, seen[:4])) > 0.1  # starts of CartPole are below 0.05


def judged(agent: Any) -> list[float]:
    result = reglue.evaluate(NAME, agent=agent, num_episodes=5, workers=0)
    return [row.return_ for row in result.episodes]


@pytest.fixture
def normalized() -> Any:
    """A model and the VecNormalize that it was trained under."""
    env = VecNormalize(make_vec_env("CartPole-v1", seed=0), norm_reward=False)
    trained = model(env).learn(640)
    yield trained, env
    env.close()


def test_a_model_is_judged_on_normalized_observations_and_its_statistics_stay(
    normalized: Any,
) -> None:
    trained, env = normalized
    counted = env.obs_rms.count
    by_hand = judged(lambda seen: trained.predict(env.normalize_obs(seen), deterministic=True))
    raw = judged(lambda seen: trained.predict(seen, deterministic=True))
    assert judged(trained) == by_hand != raw
    assert env.obs_rms.count == counted
    agent = agent_of(trained.predict)
    assert isinstance(agent, ModelAgent)
    assert not agent.deterministic


def test_a_saved_model_gets_its_statistics_from_a_file(normalized: Any, tmp_path: Path) -> None:
    trained, env = normalized
    trained.save(tmp_path / "model")
    env.save(str(tmp_path / "vecnormalize.pkl"))
    saved = PPO.load(tmp_path / "model", device="cpu")
    agent = reglue.ModelAgent(saved, vec_normalize=tmp_path / "vecnormalize.pkl")
    assert judged(agent) == judged(trained)
    with raises(CannotLoad, got=f"vec_normalize={tmp_path / 'nothing.pkl'}"):
        reglue.ModelAgent(saved, vec_normalize=tmp_path / "nothing.pkl")


def test_the_best_model_is_kept_with_its_statistics(tmp_path: Path) -> None:
    env = VecNormalize(make_vec_env("CartPole-v1", seed=0), norm_reward=False)
    watching = callback(best_model_save_path=tmp_path)
    model(env).learn(256, callback=watching)
    env.close()
    best = reglue.ModelAgent(
        PPO.load(tmp_path / "best_model", device="cpu"),
        vec_normalize=tmp_path / "vecnormalize.pkl",
    )
    again = reglue.evaluate(NAME, agent=best, num_episodes=3, workers=0)
    assert again.mean_return == watching.best_mean_reward


def test_callbacks_of_its_own_are_called() -> None:
    stop = StopTrainingOnRewardThreshold(reward_threshold=1.0)
    trained = model()
    trained.learn(1000, callback=callback(callback_on_new_best=stop))
    assert trained.num_timesteps == 64

    class Counts(BaseCallback):  # type: ignore[misc]
        def _on_step(self) -> bool:
            return True

    after = Counts()
    model().learn(128, callback=callback(callback_after_eval=after))
    assert after.n_calls == 2


@pytest.mark.parametrize(
    "benchmark",
    [lambda: gymnasium.make("CartPole-v1"), lambda: type(gymnasium.make("CartPole-v1").unwrapped)],
    ids=["object", "class"],
)
def test_an_environment_of_gymnasium_is_taken_as_it_is(benchmark: Callable[[], object]) -> None:
    watching = EvalCallback(benchmark(), eval_freq=64, num_episodes=2)
    model().learn(64, callback=watching)
    assert watching.last_result is not None
    assert watching.last_result.coverage.cells_completed == 2


class Guess(gymnasium.Env[Any, Any]):
    """Three guesses; the first 1 is a success, which `info` has under the name `key`."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, key: str = "is_success") -> None:
        self.key = key

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.left = 3
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        info = {self.key: bool(action)}
        return np.zeros(1, np.float32), 0.0, bool(action), self.left == 0, info


class Guesses(SyncVectorEnv):
    tells_success = True

    def __init__(self, num_envs: int = 1, key: str = "is_success") -> None:
        super().__init__([lambda: Guess(key)] * num_envs, autoreset_mode=AutoresetMode.DISABLED)


@pytest.mark.parametrize(
    ("where", "key", "rate"),
    [
        (Guess, "is_success", [True, False]),
        (f"{__file__}:Guess", "success", [True, False]),
        (f"evaluate:{__file__}:Guess", "is_success", [True, False]),
        (Guesses, "success", [True, False]),
        (Guess, "solved", []),
    ],
    ids=["class", "name", "judged by return", "vector", "without a flag"],
)
def test_sb3_learns_of_the_success_that_an_environment_reports(
    where: object, key: str, rate: list[bool]
) -> None:
    with closing(VecEnv(where, 2, environment_args={"key": key})) as envs:
        trained = model(envs)
        trained.learn(0)  # sets up the buffers
        infos: list[Any] = []
        envs.reset()
        for _ in range(3):
            *_, ended, infos = envs.step(np.array([1, 0]))
            trained._update_info_buffer(infos, ended)
        found = list(trained.ep_success_buffer)
    assert sorted(found) == sorted(3 * rate[:1] + rate[1:])


def test_sb3_logs_the_success_rate_of_an_own_environment(tmp_path: Path) -> None:
    with closing(VecEnv(Guess, 2)) as envs:
        trained = model(envs)
        trained.set_logger(configure(str(tmp_path), ["csv"]))
        trained.learn(256)
        trained.logger.close()
    with (tmp_path / "progress.csv").open() as file:
        rates = [float(row["rollout/success_rate"]) for row in csv.DictReader(file)]
    assert len(rates) == 2
    assert all(0 < rate <= 1 for rate in rates)


def test_a_wrong_name_shows_before_the_training() -> None:
    trained = model()
    with raises(UnknownName, "CartPole-v1", got="CartPol-v1"):
        trained.learn(64, callback=EvalCallback("evaluate:gymnasium:CartPol-v1"))
    assert trained.num_timesteps == 0


def test_a_benchmark_of_another_shape_stops_the_training_with_the_reason() -> None:
    with raises(NotAnAgent, "observation", (4,), (6,)):
        model().learn(
            64,
            callback=EvalCallback(
                "evaluate:gymnasium:Acrobot-v1", eval_freq=64, num_episodes=1, workers=0
            ),
        )


def test_a_call_of_sb3s_own_callback_means_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = EvalCallback(
        eval_env=gymnasium.make("CartPole-v1"),
        n_eval_episodes=3,
        eval_freq=64,
        log_path=str(tmp_path),
        best_model_save_path=str(tmp_path),
        deterministic=True,
        render=False,
        verbose=1,
        warn=False,
    )
    model().learn(128, callback=watching)
    with np.load(tmp_path / "evaluations.npz") as saved:
        assert sorted(saved) == ["ep_lengths", "results", "timesteps"]  # CartPole tells no success
        assert saved["timesteps"].tolist() == watching.evaluations_timesteps == [64, 128]
        assert saved["results"].shape == (2, 3)
        assert saved["results"].tolist() == saved["ep_lengths"].tolist()  # 1 a step
        assert saved["results"][-1].mean() == pytest.approx(watching.last_mean_reward)
    assert (tmp_path / "best_model.zip").exists()
    assert f"{watching.last_mean_reward:.2f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"num_episodes": 3, "n_eval_episodes": 3}, ["n_eval_episodes", "num_episodes"]),
        ({"eval_env": "evaluate:gymnasium:Pendulum-v1"}, ["eval_env", "benchmark"]),
        ({"render": True}, ["render=True", False]),
        ({"benchmark": None}, ["benchmark", NAME]),
    ],
)
def test_what_cannot_be_as_sb3_means_it_is_refused_at_once(
    arguments: dict[str, Any], named: list[object]
) -> None:
    with raises(BadArgument, *named):
        EvalCallback(**{"benchmark": NAME, **arguments})


def test_a_fault_names_only_what_the_callback_has() -> None:
    class Breaks(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.make("CartPole-v1").observation_space
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            return np.zeros(4, np.float32), {}

        def step(self, action: Any) -> Any:
            raise ValueError("out of coffee")

    watching = EvalCallback(Breaks(), eval_freq=64, num_episodes=1)
    with raises(EnvironmentFault, "evaluate:Breaks", "out of coffee", "last_result") as raised:
        model().learn(64, callback=watching)
    assert "raise_faults" not in str(raised.value)
    assert watching.last_result is not None
    assert watching.last_result.status_counts == {"crashed": 1}
