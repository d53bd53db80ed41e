"""Trains a model of Stable-Baselines3 in many slots, and evaluates it while it trains.

from reglue_bench.sb3 import EvalCallback, VecEnv

model = PPO("MlpPolicy", VecEnv("gymnasium:CartPole-v1", 8))
callback = EvalCallback("evaluate:gymnasium:CartPole-v1", eval_freq=10_000, num_episodes=20)
model.learn(100_000, callback=callback)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EventCallback

from reglue.agents.model_agent import ModelAgent
from reglue.errors import BadArgument
from reglue.gymnasium.sb3_vec_env import VecEnv
from reglue_bench.evaluation import check_faults
from reglue_bench.evaluator import Evaluator
from reglue_bench.loggers import Log
from reglue_bench.options import Options
from reglue_bench.results.result import Result
from reglue_bench.results.scores import ReturnScore, Success, SuccessScore

__all__ = ["EvalCallback", "VecEnv"]


class CallbackOptions(Options, total=False):
    """Besides, what SB3's callback calls otherwise, or takes for nothing."""

    log: Log  # as in `evaluate`
    eval_env: object  # `benchmark`
    n_eval_episodes: int  # `num_episodes`
    render: Literal[False]  # nothing is drawn
    warn: bool  # of returns that a wrapper changed, which are none here


_OURS: Mapping[str, str] = {"eval_env": "benchmark", "n_eval_episodes": "num_episodes"}


