"""Evaluates a model of Stable-Baselines3 while it trains.

from reglue_bench.sb3 import EvalCallback

callback = EvalCallback("evaluate:gymnasium:CartPole-v1", eval_freq=10_000, num_episodes=20)
model.learn(100_000, callback=callback)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EventCallback

from reglue.agents.adaptation import ModelAgent
from reglue.agents.agent import Chosen
from reglue.errors import AgentFault
from reglue.messages.agent import Turn
from reglue_bench.evaluator import Evaluator
from reglue_bench.options import Options
from reglue_bench.results.result import Result


class EvalCallback(EventCallback):  # type: ignore[misc] # SB3 is large, and mypy does not read it
    """Evaluates the model every `eval_freq` calls, logs its score and keeps the best model.

    As SB3's callback of this name, but the environments are the benchmark's own, in processes of
    their own, and every evaluation plays the same seeds. Nothing of the training is seeded or
    reset, so it goes on as if there were no callback.

    It logs `eval/mean_reward`, its interval `eval/mean_reward_low` and `eval/mean_reward_high`,
    `eval/mean_ep_length`, and where episodes succeed `eval/success_rate`.

    Args:
        benchmark: as in `evaluate`: `"evaluate:gymnasium:CartPole-v1"`, or a class or an object of
            `gymnasium.Env`.
        eval_freq: calls of the training environment's `step`, each of which is a step in every
            environment of its vector.
        best_model_save_path: folder for `best_model.zip`, the model of the highest mean return.
        deterministic: whether the model plays its most likely actions.
        callback_on_new_best: called after `best_mean_reward` rose.
        callback_after_eval: called after every evaluation.
        options: as in `evaluate`: `num_episodes`, `seed`, `slots`, `workers`, …

    The observations are normalized as the training's VecNormalize does. Raises UsageError, and
    AgentFault if the model cannot play the benchmark.
    """

    def __init__(
        self,
        benchmark: object,
        *,
        eval_freq: int = 10_000,
        best_model_save_path: str | Path | None = None,
        deterministic: bool = True,
        callback_on_new_best: BaseCallback | None = None,
        callback_after_eval: BaseCallback | None = None,
        verbose: int = 0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(callback_after_eval, verbose=verbose)
        self.eval_freq = eval_freq
        self.best_model_save_path = best_model_save_path
        self.deterministic = deterministic
        self.callback_on_new_best = callback_on_new_best
        if callback_on_new_best is not None:
            callback_on_new_best.parent = self
        self.best_mean_reward = self.last_mean_reward = -np.inf
        self.last_result: Result | None = None
        self._benchmark, self._options = benchmark, options
        self._evaluator: Evaluator | None = None

    def _init_callback(self) -> None:
        if self.callback_on_new_best is not None:
            self.callback_on_new_best.init_callback(self.model)

    def _on_training_start(self) -> None:
        """Make the environments; a mistake in the benchmark's name shows before the training."""
        if self._evaluator is None:
            self._evaluator = Evaluator(self._benchmark, **self._options)

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
                folder = Path(self.best_model_save_path)
                folder.mkdir(parents=True, exist_ok=True)
                self.model.save(folder / "best_model")
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
        normalization = self.model.get_vec_normalize_env()
        agent = _Normalized(self.model, normalization, deterministic=self.deterministic)
        self.last_result = result = self._evaluator(agent)
        if result.faults:
            fault = result.faults[0]
            raise AgentFault(f"{result.benchmark}: {fault.status}: {fault.detail}")
        return result

    def _log(self, result: Result, mean: float) -> None:
        lengths = [row.steps for row in result.episodes if row.phase == "evaluate"]
        values: dict[str, Any] = {"mean_reward": mean, "mean_ep_length": float(np.mean(lengths))}
        interval = result.intervals95.mean if result.intervals95 else None
        if interval is not None and result.parameters.get("judged_by") == "return":
            values["mean_reward_low"], values["mean_reward_high"] = interval
        if result.episodes_succeeded:
            values["success_rate"] = result.mean_success_rate
        for name, value in values.items():
            self.logger.record(f"eval/{name}", value)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)


class _Normalized(ModelAgent):
    """Sees what the training's VecNormalize would make of each observation."""

    def __init__(self, model: Any, normalization: Any, *, deterministic: bool) -> None:
        super().__init__(model, deterministic=deterministic)
        self._normalization = normalization  # None without one

    def turn(self, turn: Turn) -> Chosen:
        """As a ModelAgent."""
        if self._normalization is None or not len(turn.steps) + len(turn.starts):
            return super().turn(turn)
        seen = turn.observations
        raw = next(iter(seen.values())) if len(seen) == 1 else dict(seen)
        scaled = self._normalization.normalize_obs(raw)
        told = scaled if len(seen) > 1 else {next(iter(seen)): scaled}
        return super().turn(
            Turn(turn.phase, turn.ends, turn.steps, turn.starts, turn.rewards, told)
        )
