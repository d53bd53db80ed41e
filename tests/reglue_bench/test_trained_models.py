"""Models are judged as they were trained, by whatever way they come, or refused before play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3 import PPO

import reglue
from reglue.errors import NotAnAgent
from reglue_bench.sb3 import EvalCallback
from tests.error_facts import raises
from tests.masked_doors import Doors, Locks
from tests.reglue_bench.runs.test_incapable_agents import is_vacant

pytestmark = pytest.mark.slow


class Lever(gymnasium.Env[Any, Any]):
    """Earns what is pulled, in each of five steps."""

    observation_space = spaces.Box(-10, 10, (2,), np.float32)
    action_space = spaces.Box(-4, 4, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.zeros(2, np.float32), float(action[0]), self.steps == 5, False, {}


def scaled() -> Any:
    return gymnasium.wrappers.RescaleAction(Lever(), np.float32(-1.0), np.float32(1.0))


class Pulls:
    """A model that pulls as far as it can, in the environment of its training."""

    observation_space = Lever.observation_space
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> Any:
        return np.ones((len(observation), 1), np.float32), None


def test_a_model_plays_in_the_wrappers_of_its_training_and_not_without(tmp_path: Path) -> None:
    assert reglue.evaluate(scaled, agent=Pulls(), num_episodes=2).mean_return == 20.0
    both = (Pulls.action_space, Lever.action_space)
    with raises(NotAnAgent, *both):
        reglue.evaluate(Lever, agent=Pulls(), num_episodes=2, out=tmp_path / "run")
    assert is_vacant(tmp_path)


def test_the_callback_refuses_it_too() -> None:
    model = PPO("MlpPolicy", scaled(), n_steps=8, batch_size=8, n_epochs=1, device="cpu")
    callback = EvalCallback(Lever, eval_freq=8, num_episodes=1)
    with raises(NotAnAgent, Pulls.action_space, Lever.action_space):
        model.learn(8, callback=callback)


class Locked(gymnasium.Env[Any, Any]):
    """One of eight actions is legal at a time; another one ends the episode with -1."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(8)

    def action_masks(self) -> Any:
        return np.arange(8) == self.legal

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.legal = 0, int(self.np_random.integers(8))
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if action != self.legal:
            return np.zeros(1, np.float32), -1.0, True, False, {}
        self.legal = int(self.np_random.integers(8))
        return np.zeros(1, np.float32), 1.0, self.steps == 10, False, {}


class Shown(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows the legal actions beside what is seen."""

    def __init__(self) -> None:
        super().__init__(Locked())
        masks = spaces.MultiBinary(8)
        self.observation_space = spaces.Dict(seen=Locked.observation_space, action_mask=masks)

    def observation(self, observation: Any) -> Any:
        masks = self.unwrapped.action_masks().astype(np.int8)  # type: ignore[attr-defined]
        return {"seen": observation, "action_mask": masks}


def masked(env: Any, policy: str) -> Any:
    wrapped = ActionMasker(env, lambda each: each.unwrapped.action_masks())
    return MaskablePPO(policy, wrapped, n_steps=8, batch_size=8, seed=0, device="cpu")


@pytest.mark.parametrize(
    ("env", "policy"), [(Locked, "MlpPolicy"), (Shown, "MultiInputPolicy")], ids=str
)
@pytest.mark.parametrize("slots", [1, 3])
def test_a_maskable_model_gets_the_masks_that_are_observed(
    env: Any, policy: str, slots: int
) -> None:
    model = masked(env(), policy)
    for agent in (model, model.predict):
        result = reglue.evaluate(Shown, agent=agent, num_episodes=3, slots=slots)
        assert result.mean_return == 10.0


class Gates(Doors):
    """Doors from 0, as SB3 counts."""

    action_space = spaces.Discrete(5)


@pytest.mark.parametrize("env", [Gates, Locks])
def test_masks_keep_models_and_functions_from_forbidden_actions(env: type[Doors]) -> None:
    """A model that gets no masks plays some."""
    wrapped = ActionMasker(env(), lambda each: each.open if each.open.any() else ~each.open)
    model = MaskablePPO("MultiInputPolicy", wrapped, n_steps=8, batch_size=8, seed=0, device="cpu")

    def lowest(seen: Any) -> Any:
        masks = np.split(seen["action_mask"], np.cumsum(env.choices)[:-1], axis=1)
        rows = np.stack([each.argmax(axis=1) for each in masks], axis=1)
        return rows if len(masks) > 1 else rows[:, 0]

    for agent in (model, model.predict, lowest):
        result = reglue.evaluate(env, agent=agent, num_episodes=4, slots=2)
        assert [row.status for row in result.episodes] == ["ok"] * 4
    blind = PPO("MultiInputPolicy", env(), n_steps=8, batch_size=8, seed=0, device="cpu")
    result = reglue.evaluate(env, agent=blind, num_episodes=4, raise_faults=False)
    assert "agent_error" in [row.status for row in result.episodes]
    assert {row.status for row in result.episodes} <= {"ok", "agent_error"}


def test_a_maskable_model_is_refused_where_none_are_observed(tmp_path: Path) -> None:
    model = masked(Locked(), "MlpPolicy")
    for env in (Locked, lambda: ActionMasker(Locked(), lambda each: each.unwrapped.action_masks())):
        with raises(NotAnAgent, "action_masks", "action_mask"):
            reglue.evaluate(env, agent=model, num_episodes=2, out=tmp_path / "run")
    assert is_vacant(tmp_path)


class Recall(gymnasium.Env[Any, Any]):
    """Shows a number once, and not again; episodes differ in length."""

    observation_space = spaces.Box(-1, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.shown, self.left = int(self.np_random.integers(2)), int(self.np_random.integers(3, 9))
        return np.array([2 * self.shown - 1], np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        earned = float(action == self.shown)
        return np.zeros(1, np.float32), earned, self.left == 0, False, {}


def test_a_recurrent_model_plays_as_in_a_loop_by_hand() -> None:
    model = RecurrentPPO(
        "MlpLstmPolicy",
        Recall(),
        n_steps=64,
        batch_size=64,
        learning_rate=0.01,
        seed=0,
        device="cpu",
        policy_kwargs={"lstm_hidden_size": 8},
    ).learn(64)
    returns = []
    for seed in range(6):
        env = Recall()
        seen, _ = env.reset(seed=seed)
        state, is_start, total, ended = None, np.array([True]), 0.0, False
        while not ended:
            action, state = model.predict(seen, state, is_start, deterministic=True)
            seen, earned, ended, _, _ = env.step(int(action))
            is_start, total = np.array([False]), total + earned
        returns.append(total)
    for slots in (1, 3):
        result = reglue.evaluate(Recall, agent=model, num_episodes=6, slots=slots)
        assert [row.return_ for row in result.episodes] == returns
