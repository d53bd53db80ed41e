"""The callback evaluates a model of Stable-Baselines3 and leaves its training alone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecNormalize

import reglue
from reglue.errors import AgentFault, UnknownName
from reglue_bench.sb3 import EvalCallback

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


def test_a_wrong_name_shows_before_the_training() -> None:
    trained = model()
    with pytest.raises(UnknownName, match="CartPole-v1"):
        trained.learn(64, callback=EvalCallback("evaluate:gymnasium:CartPol-v1"))
    assert trained.num_timesteps == 0


def test_a_benchmark_of_another_shape_stops_the_training_with_the_reason() -> None:
    with pytest.raises(AgentFault, match=r"agent_error: .*shape"):
        model().learn(
            64,
            callback=EvalCallback(
                "evaluate:gymnasium:Acrobot-v1", eval_freq=64, num_episodes=1, workers=0
            ),
        )