class EvalCallback(EventCallback):  # type: ignore[misc] # SB3 is large, and mypy does not read it
    """Evaluates the model every `eval_freq` calls, logs its score and keeps the best model.

    As SB3's callback of this name, but the environments are the benchmark's own, and every
    evaluation plays the same seeds. Nothing of the training is seeded or reset, and the random
    generators of this process stay as they are, so it goes on as if there were no callback. It
    takes SB3's keywords and has SB3's attributes; `last_result` is the last evaluation's Result.

    It logs `eval/mean_reward`, its interval `eval/mean_reward_low` and `eval/mean_reward_high`,
    `eval/mean_ep_length`, and where episodes succeed `eval/success_rate`.

    Args:
        benchmark: as in `evaluate`: `"evaluate:gymnasium:CartPole-v1"`, or a class or an object of
            `gymnasium.Env`. SB3's `eval_env` is the same.
        eval_freq: calls of the training environment's `step`, each of which is a step in every
            environment of its vector.
        log_path: folder for `evaluations.npz`, which holds every evaluation so far as SB3's does:
            `timesteps`, (evaluations,); `results` (returns), `ep_lengths`, and where episodes
            succeed `successes`, (evaluations, episodes).
        best_model_save_path: folder for `best_model.zip`, the model of the highest mean return,
            and `vecnormalize.pkl`, the statistics of its VecNormalize, if there is one.
        deterministic: whether the model plays its most likely actions.
        callback_on_new_best: called after `best_mean_reward` rose.
        callback_after_eval: called after every evaluation.
        verbose: 1 prints each evaluation.
        options: as in `evaluate`: `num_episodes` (or `n_eval_episodes`), `seed`, `slots`,
            `workers`, `log`, …

    The observations are normalized as the training's VecNormalize does. Raises UsageError;
    AgentFault if the model cannot play the benchmark; and EnvironmentFault.
    """

    def __init__(  # noqa: PLR0913 - SB3's
        self,
        benchmark: object = None,
        *,
        eval_freq: int = 10_000,
        log_path: str | Path | None = None,
        best_model_save_path: str | Path | None = None,
        deterministic: bool = True,
        callback_on_new_best: BaseCallback | None = None,
        callback_after_eval: BaseCallback | None = None,
        verbose: int = 0,
        **options: Unpack[CallbackOptions],
    ) -> None:
        super().__init__(callback_after_eval, verbose=verbose)
        self._options = _by_our_names({"benchmark": benchmark, **options})
        self.eval_freq = eval_freq
        self.log_path = _absolute(log_path)
        self.best_model_save_path = _absolute(best_model_save_path)
        self.deterministic = deterministic
        self.callback_on_new_best = callback_on_new_best
        if callback_on_new_best is not None:
            callback_on_new_best.parent = self
        self.best_mean_reward = self.last_mean_reward = -np.inf
        self.last_result: Result | None = None
        self.evaluations_timesteps: list[int] = []
        self.evaluations_results: list[list[float]] = []
        self.evaluations_length: list[list[int]] = []
        self.evaluations_successes: list[list[bool]] = []
        self._evaluator: Evaluator | None = None

    def _init_callback(self) -> None:
        if self.callback_on_new_best is not None:
            self.callback_on_new_best.init_callback(self.model)

    def _on_training_start(self) -> None:
        """Make the environments; a mistake in the benchmark's name shows before the training."""
        if self._evaluator is None:
            self._evaluator = Evaluator(**self._options)

    def _on_step(self) -> bool:
        if self.eval_freq <= 0 or self.n_calls % self.eval_freq:
            return True
        try:
            result = self._evaluated()
        except BaseException:  # the training ends by it, and calls nothing of this any more
            self._on_training_end()
            raise
        assert result.mean_return is not None, "a run without a fault has one"
        self.last_mean_reward = result.mean_return
        self._log(result, result.mean_return)
        goes_on = True
        if result.mean_return > self.best_mean_reward:
            self.best_mean_reward = result.mean_return
            if self.best_model_save_path is not None:
                folder = self.best_model_save_path
                folder.mkdir(parents=True, exist_ok=True)
                self.model.save(folder / "best_model")
                if (normalization := self.model.get_vec_normalize_env()) is not None:
                    normalization.save(str(folder / "vecnormalize.pkl"))
            if self.callback_on_new_best is not None:
                goes_on = self.callback_on_new_best.on_step()
        if self.callback is not None:
            goes_on = self._on_event() and goes_on
        return goes_on

    def _on_training_end(self) -> None:
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None

    def _evaluated(self) -> Result:
        assert self._evaluator is not None, "the training has started"
        agent = ModelAgent(self.model, deterministic=self.deterministic)
        self.last_result = result = self._evaluator(
            agent, raise_faults=False, progress=bool(self.verbose), step=self.num_timesteps
        )
        check_faults(result, advice="the callback's last_result holds the result")
        return result

    def _log(self, result: Result, mean: float) -> None:
        rows = [row for row in result.episodes if row.phase == "evaluate"]
        self.evaluations_timesteps.append(self.num_timesteps)
        self.evaluations_results.append([row.return_ for row in rows])
        self.evaluations_length.append([row.steps for row in rows])
        self.evaluations_successes.append([row.success for row in rows])
        length = float(np.mean(self.evaluations_length[-1]))
        values: dict[str, Any] = {"mean_reward": mean, "mean_ep_length": length}
        if isinstance(result.score, ReturnScore) and result.interval95 is not None:
            values["mean_reward_low"], values["mean_reward_high"] = result.interval95
        score = result.score
        success = score.success if isinstance(score, ReturnScore) else score
        if result.episodes_succeeded and isinstance(success, Success | SuccessScore):
            values["success_rate"] = success.mean_success_rate
        for name, value in values.items():
            self.logger.record(f"eval/{name}", value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)
        if self.log_path is not None:
            self._save(self.log_path)
        if self.verbose:
            line = f"after {self.num_timesteps} steps: mean return {mean:.2f}, length {length:.2f}"
            print(line)  # noqa: T201 - as SB3's does

    def _save(self, folder: Path) -> None:
        """Write all evaluations so far, as SB3 names them."""
        folder.mkdir(parents=True, exist_ok=True)
        succeeded = self.evaluations_successes
        optional: dict[str, Any] = {"successes": succeeded} if np.any(succeeded) else {}
        np.savez(
            folder / "evaluations",
            timesteps=self.evaluations_timesteps,
            results=self.evaluations_results,
            ep_lengths=self.evaluations_length,
            **optional,
        )


def _absolute(path: str | Path | None) -> Path | None:
    """A path that stays where it is if an environment moves this process to another folder."""
    return None if path is None else Path(path).absolute()


def _by_our_names(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of Evaluator. Raises BadArgument."""
    if arguments.pop("render", False):
        raise BadArgument(got="render=True", wanted="False: evaluations are not drawn")
    arguments.pop("warn", None)
    for theirs in _OURS.keys() & arguments.keys():
        ours = _OURS[theirs]
        if arguments.get(ours) is not None:
            raise BadArgument(f"got {theirs} and {ours}, which mean the same: omit {theirs}")
        arguments[ours] = arguments.pop(theirs)
    if arguments["benchmark"] is None:
        raise BadArgument("no benchmark: give its name, such as evaluate:gymnasium:CartPole-v1")
    return arguments
